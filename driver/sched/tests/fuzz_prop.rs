//! Noise against fq: arbitrary bytes as netlink messages, and arbitrary schedules of packets,
//! timers and changes. Nothing may panic or go round for ever, counters must be what a walk finds,
//! and in the end every packet has left or was dropped.
//!
//! `FQ_FUZZ_EXECS=10000000 cargo test --release -p pollproof-sched --test fuzz_prop` runs longer.

mod common;

use common::Cpu;
use pollproof_events::{record, Event, Sched, NEVER};
use pollproof_kapi::Clock;
use pollproof_sched::netlink::{kind, parse, put};
use pollproof_sched::{Fq, Packet, Sock, SockKind, WatchdogForm, GSO_MAX_SIZE, NO_RATE};

const EXECS: u64 = 20_000;

/// Bytes that steer a run: from a small generator, so that a seed is all of it.
struct Noise(u64);

impl Noise {
    fn next(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) * below) >> 31
    }

    /// A number of any size, often one at which something changes.
    fn number(&mut self) -> u64 {
        let bit = 1_u64 << self.next(64);
        match self.next(6) {
            0 => 0,
            1 => u64::MAX,
            2 => bit,
            3 => bit - 1,
            4 => self.next(100_000),
            _ => self.0,
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.next(40)).map(|_| self.next(256) as u8).collect()
    }

    /// A message that may well be right.
    fn message(&mut self) -> Vec<u8> {
        let mut options = Vec::new();
        for _ in 0..=self.next(4) {
            let kind = self.next(u64::from(kind::MAX) + 2) as u16;
            let value = self.number() as u32;
            let value = match kind {
                // Many trees take long to make, and few turns long to go round.
                kind::BUCKETS_LOG => value % 6,
                kind::QUANTUM => value | 1 << 12,
                _ => value,
            };
            let payload = match kind {
                kind::HORIZON_DROP => vec![value as u8],
                kind::PRIOMAP => [3, 0, 0, 0].into_iter().chain([(value % 3) as u8; 16]).collect(),
                kind::WEIGHTS => [value, 1 << 14, 3 << 16].map(u32::to_le_bytes).concat(),
                _ => value.to_le_bytes().to_vec(),
            };
            put(&mut options, kind, &payload);
        }
        match self.next(8) {
            0 => options.truncate(self.next(30) as usize),
            1 => {
                let at = self.next(options.len() as u64) as usize;
                options[at] ^= 1 << self.next(8);
            }
            _ => {}
        }
        options
    }

    fn packet(&mut self, id: u64, now_ns: u64) -> Packet {
        let kinds = [SockKind::Tcp, SockKind::Other, SockKind::Close, SockKind::Listener];
        let rate = match self.next(3) {
            0 => NO_RATE,
            1 => self.number(),
            _ => 1_000_000,
        };
        let sk = Sock {
            addr: if self.next(9) == 0 { self.number() } else { 64 * self.next(5) },
            sk_hash: self.next(20) as u32 / 19,
            kind: kinds[self.next(4) as usize],
            pacing_rate: rate,
            max_pacing_rate: rate,
        };
        let tstamp_ns = match self.next(4) {
            0 => 0,
            1 => self.number(),
            _ => now_ns.saturating_add(self.next(3_000_000)),
        };
        Packet {
            id,
            len: if self.next(9) == 0 { self.number() as u32 } else { self.next(3_000) as u32 },
            priority: self.next(256) as u8,
            hash: self.next(4) as u32,
            tstamp_ns,
            sk: (self.next(5) > 0).then_some(sk),
        }
    }
}

/// Packets leave while there are any that may; no more than are queued.
fn drain(fq: &mut Fq) -> u64 {
    let most = fq.qlen();
    let mut left = 0;
    while fq.dequeue().is_some() {
        left += 1;
        assert!(left <= most);
    }
    left
}

fn in_order(fq: &Fq, seed: u64) {
    assert_eq!(fq.counts(), fq.walk(), "seed {seed}");
    assert_eq!(fq.disorder(), None, "seed {seed}");
}

