//! What a paced packet costs fq: enqueue and dequeue, with more and more flows.

use crate::line::Line;
use pollproof_events::NEVER;
use pollproof_sched::netlink::{kind, put_u32};
use pollproof_sched::{Packet, WatchdogForm};

/// Numbers of flows.
pub const FLOWS: [u64; 3] = [1_000, 100_000, 1_000_000];
const GAP_NS: u64 = 1_000;

/// Nanoseconds of CPU time for one packet in and one out, with so many flows that each have a
/// packet waiting for its own time.
pub fn ns_per_packet(flows: u64, packets: u64, cpu_seconds: &dyn Fn() -> f64) -> f64 {
    let line = Line::new(0, WatchdogForm::V6_12, NEVER);
    let mut options = Vec::new();
    // As many trees as there can be (18), so that they stay shallow.
    for (kind, value) in [(kind::PLIMIT, u32::MAX), (kind::BUCKETS_LOG, 18)] {
        put_u32(&mut options, kind, value);
    }
    let _ = line.qdisc.change(&options);
    // Packets are due one after the other, in an order of flows that is not theirs in the trees.
    let flow_of = |n: u64| 1 + (n % flows).wrapping_mul(0x9e37_79b1) % flows.max(1);
    let mut number = 0;
    let mut send = |line: &Line| {
        let packet = Packet::edt(number, flow_of(number), 1_514, (number + 1) * GAP_NS);
        number += 1;
        line.qdisc.with(|fq| fq.enqueue(packet).is_ok())
    };
    (0..flows).for_each(|_| {
        send(&line);
    });
    let began = cpu_seconds();
    for _ in 0..packets {
        line.at(line.now_ns() + GAP_NS);
        let left = line.qdisc.with(|fq| fq.dequeue().is_some());
        debug_assert!(left);
        send(&line);
    }
    (cpu_seconds() - began) * 1e9 / packets.max(1) as f64
}
