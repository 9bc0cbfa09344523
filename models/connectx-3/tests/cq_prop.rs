//! Properties: a queue of plain code beside the device, and hostile input.

#[allow(dead_code)]
mod host;

use host::{Host, CQ_BUF, DATA};
use pollproof_connectx_3::Params;
use pollproof_events::{record, Event};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, cqe, db, CqContext, EqContext, RqContext, RssContext, BAR_UAR};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Frame(usize),
    /// Performs up to this many requests.
    Bus(u8),
    Post(u8),
    Poll(u8),
    Arm,
    Expire,
    Eq,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (14..300usize).prop_map(Op::Frame),
        4 => (1..8u8).prop_map(Op::Bus),
        2 => (1..4u8).prop_map(Op::Post),
        2 => (1..4u8).prop_map(Op::Poll),
        2 => Just(Op::Arm),
        1 => Just(Op::Expire),
        1 => Just(Op::Eq),
    ]
}

/// The driver's half, as plain as can be.
struct Driver {
    host: Host,
    log_size: u32,
    ci: u32,
    posted: u32,
    sn: u32,
    eq_ci: u32,
    events: u32,
    next: u64,
    seen: Vec<u64>,
}

impl Driver {
    fn new(log_size: u32, moderation: (u32, u32)) -> Self {
        let host = Host::with_rings(Params::zero(), 1, log_size, moderation);
        let (ci, posted, sn, eq_ci, events, next, seen) = (0, 0, 1, 0, 0, 0, vec![]);
        Self { host, log_size, ci, posted, sn, eq_ci, events, next, seen }
    }

    fn size(&self) -> u32 {
        1 << self.log_size
    }

    /// Consumes a completion when its owner bit is that of the lap.
    fn poll_one(&mut self) -> bool {
        let slot = self.ci & (self.size() - 1);
        let entry = CQ_BUF + u64::from(slot) * 32;
        let owner = self.host.word(entry + 28);
        if (owner & cqe::OWNER != 0) != (self.ci & self.size() != 0) {
            return false;
        }
        assert_eq!(self.host.word(entry + 24) >> 16, self.ci & 0xffff, "in order");
        if owner & cqe::OPCODE_MASK == cqe::OPCODE_RECV {
            let data = (DATA + u64::from(slot * host::BUF_BYTES)) as usize;
            let len = self.host.word(entry + 20);
            let number = if len >= 22 { self.host.mem[data + 14] } else { 255 };
            self.seen.push(u64::from(number));
        } else {
            self.seen.push(254);
        }
        self.ci += 1;
        self.host.set_ci(0, self.ci);
        true
    }

    /// Consumes events; a new sequence number each, as `mlx4_cq_completion` does.
    fn poll_eq(&mut self) {
        loop {
            let entry = host::EQ_BUF + u64::from(self.eq_ci & 15) * 32;
            let owner = self.host.word(entry + 28) & 0x80 != 0;
            if owner != (self.eq_ci & 16 != 0) {
                break;
            }
            self.eq_ci += 1;
            self.events += 1;
            self.sn = (self.sn + 1) & 3;
        }
        self.host.eq_doorbell(self.eq_ci, true);
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Frame(len) => {
                self.host.frame(self.next, len);
                self.next += 1;
            }
            Op::Bus(n) => (0..n).for_each(|_| {
                self.host.step();
            }),
            Op::Post(n) => {
                let to = (self.posted + u32::from(n)).min(self.ci + self.size());
                self.host.post(0, self.log_size, self.posted, to);
                self.posted = to;
            }
            Op::Poll(n) => (0..n).for_each(|_| {
                self.poll_one();
            }),
            Op::Arm => self.host.arm(0, self.sn, self.ci),
            Op::Expire => {
                self.host.dev.expire_any();
            }
            Op::Eq => self.poll_eq(),
        }
    }
}

fn dropped(events: &[Event]) -> Vec<u64> {
    let number = |e: &Event| match e {
        Event::WireDrop { number, .. } => Some(*number),
        _ => None,
    };
    events.iter().filter_map(number).collect()
}

fn completed(events: &[Event]) -> Vec<u64> {
    let number = |e: &Event| match e {
        Event::CqeWrite { number, .. } => Some(*number),
        _ => None,
    };
    events.iter().filter_map(number).collect()
}

