//! Packets a CPU-second through the timed house, from wire to socket: what `pollproof bench timed`
//! and `cargo bench` show.

use crate::timed::{House, IxgbeTimedOptions, Nic, Options, TimedError, TimedOptions, TimedReport};
use pollproof_events::{with_visitor, Record, Visitor};
use pollproof_rules::Judge;
use pollproof_wire::{Pacing, Packet};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// What the timed house models, for who reads a comparison.
pub const FEATURES: &[&str] = &[
    "the receive engine of an 82599: registers, filters, checksums, RSS, descriptor fetch",
    "each frame: DMA write, descriptor write-back, cause, moderated MSI-X",
    "timed: wire pacing, device, PCIe lanes and CPU take time; functional: all of it takes none",
    "the driver: ixgbe's poll, page halves, refill, tail, adaptive moderation; NAPI; sockets",
    "rules on: every event is judged by all rules",
    "no guest instructions: the driver is Rust code that runs in line",
];

/// One UDP frame of 60 bytes.
pub fn frame() -> Arc<[u8]> {
    let mut bytes = Vec::with_capacity(60);
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64)
        .udp(1000, 9);
    // Writing to a vector can not fail.
    let _ = builder.write(&mut bytes, &[0; 18]);
    bytes.into()
}

/// Slow enough that nothing is dropped: 4 million frames a second of simulated time.
const PACING: Pacing = Pacing::Fixed { gap_ps: 250_000 };

/// ixgbe with its default latencies, one queue.
pub fn ixgbe() -> IxgbeTimedOptions {
    IxgbeTimedOptions { pacing: PACING, ..IxgbeTimedOptions::default() }
}

/// mlx4 with its default latencies, one queue.
pub fn mlx4() -> TimedOptions {
    TimedOptions { pacing: PACING, ..TimedOptions::default() }
}

/// What some runs took.
#[derive(Clone, Debug)]
pub struct PacketRate {
    /// Packets that reached a socket.
    pub packets: u64,
    /// Processor seconds, without making the frames.
    pub cpu_seconds: f64,
    /// Events that the rules saw; 0 without rules.
    pub events: u64,
    /// Rules that were broken.
    pub broken: usize,
    /// Report of the last run.
    pub report: TimedReport,
}

impl PacketRate {
    /// Packets a processor second.
    pub fn per_second(&self) -> f64 {
        self.packets as f64 / self.cpu_seconds.max(1e-9)
    }

    /// Events a packet.
    pub fn events_per_packet(&self) -> f64 {
        self.events as f64 / self.packets.max(1) as f64
    }
}

/// The rules, and how much they see.
struct Watch {
    judge: Judge,
    events: u64,
}

impl Visitor for Watch {
    fn visit(&mut self, record: &Record) {
        self.events += 1;
        self.judge.visit(record);
    }
}

/// Runs of `count` packets each until they took `seconds` of processor time, as `clock` tells it.
/// Each has a house of its own; with `rules`, all of them look.
pub fn packet_rate<N: Nic>(
    options: &Options<N>,
    rules: bool,
    count: usize,
    seconds: f64,
    clock: &dyn Fn() -> f64,
) -> Result<PacketRate, TimedError> {
    let bytes = frame();
    let (mut packets, mut cpu_seconds, mut events, mut broken) = (0, 0.0, 0, 0);
    loop {
        let run = || {
            let mut house = House::open(options)?;
            let packet = Packet { time_ns: 0, bytes: bytes.clone() };
            house.send(std::iter::repeat_n(packet, count));
            let began = clock();
            let report = house.finish()?;
            Ok::<_, TimedError>((report, clock() - began))
        };
        let (report, took) = if rules {
            let watch = Rc::new(RefCell::new(Watch { judge: Judge::new(), events: 0 }));
            let result = with_visitor(watch.clone(), run)?;
            events += watch.borrow().events;
            broken = broken.max(watch.borrow().judge.findings().len());
            result
        } else {
            run()?
        };
        packets += report.delivered;
        cpu_seconds += took;
        if cpu_seconds >= seconds || report.delivered == 0 {
            return Ok(PacketRate { packets, cpu_seconds, events, broken, report });
        }
    }
}
