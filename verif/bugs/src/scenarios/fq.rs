//! The watchdog's timer fires on one CPU while another sends, cancels, deactivates or changes.

use super::fq_house::{House, US};
use super::macros::scenario;
use super::EXPLORE;
use pollproof_bench::scenario::Scenario;
use pollproof_events::NEVER;
use pollproof_sched::netlink::{kind, put_u32};
use pollproof_sched::{Hrtimer, Packet};
use pollproof_sync::{thread, PlainU32, What};
use std::sync::Arc;

const LEN: u32 = 1_000;

/// A packet of a flow of its own for this time.
fn packet(id: u64, at_us: u64) -> Packet {
    Packet::edt(id, id + 1, LEN, at_us * US)
}

/// The timer fires for one packet while another is sent, whose time lies within the same slack or
/// behind it.
fn fire_dequeue() {
    let house = House::v6_12();
    house.xmit(packet(0, 100));
    let hardware = house.hardware(2);
    let sender = {
        let house = house.clone();
        thread::spawn(1, move || {
            house.xmit(packet(1, 95));
            house.xmit(packet(2, 300));
        })
    };
    sender.join();
    house.finish(Some(hardware));
}

/// The discipline is put out of use while its timer fires, or is about to be started again.
fn fire_deactivate() {
    let house = House::v6_12();
    house.xmit(packet(0, 100));
    house.xmit(packet(1, 300));
    let hardware = house.hardware(1);
    let closer = {
        let house = house.clone();
        thread::spawn(1, move || house.qdisc.deactivate())
    };
    closer.join();
    house.finish(Some(hardware));
}

/// The same, and it is taken into use again, with a packet for a time that was asked for before.
fn fire_reopen() {
    let house = House::v6_12();
    house.xmit(packet(0, 100));
    let hardware = house.hardware(1);
    let closer = {
        let house = house.clone();
        thread::spawn(1, move || {
            house.qdisc.deactivate();
            house.qdisc.activate();
            house.xmit(packet(1, 100));
        })
    };
    closer.join();
    house.finish(Some(hardware));
}

/// Slack, trees and limits are changed while the timer fires.
fn fire_change() {
    let house = House::v6_12();
    house.xmit(packet(0, 100));
    house.xmit(packet(1, 105));
    let hardware = house.hardware(1);
    let changer = {
        let house = house.clone();
        thread::spawn(1, move || {
            let mut options = Vec::new();
            put_u32(&mut options, kind::TIMER_SLACK, 0);
            put_u32(&mut options, kind::BUCKETS_LOG, 3);
            put_u32(&mut options, kind::PLIMIT, 1);
            let _ = house.qdisc.change(&options);
        })
    };
    changer.join();
    house.finish(Some(hardware));
}

/// A timer is cancelled while it fires; then what its callback uses is thrown away.
fn fire_cancel() {
    let house = House::v6_12();
    let used = Arc::new(PlainU32::new(0, What { rule: "LIFETIME", name: "what a timer uses" }));
    let uses = used.clone();
    let timer = Hrtimer::new(1, Box::new(move || uses.set(uses.get() + 1)));
    house.base.start_range_ns(&timer, 100 * US, 10 * US);
    let hardware = house.hardware(1);
    let canceller = {
        let (house, timer) = (house.clone(), timer.clone());
        thread::spawn(1, move || {
            house.base.cancel(&timer);
            used.set(9);
        })
    };
    canceller.join();
    house.finish(Some(hardware));
}

/// A timer is moved while it fires.
fn fire_start() {
    let house = House::v6_12();
    let timer = Hrtimer::new(1, Box::new(|| {}));
    house.base.start_range_ns(&timer, 100 * US, 10 * US);
    let hardware = house.hardware(2);
    house.base.start_range_ns(&timer, 200 * US, 10 * US);
    house.base.start_range_ns(&timer, 50 * US, NEVER);
    house.base.start_range_ns(&timer, 50 * US, 0);
    house.finish(Some(hardware));
}

const SENT: &[(&str, &str)] = &[
    ("NEVER-EARLY", "packet"),
    ("NEVER-EARLY", "timer"),
    ("QDISC-PROGRESS", "rest"),
    ("QDISC-COUNTS", "counted"),
    ("TIMER-WINDOW", "kept"),
];

scenario!(
    FQ_FIRE_DEQUEUE,
    "fq/fire-dequeue",
    EXPLORE,
    3,
    fire_dequeue,
    SENT,
    "The watchdog's timer fires while another CPU sends packets for other times."
);
scenario!(
    FQ_FIRE_DEACTIVATE,
    "fq/fire-deactivate",
    EXPLORE,
    3,
    fire_deactivate,
    &[("TIMER-WINDOW", "cancelled"), ("NEVER-EARLY", "timer"), ("QDISC-PROGRESS", "rest")],
    "fq is deactivated while its watchdog's timer fires."
);
scenario!(
    FQ_FIRE_REOPEN,
    "fq/fire-reopen",
    EXPLORE,
    3,
    fire_reopen,
    &[("TIMER-WINDOW", "cancelled"), ("NEVER-EARLY", "packet"), ("QDISC-PROGRESS", "rest")],
    "fq is deactivated and activated again while its watchdog's timer fires."
);
scenario!(
    FQ_FIRE_CHANGE,
    "fq/fire-change",
    EXPLORE,
    3,
    fire_change,
    &[("QDISC-CONFIG", "set"), ("NEVER-EARLY", "timer"), ("QDISC-COUNTS", "counted")],
    "Settings of fq are changed while its watchdog's timer fires."
);
scenario!(
    HRTIMER_FIRE_CANCEL,
    "hrtimer/fire-cancel",
    EXPLORE,
    3,
    fire_cancel,
    &[("TIMER-WINDOW", "cancelled"), ("NEVER-EARLY", "timer")],
    "A timer fires while it is cancelled, and what it uses is thrown away."
);
scenario!(
    HRTIMER_FIRE_START,
    "hrtimer/fire-start",
    EXPLORE,
    2,
    fire_start,
    &[("TIMER-WINDOW", "started"), ("NEVER-EARLY", "timer")],
    "A timer fires while it is moved later and earlier."
);

/// Scenarios of this file.
pub(super) const ALL: &[&Scenario] = &[
    &FQ_FIRE_DEQUEUE,
    &FQ_FIRE_DEACTIVATE,
    &FQ_FIRE_REOPEN,
    &FQ_FIRE_CHANGE,
    &HRTIMER_FIRE_CANCEL,
    &HRTIMER_FIRE_START,
];
