//! fq on one CPU: its timers, its order and its settings, step by step.

use super::fq_house::{House, US};
use super::macros::scenario;
use super::ENGINES;
use pollproof_bench::scenario::Scenario;
use pollproof_sched::netlink::{kind, put, put_u32};
use pollproof_sched::{Packet, WatchdogForm};

const LEN: u32 = 1_000;

/// A packet of flow `flow` for this time.
fn edt(id: u64, flow: u64, at_us: u64) -> Packet {
    Packet::edt(id, flow, LEN, at_us * US)
}

/// A timer is queued for a time that has passed, and the next packet is due after it.
fn window() {
    let house = House::v6_12();
    house.xmit(edt(0, 1, 100));
    house.at(105 * US);
    // It takes the packet of 100 us along, before the timer does.
    house.xmit(edt(1, 2, 150));
    house.finish(None);
}

/// With the first patch alone: a packet that is due a little earlier than the timer.
fn slack_once() {
    let house = House::new(WatchdogForm::Range);
    house.xmit(edt(0, 1, 105));
    house.xmit(edt(1, 2, 100));
    house.finish(None);
}

/// The port goes down and up again, with a packet for the same time each time.
fn down_up() {
    let house = House::new(WatchdogForm::LastExpires);
    house.xmit(edt(0, 1, 100));
    house.qdisc.deactivate();
    house.qdisc.activate();
    house.xmit(edt(1, 1, 100));
    house.finish(None);
}

/// Statistics are asked for while a flow waits and while none does.
fn next_delayed() {
    let house = House::v6_12();
    let stats = || house.qdisc.with(|fq| fq.stats());
    stats();
    house.xmit(edt(0, 1, 100));
    stats();
    // Overdue: the timer has its slack.
    house.at(115 * US);
    stats();
    house.finish(None);
    stats();
}

/// Every attribute of every length up to 24 bytes, alone, then a dump.
fn lengths() {
    let house = House::v6_12();
    for kind in 0..=kind::MAX + 1 {
        for len in 0..=24 {
            let mut payload = vec![0; len];
            // 3 bands, or weights that are large enough.
            payload.iter_mut().step_by(4).for_each(|byte| *byte = 3);
            if kind == kind::WEIGHTS {
                payload.iter_mut().skip(2).step_by(4).for_each(|byte| *byte = 1);
            }
            payload
                .iter_mut()
                .skip(4)
                .for_each(|b| *b = if kind == kind::PRIOMAP { 2 } else { *b });
            let mut options = Vec::new();
            put(&mut options, kind, &payload);
            let _ = house.qdisc.change(&options);
            house.qdisc.with(|fq| fq.dump());
        }
    }
    house.finish(None);
}

/// Silly quanta, with a packet behind one that has used up the credit of its flow.
fn quanta() {
    let house = House::v6_12();
    house.set(kind::RATE_ENABLE, 0);
    for (round, kind) in (0..).zip([kind::INITIAL_QUANTUM, kind::QUANTUM]) {
        for (n, value) in (0..).zip([1, 0, u32::MAX, 1 << 31, (1 << 20) + 1, 1 << 20]) {
            house.set(kind, value);
            house.qdisc.with(|fq| fq.dump());
            let id = 2 * (round * 6 + n);
            house.qdisc.with(|fq| {
                let _ = fq.enqueue(Packet::rated(id, 1, 3_000, 1_000_000));
                let _ = fq.enqueue(Packet::rated(id + 1, 1, 3_000, 1_000_000));
            });
            house.qdisc.state().netif_schedule();
            house.softirq();
        }
    }
    house.finish(None);
}

/// Bands with the least weight and packets that are longer than it.
fn bands() {
    let house = House::v6_12();
    house.set(kind::RATE_ENABLE, 0);
    let mut options = Vec::new();
    let weights: Vec<u8> = [1_u32 << 14; 3].into_iter().flat_map(u32::to_le_bytes).collect();
    put(&mut options, kind::WEIGHTS, &weights);
    let _ = house.qdisc.change(&options);
    house.qdisc.with(|fq| {
        for id in 0..9 {
            let mut packet = Packet::rated(id, 1 + id % 3, 60_000, 1_000_000);
            // Of bands 1, 2 and 0.
            packet.priority = [0, 1, 6][id as usize % 3];
            let _ = fq.enqueue(packet);
        }
        fq.tell_counts();
    });
    house.qdisc.state().netif_schedule();
    house.softirq();
    house.finish(None);
}

/// A packet comes whose time is earlier than that of the one its flow waits for.
fn earlier() {
    let house = House::v6_12();
    house.xmit(edt(0, 1, 200));
    house.xmit(edt(1, 1, 100));
    house.xmit(edt(2, 1, 150));
    house.finish(None);
}

/// Settings under which a few packets show how a flow is paced.
fn small_quanta(house: &House) {
    let mut options = Vec::new();
    put_u32(&mut options, kind::QUANTUM, 1_514);
    put_u32(&mut options, kind::INITIAL_QUANTUM, 1_514);
    let _ = house.qdisc.change(&options);
}