proptest! {
    #[test]
    fn every_frame_completes_once_in_order_or_is_dropped_and_counted(
        ops in prop::collection::vec(op(), 0..250),
        log_size in 1..5u32,
        moderation in prop_oneof![Just((0, 0)), Just((16, 44)), Just((16, 2)), Just((0, 3))],
    ) {
        let mut driver = Driver::new(log_size, moderation);
        let (_, records) = record(|| {
            for op in ops {
                driver.run(op);
            }
            driver.host.run();
            while driver.poll_one() {}
            driver.host.run();
            while driver.poll_one() {}
            driver.poll_eq();
            driver.host.run();
        });
        let events: Vec<_> = records.iter().map(|r| r.event).collect();
        let (done, gone) = (completed(&events), dropped(&events));
        prop_assert!(done.windows(2).all(|w| w[0] < w[1]));
        let mut all = [done.clone(), gone.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(&all, &(0..driver.next).collect::<Vec<_>>());
        // What the driver saw by the owner bits is what the device completed.
        prop_assert_eq!(driver.seen.len(), done.len());
        for (seen, done) in driver.seen.iter().zip(&done) {
            prop_assert!(*seen >= 254 || *seen == done & 0xff);
        }
        let stats = driver.host.dev.stats();
        prop_assert_eq!(stats.dropped(), gone.len() as u64);
        prop_assert_eq!(stats.eq_overruns + stats.eqes, stats.fired);
        prop_assert!(stats.fired <= stats.arms, "one event per arm");
        prop_assert_eq!(u64::from(driver.events), stats.eqes);
        prop_assert_eq!(stats.misuse, 0);
        prop_assert_eq!(driver.host.dev.held(), 0);
    }

    #[test]
    fn nobody_who_arms_and_polls_is_left_asleep(
        ops in prop::collection::vec(op(), 0..150),
        moderation in prop_oneof![Just((0, 0)), Just((16, 44)), Just((16, 2))],
    ) {
        let mut driver = Driver::new(3, moderation);
        for op in ops {
            driver.run(op);
        }
        driver.host.run();
        // Now as a driver does: consume events, arm, and only then look at interrupts.
        driver.poll_eq();
        driver.host.run();
        while driver.poll_one() {}
        driver.poll_eq();
        driver.host.arm(0, driver.sn, driver.ci);
        driver.run(Op::Post(1));
        driver.host.run();
        let before = driver.host.dev.stats().fired;
        driver.host.frame(driver.next, 60);
        driver.host.run();
        while driver.host.dev.expire_any() {}
        driver.host.run();
        prop_assert_eq!(driver.host.dev.stats().fired, before + 1);
    }
}

#[derive(Clone, Copy, Debug)]
enum Hostile {
    Write32(u8, u64, u32),
    Write64(u8, u64, u64),
    Read32(u8, u64),
    Arm(u32, u32),
    Eq(u32, [u32; 4], u64),
    Cq(u32, [u32; 5], u64, bool),
    Rq(u32, [u32; 3], u64),
    Stop(u32, u8),
    Modify(u32, u32, u32),
    Rss(u32, u32),
    Frame(usize),
    Complete(u32, usize),
    Time(u64),
    Bus(u8, u8),
}

fn hostile() -> impl Strategy<Value = Hostile> {
    let small = || prop_oneof![0..4u32, any::<u32>()].boxed();
    let log = || prop_oneof![0..6u32, any::<u32>()].boxed();
    let stride = || prop_oneof![(4..7u32).prop_map(|log| 1 << log), any::<u32>()].boxed();
    let addr = || prop_oneof![(0..64u64).prop_map(|n| n * 64), any::<u64>()];
    let offset = || {
        let known = prop_oneof![Just(0x20u64), Just(0x24), Just(0x800), Just(0x808), Just(0x1800)];
        prop_oneof![known, any::<u64>(), 0..0x4000u64]
    };
    let bar = || prop_oneof![Just(BAR_UAR), any::<u8>()];
    prop_oneof![
        (bar(), offset(), any::<u32>()).prop_map(|(b, o, v)| Hostile::Write32(b, o, v)),
        (bar(), offset(), any::<u64>()).prop_map(|(b, o, v)| Hostile::Write64(b, o, v)),
        (bar(), offset()).prop_map(|(b, o)| Hostile::Read32(b, o)),
        (0..16u32, small()).prop_map(|(n, ci)| Hostile::Arm(n, ci)),
        (small(), [log(), small(), small(), small()], addr())
            .prop_map(|(n, v, a)| Hostile::Eq(n, v, a)),
        (small(), [log(), stride(), small(), small(), small()], addr(), any::<bool>())
            .prop_map(|(n, v, a, s)| Hostile::Cq(n, v, a, s)),
        (small(), [log(), stride(), small()], addr()).prop_map(|(n, v, a)| Hostile::Rq(n, v, a)),
        (small(), 0..3u8).prop_map(|(n, kind)| Hostile::Stop(n, kind)),
        (small(), small(), small()).prop_map(|(n, p, c)| Hostile::Modify(n, p, c)),
        (small(), small()).prop_map(|(n, l)| Hostile::Rss(n, l)),
        (0..400usize).prop_map(Hostile::Frame),
        (any::<u32>(), 0..64usize).prop_map(|(t, n)| Hostile::Complete(t, n)),
        any::<u64>().prop_map(Hostile::Time),
        (any::<u8>(), any::<u8>()).prop_map(|(n, byte)| Hostile::Bus(n, byte)),
    ]
}

fn offend(host: &mut Host, op: Hostile) {
    let dev = &mut host.dev;
    match op {
        Hostile::Write32(bar, offset, value) => dev.mmio_write32(bar, offset, value),
        Hostile::Write64(bar, offset, value) => dev.mmio_write64(bar, offset, value),
        Hostile::Read32(bar, offset) => assert_eq!(dev.mmio_read32(bar, offset), 0),
        Hostile::Arm(n, ci) => {
            let first = u64::from(be((n >> 2) << db::SN_SHIFT | db::CMD_NEXT | (n & 3)));
            dev.mmio_write64(BAR_UAR, 0x20, first | u64::from(be(ci)) << 32);
        }
        Hostile::Eq(n, [log_size, vector, period_us, max_count], buf) => {
            let _ = dev.sw2hw_eq(n, EqContext { buf, log_size, vector, period_us, max_count });
        }
        Hostile::Cq(n, [log_size, stride_bytes, eqn, period_us, max_count], buf, sw_init) => {
            let db_record = buf;
            let context = CqContext {
                buf,
                log_size,
                stride_bytes,
                eqn,
                period_us,
                max_count,
                db_record,
                sw_init,
            };
            let _ = dev.sw2hw_cq(n, context);
        }
        Hostile::Rq(n, [log_size, stride_bytes, cqn], buf) => {
            let db_record = buf;
            let _ = dev.start_rq(n, RqContext { buf, log_size, stride_bytes, db_record, cqn });
            let _ = dev.set_default_rqn(Some(n));
        }
        Hostile::Stop(n, 0) => drop(dev.stop_rq(n)),
        Hostile::Stop(n, 1) => drop(dev.hw2sw_cq(n)),
        Hostile::Stop(n, _) => drop(dev.hw2sw_eq(n)),
        Hostile::Modify(n, period, count) => drop(dev.modify_cq(n, period, count)),
        Hostile::Rss(base_rqn, log_queues) => {
            let context = RssContext { base_rqn, log_queues, key: [0xa5; 40] };
            let _ = dev.set_rss(Some(context));
        }
        Hostile::Frame(len) => host.frame(1, len),
        Hostile::Complete(tag, len) => dev.dma_complete(tag, &vec![0xff; len]),
        Hostile::Time(ps) => {
            dev.set_time(ps);
            dev.expire();
        }
        Hostile::Bus(n, byte) => {
            for _ in 0..n {
                if let Some(Outbound::DmaRead { tag, len, .. }) = dev.pop() {
                    dev.dma_complete(tag, &vec![byte; len as usize]);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn nothing_that_a_driver_does_makes_the_device_panic(
        ops in prop::collection::vec(hostile(), 0..200)
    ) {
        let mut host = Host::new(Params::default());
        host.dev.sw2hw_eq(0, host::eq_context()).expect("an EQ");
        for op in ops {
            offend(&mut host, op);
            let _ = host.dev.next_deadline();
        }
    }
}
