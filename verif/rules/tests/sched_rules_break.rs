//! Every rule on a scheduler, its watchdog and timers, on the smallest stream that breaks it.

use pollproof_events::{
    Event, QdiscCounts, QdiscPacket, QdiscPromise, Record, Sched, NEVER, NO_FLOW_WAITS,
};
use pollproof_rules::Judge;
use pollproof_sync::cpu::Context;

const SLACK_NS: u64 = 10;

/// Ids of the rules that are broken after a promise of one slack of 10 ns and nothing on top.
fn broken(events: &[Sched]) -> Vec<&'static str> {
    let promise = Sched::Promise(QdiscPromise {
        qdisc: 0,
        timer: 0,
        slack_ns: SLACK_NS,
        slacks: 1,
        latency_ns: 0,
        burst: 1_000,
        quantum: 1_000,
        refill_ns: NEVER,
    });
    let record = |(number, event): (usize, &Sched)| Record {
        number: number as u64,
        step: 0,
        time_ps: 0,
        thread: 1,
        context: Context::default(),
        at: ("here", 1),
        event: Event::Sched(*event),
    };
    let events = [&[promise][..], events].concat();
    let records: Vec<_> = events.iter().enumerate().map(record).collect();
    Judge::of(&records).findings().iter().map(|f| f.rule).collect()
}

/// A packet that comes now and may leave at this time.
fn edt(packet: u64, departs_ns: u64) -> Sched {
    let (len, rate) = (1_000, NEVER);
    Sched::Enqueue(QdiscPacket { qdisc: 0, packet, flow: 8, len, departs_ns, rate, now_ns: 0 })
}

fn rated(packet: u64, rate: u64, now_ns: u64) -> Sched {
    let (len, departs_ns) = (1_000, now_ns);
    Sched::Enqueue(QdiscPacket { qdisc: 0, packet, flow: 8, len, departs_ns, rate, now_ns })
}

fn leaves(packet: u64, now_ns: u64) -> Sched {
    Sched::Dequeue { qdisc: 0, packet, now_ns }
}

fn waits(until_ns: u64) -> Sched {
    Sched::Throttle { qdisc: 0, flow: 8, until_ns }
}

fn nothing(now_ns: u64) -> Sched {
    Sched::Nothing { qdisc: 0, now_ns }
}

const GOES_ON: Sched = Sched::Unthrottle { qdisc: 0, flow: 8 };
const REST: Sched = Sched::Rest { qdisc: 0 };

#[test]
fn packets_leave_neither_early_nor_late() {
    assert_eq!(broken(&[edt(1, 100), leaves(1, 100)]), [""; 0]);
    assert_eq!(broken(&[edt(1, 100), leaves(1, 99)]), ["NEVER-EARLY"]);
    assert_eq!(broken(&[edt(1, 100), leaves(1, 110)]), [""; 0], "within the slack");
    assert_eq!(broken(&[edt(1, 100), leaves(1, 111)]), ["SLACK-BOUND"]);
}

#[test]
fn a_flow_keeps_its_order_and_waits_for_its_first_packet() {
    let two = [edt(1, 0), edt(2, 0)];
    assert_eq!(broken(&[two[0], two[1], leaves(1, 0), leaves(2, 0)]), [""; 0]);
    assert_eq!(broken(&[two[0], two[1], leaves(2, 0)]), ["FQ-ORDER"]);
    assert_eq!(broken(&[edt(1, 5), edt(2, 0), leaves(2, 0), leaves(1, 5)]), [""; 0], "by time");
    assert_eq!(broken(&[edt(1, 100), waits(100), nothing(0)]), [""; 0]);
    assert_eq!(broken(&[edt(1, 100), waits(50)]), ["FQ-TREES"], "for nothing");
    assert_eq!(broken(&[waits(50)]), ["FQ-TREES"], "it has no packet");
    assert_eq!(broken(&[edt(1, 100), GOES_ON]), ["FQ-TREES"], "it did not wait");
    let sooner = [edt(1, 100), waits(100), edt(2, 50), nothing(0)];
    assert_eq!(broken(&sooner), ["FQ-TREES"], "its first packet is another by now");
}

#[test]
fn a_packet_that_may_go_is_found() {
    assert_eq!(broken(&[nothing(0), REST]), [""; 0]);
    assert_eq!(broken(&[edt(1, 0), nothing(0)]), ["QDISC-PROGRESS"]);
    assert_eq!(broken(&[edt(1, 9), waits(9), nothing(9)]), ["QDISC-PROGRESS"], "it is time");
    assert_eq!(broken(&[edt(1, 9), waits(9), nothing(8), REST]), ["QDISC-PROGRESS"], "for ever");
    assert_eq!(broken(&[Sched::Stuck { qdisc: 0, rounds: 99 }]), ["QDISC-PROGRESS"]);
}