/// A flow of 1 MB/s has small frames to send, one at a time and too often.
fn small_frames() {
    let house = House::v6_12();
    small_quanta(&house);
    // Somebody waits for long, so that fq looks at all flows each time.
    house.xmit(edt(0, 9, 900_000));
    for n in 1..=12 {
        house.at(n * 100 * US);
        house.xmit(Packet::rated(n, 1, LEN, 1_000_000));
    }
    house.finish(None);
}

/// A flow of 15 MB/s has much to send, and its timer is late by not quite half a gap each time.
fn drift() {
    let house = House::v6_12();
    small_quanta(&house);
    for n in 0..24 {
        house.xmit(Packet::rated(n, 1, 1_500, 15_000_000));
    }
    while house.fire_late(35 * US) {}
    house.finish(None);
}

/// A flow is due and nobody has looked yet, when its next packet comes, due at once.
fn behind() {
    let house = House::v6_12();
    house.xmit(edt(0, 1, 100));
    house.xmit(edt(1, 1, 101));
    house.at(102 * US);
    house.xmit(edt(2, 1, 102));
    house.finish(None);
}

/// Flows that are thrown away with their packets: by a reset, by their age, by a change.
fn reset_and_gc() {
    let house = House::v6_12();
    for id in 0..4 {
        house.xmit(edt(id, id + 1, 100 + id));
    }
    house.qdisc.with(|fq| fq.tell_counts());
    house.qdisc.with(|fq| fq.reset());
    house.qdisc.with(|fq| fq.tell_counts());
    house.set(kind::BUCKETS_LOG, 1);
    for id in 4..8 {
        house.xmit(edt(id, id + 1, 200 + id));
    }
    while house.fire_late(0) {}
    // Long after, all flows but the new one are old.
    house.at(9_000_000 * US);
    for id in 8..12 {
        house.xmit(edt(id, id + 1, 9_000_100));
    }
    house.set(kind::BUCKETS_LOG, 4);
    house.finish(None);
}

const WINDOW: &[(&str, &str)] = &[("TIMER-WINDOW", "started"), ("QDISC-PROGRESS", "rest")];
const CONFIG: &[(&str, &str)] = &[("QDISC-CONFIG", "set"), ("QDISC-CONFIG", "dumped")];

macro_rules! alone {
    ($($name:ident $id:literal $body:ident $reach:expr, $about:literal;)*) => {
        $(scenario!($name, $id, ENGINES, 1, $body, $reach, $about);)*
        /// Scenarios of this file.
        pub(super) const ALL: &[&Scenario] = &[$(&$name),*];
    };
}

alone! {
    FQ_WINDOW "fq/window" window WINDOW,
        "A timer is queued for an earlier time than the next packet's.";
    FQ_SLACK_ONCE "fq/slack-once" slack_once WINDOW,
        "With one slack only, a packet is due a little before the timer.";
    FQ_DOWN_UP "fq/down-up" down_up
        &[("TIMER-WINDOW", "cancelled"), ("QDISC-PROGRESS", "rest")],
        "A port goes down and up with packets for the same time.";
    FQ_NEXT_DELAYED "fq/next-delayed" next_delayed
        &[("QDISC-CONFIG", "next"), ("QDISC-CONFIG", "no next")],
        "Statistics while a flow waits, while it is overdue, and while none waits.";
    FQ_LENGTHS "fq/lengths" lengths CONFIG,
        "Every attribute with payloads of every length.";
    FQ_QUANTA "fq/quanta" quanta CONFIG,
        "Quanta of all sizes, with packets queued.";
    FQ_BANDS "fq/bands" bands
        &[("QDISC-PROGRESS", "rest"), ("QDISC-COUNTS", "counted")],
        "Three bands of the least weight with packets that are longer than it.";
    FQ_EARLIER "fq/earlier" earlier
        &[("FQ-TREES", "changed"), ("NEVER-EARLY", "packet"), ("QDISC-PROGRESS", "rest")],
        "A packet comes that is due before the one its flow waits for.";
    FQ_SMALL_FRAMES "fq/small-frames" small_frames &[("RATE-BOUND", "paced")],
        "A paced flow sends small frames one at a time.";
    FQ_DRIFT "fq/drift" drift &[("RATE-BOUND", "backlogged")],
        "A paced flow with much to send has a timer that is late.";
    FQ_BEHIND "fq/behind" behind &[("FQ-ORDER", "queued"), ("NEVER-EARLY", "packet")],
        "A packet that is due comes to a flow that is due and was not looked at yet.";
    FQ_RESET "fq/reset" reset_and_gc
        &[("QDISC-COUNTS", "counted"), ("QDISC-CONFIG", "set"), ("QDISC-PROGRESS", "rest")],
        "Flows and packets are thrown away by a reset, by age and by a change.";
}
