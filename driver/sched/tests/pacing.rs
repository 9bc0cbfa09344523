//! Pacing, number by number: what a gap is, what a late packet is given back, what is marked.

mod common;

use common::Cpu;
use pollproof_sched::netlink::{kind, put_u32};
use pollproof_sched::{Fq, Packet, WatchdogForm};

const GAP_NS: u64 = 1_514_000;
/// Bytes a second at which a quantum takes that long.
const RATE: u64 = 1_000_000;

/// fq with packets of one flow behind a first one, which leaves at once.
fn paced(cpu: &Cpu, packets: u64) -> Fq {
    let mut fq = cpu.fq();
    let mut options = Vec::new();
    put_u32(&mut options, kind::QUANTUM, 1_514);
    put_u32(&mut options, kind::INITIAL_QUANTUM, 1_514);
    fq.change(&options).expect("quanta in range");
    cpu.set_time(1);
    for id in 0..packets {
        fq.enqueue(Packet::rated(id, 1, 1_514, RATE)).expect("room");
    }
    assert!(fq.dequeue().is_some() && fq.dequeue().is_none());
    fq
}

/// When the next packet leaves, if the one before it is late by so much.
fn next_after(late_ns: u64) -> u64 {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = paced(&cpu, 3);
    assert_eq!(fq.counts().next_ns, 1 + GAP_NS);
    cpu.set_time(1 + GAP_NS + late_ns);
    assert!(fq.dequeue().is_some() && fq.dequeue().is_none());
    fq.counts().next_ns
}

#[test]
fn a_late_packet_is_given_back_at_most_half_a_gap() {
    assert_eq!(next_after(0), 1 + 2 * GAP_NS);
    assert_eq!(next_after(GAP_NS / 2), 1 + 2 * GAP_NS);
    assert_eq!(next_after(GAP_NS), 1 + 2 * GAP_NS + GAP_NS / 2);
    assert_eq!(next_after(9 * GAP_NS), 1 + 10 * GAP_NS + GAP_NS / 2);
}

#[test]
fn a_flow_below_the_low_rate_waits_for_each_packet_by_its_length() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    cpu.set_time(1);
    for id in 0..2 {
        fq.enqueue(Packet::rated(id, 1, 100, 50_000)).expect("room");
    }
    assert!(fq.dequeue().is_some() && fq.dequeue().is_none());
    assert_eq!(fq.counts().next_ns, 1 + 2_000_000);
}

#[test]
fn a_gap_is_one_second_at_most_and_is_counted() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    cpu.set_time(1);
    for id in 0..2 {
        fq.enqueue(Packet::rated(id, 1, 100, 0)).expect("room");
    }
    assert!(fq.dequeue().is_some() && fq.dequeue().is_none());
    assert_eq!(fq.counts().next_ns, 1 + 1_000_000_000);
    assert_eq!(fq.stats().totals.pkts_too_long, 1);
}

#[test]
fn a_packet_that_leaves_later_than_the_threshold_is_counted_as_marked() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    let mut options = Vec::new();
    put_u32(&mut options, kind::CE_THRESHOLD, 5);
    fq.change(&options).expect("a threshold");
    for (id, at_ns) in [(0, 10_000), (1, 20_000)] {
        fq.enqueue(Packet::edt(id, 1, 100, at_ns)).expect("room");
    }
    cpu.set_time(15_000);
    assert!(fq.dequeue().is_some());
    assert_eq!(fq.stats().totals.ce_mark, 0);
    cpu.set_time(25_001);
    assert!(fq.dequeue().is_some());
    assert_eq!(fq.stats().totals.ce_mark, 1);
}

#[test]
fn a_packet_beyond_the_horizon_is_dropped_or_brought_within_it() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    let far_ns = 10_000_000_001;
    assert!(fq.enqueue(Packet::edt(0, 1, 100, far_ns)).is_err());
    let mut options = Vec::new();
    pollproof_sched::netlink::put(&mut options, kind::HORIZON_DROP, &[0]);
    fq.change(&options).expect("a byte");
    assert!(fq.enqueue(Packet::edt(1, 1, 100, far_ns)).is_ok());
    assert!(fq.dequeue().is_none());
    assert_eq!(fq.counts().next_ns, 10_000_000_000);
    let totals = fq.stats().totals;
    assert_eq!((totals.horizon_drops, totals.horizon_caps), (1, 1));
}

#[test]
fn packets_of_one_time_leave_in_the_order_in_which_they_came() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let mut fq = cpu.fq();
    for (id, at_ns) in [(0, 100), (1, 100), (2, 90), (3, 90)] {
        fq.enqueue(Packet::edt(id, 1, 100, at_ns)).expect("room");
    }
    cpu.set_time(100);
    let mut order: Vec<_> = (0..3).filter_map(|_| fq.dequeue()).map(|p| p.id).collect();
    fq.enqueue(Packet::edt(4, 1, 100, 100)).expect("room");
    order.extend((0..2).filter_map(|_| fq.dequeue()).map(|p| p.id));
    assert_eq!(order, [2, 3, 0, 1, 4]);
}