#[test]
fn counters_are_those_of_a_walk_and_of_what_went_in() {
    let one = QdiscCounts { qlen: 1, backlog: 1_000, next_ns: NEVER, ..QdiscCounts::default() };
    let none = QdiscCounts { next_ns: NEVER, ..QdiscCounts::default() };
    let counts = |kept, walked| Sched::Counts { qdisc: 0, kept, walked };
    assert_eq!(broken(&[edt(1, 0), counts(one, one)]), [""; 0]);
    assert_eq!(
        broken(&[edt(1, 0), counts(QdiscCounts { flows: 1, ..one }, one)]),
        ["QDISC-COUNTS"]
    );
    assert_eq!(broken(&[edt(1, 0), counts(none, none)]), ["QDISC-COUNTS"], "both are wrong");
    let reset = Sched::Reset { qdisc: 0 };
    assert_eq!(broken(&[edt(1, 0), reset, counts(none, none)]), [""; 0]);
    assert_eq!(broken(&[edt(1, 0), reset, counts(one, one)]), ["QDISC-COUNTS"], "not zero");
    assert_eq!(broken(&[leaves(1, 0)]), ["QDISC-COUNTS"], "from nowhere");
    assert_eq!(broken(&[edt(1, 0), leaves(1, 0), leaves(1, 0)]), ["QDISC-COUNTS"], "twice");
}

#[test]
fn a_paced_flow_is_neither_faster_nor_slower_than_its_rate() {
    // A million bytes a second: 1,000 bytes every millisecond.
    let (rate, gap_ns) = (1_000_000, 1_000_000);
    let sent = |every_ns: u64, count: u64| {
        let come = (0..count).map(|n| rated(n, rate, 0));
        let go = (0..count).flat_map(|n| [waits(n * every_ns), leaves(n, n * every_ns), GOES_ON]);
        // The last is queued until the end, so that the flow always has something to send.
        let all: Vec<_> = come.chain(go).collect();
        broken(&all[..all.len() - 3]).into_iter().filter(|r| *r == "RATE-BOUND").count()
    };
    assert_eq!(sent(gap_ns, 20), 0);
    assert!(sent(gap_ns / 2, 20) > 0, "twice as fast");
    assert_eq!(sent(gap_ns / 2, 3), 0, "a burst is allowed");
    assert!(sent(2 * gap_ns, 20) > 0, "half as fast, with a timer that is on time");
}

#[test]
fn timers_fire_in_their_window() {
    let start = |soft_ns, hard_ns| Sched::TimerStart { timer: 0, soft_ns, hard_ns };
    let expire = |now_ns| Sched::TimerExpire { timer: 0, now_ns };
    let ask = |expires_ns, kept| Sched::Watchdog { timer: 0, expires_ns, slack_ns: SLACK_NS, kept };
    let (done, cancel) = (Sched::TimerDone { timer: 0 }, Sched::TimerCancel { timer: 0 });
    let set = [ask(100, false), start(100, 110)];
    let after = |more: &[Sched]| broken(&[&set[..], more].concat());
    assert_eq!(after(&[expire(100), done]), [""; 0]);
    assert_eq!(after(&[expire(99)]), ["NEVER-EARLY"]);
    assert_eq!(after(&[expire(100), expire(101)]), ["TIMER-WINDOW"], "not queued");
    assert_eq!(after(&[cancel, expire(100)]), ["TIMER-WINDOW"], "cancelled");
    assert_eq!(after(&[expire(100), cancel]), ["TIMER-WINDOW"], "while its callback runs");
    assert_eq!(after(&[expire(100), done, cancel]), [""; 0]);
    assert_eq!(after(&[ask(120, true)]), ["TIMER-WINDOW"], "kept though too early");
    let run = Sched::Run { qdisc: 0 };
    assert_eq!(after(&[expire(100), done, run, ask(100, true)]), ["TIMER-WINDOW"], "it is off");
    assert_eq!(broken(&[ask(100, false), start(90, 100)]), ["TIMER-WINDOW"], "another time");
    let unused = Sched::Active { qdisc: 0, active: false };
    assert!(broken(&[unused, set[0], set[1]]).contains(&"TIMER-WINDOW"), "not in use");
    let program = |expires_ns, first_ns| Sched::TimerProgram { cpu: 0, expires_ns, first_ns };
    assert_eq!(broken(&[program(100, 100)]), [""; 0]);
    assert_eq!(broken(&[program(101, 100)]), ["TIMER-WINDOW"]);
    // One slack is promised; a timer that is kept takes a second one.
    assert_eq!(after(&[ask(95, true)]), ["SLACK-BOUND"]);
}

#[test]
fn settings_are_taken_as_given_and_told_as_they_are() {
    let attr = |kind, len, value| Sched::Attr { qdisc: 0, kind, len, value };
    let dump = |kind, value| Sched::Dump { qdisc: 0, kind, value };
    assert_eq!(broken(&[attr(13, 4, 7), dump(13, 7)]), [""; 0]);
    assert_eq!(broken(&[attr(13, 4, 7), dump(13, 8)]), ["QDISC-CONFIG"]);
    assert_eq!(broken(&[dump(13, 7), dump(13, 8)]), ["QDISC-CONFIG"], "nobody changed it");
    assert_eq!(broken(&[attr(13, 3, 7)]), ["QDISC-CONFIG"], "three bytes");
    assert_eq!(broken(&[attr(3, 4, 0)]), ["QDISC-CONFIG"], "a quantum of nothing");
    assert_eq!(broken(&[attr(99, 4, 0)]), ["QDISC-CONFIG"], "there is none");
    let told = |told_ns| Sched::NextDelayed { qdisc: 0, now_ns: 40, told_ns };
    assert_eq!(broken(&[edt(1, 100), waits(100), told(70)]), [""; 0], "with the slack");
    assert_eq!(broken(&[edt(1, 100), waits(100), told(60)]), ["QDISC-CONFIG"]);
    assert_eq!(broken(&[told(NO_FLOW_WAITS)]), [""; 0]);
    assert_eq!(broken(&[told(9)]), ["QDISC-CONFIG"], "none waits");
}