/// What waits must have a timer that comes; with time going on all packets leave.
fn comes_to_rest(cpu: &Cpu, fq: &mut Fq, seed: u64) -> u64 {
    let mut left = drain(fq);
    // Longer ones wait for longer than there is time.
    let mut fires = 0;
    while fq.qlen() > 0 {
        let waits = fq.qlen();
        let next_ns = fq.counts().next_ns;
        assert_ne!(next_ns, NEVER, "seed {seed}: {waits} packets wait for nothing");
        if !cpu.fire() {
            assert!(cpu.hand.now_ns() >= NEVER - 1, "seed {seed}: {waits} packets have no timer");
            break;
        }
        left += drain(fq);
        fires += 1;
        assert!(fires < 10_000, "seed {seed}: {waits} packets do not leave");
    }
    left
}

fn run(seed: u64) {
    let mut noise = Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    let (mut queued, mut left) = (0, 0);
    // Few trees, so that a run is short.
    let mut options = Vec::new();
    put(&mut options, kind::BUCKETS_LOG, &[2, 0, 0, 0]);
    fq.change(&options).expect("a setting in range");
    for id in 0..noise.next(24) {
        match noise.next(10) {
            0..5 => {
                let packet = noise.packet(id, cpu.hand.now_ns());
                let fits = packet.len <= GSO_MAX_SIZE;
                let taken = fq.enqueue(packet).is_ok();
                assert!(fits || !taken);
                queued += u64::from(taken);
            }
            5 => left += u64::from(fq.dequeue().is_some()),
            6 => left += drain(&mut fq),
            7 => {
                let step_ns = noise.next(5_000_000);
                cpu.set_time(cpu.hand.now_ns().saturating_add(step_ns));
            }
            8 => {
                cpu.fire();
            }
            _ => {
                let message = if noise.next(2) == 0 { noise.bytes() } else { noise.message() };
                let before = (fq.config().clone(), fq.qlen());
                let refused = fq.change(&message).is_err();
                assert!(!refused || (fq.config().clone(), fq.qlen()) == before, "seed {seed}");
                // Those beyond a new limit.
                left += before.1 - fq.qlen();
                assert!(parse(&fq.dump()).is_ok());
            }
        }
        fq.stats();
    }
    in_order(&fq, seed);
    left += comes_to_rest(&cpu, &mut fq, seed);
    in_order(&fq, seed);
    assert_eq!(left + fq.qlen(), queued, "seed {seed}");
    fq.reset();
    assert_eq!((fq.counts().qlen, fq.counts().next_ns), (0, NEVER));
    in_order(&fq, seed);
}

fn execs() -> u64 {
    let asked = std::env::var("FQ_FUZZ_EXECS").ok();
    asked.map_or(EXECS, |n| n.parse().expect("FQ_FUZZ_EXECS is a number"))
}

#[test]
fn no_noise_makes_fq_panic_loop_miscount_or_lose_a_packet() {
    (0..execs()).for_each(run);
}

#[test]
fn netlink_noise_is_refused_or_read_and_never_more() {
    let mut noise = Noise(7);
    for _ in 0..execs() {
        let message = if noise.next(2) == 0 { noise.bytes() } else { noise.message() };
        if let Ok(attrs) = parse(&message) {
            let len: usize = attrs.iter().map(|a| 4 + a.payload.len().next_multiple_of(4)).sum();
            assert!(len.next_multiple_of(4) >= message.len());
        }
    }
}

/// A dequeue goes round a bounded number of times with any quantum and any weights.
#[test]
fn no_dequeue_is_given_up_as_endless_with_the_smallest_quantum_and_the_longest_packets() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    let mut options = Vec::new();
    put(&mut options, kind::QUANTUM, &[1, 0, 0, 0]);
    put(&mut options, kind::INITIAL_QUANTUM, &[0, 0, 0, 0]);
    put(&mut options, kind::RATE_ENABLE, &[0, 0, 0, 0]);
    put(&mut options, kind::WEIGHTS, &[1_u32 << 14; 3].map(u32::to_le_bytes).concat());
    fq.change(&options).expect("a setting in range");
    let ((), events) = record(|| {
        for id in 0..6 {
            fq.enqueue(Packet::rated(id, id % 2, GSO_MAX_SIZE, 1)).unwrap();
        }
        assert_eq!(drain(&mut fq), 6);
    });
    let stuck = |e: &Event| matches!(e, Event::Sched(Sched::Stuck { .. } | Sched::Nothing { .. }));
    assert!(!events.iter().any(|r| stuck(&r.event)));
}
