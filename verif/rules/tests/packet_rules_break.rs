//! Every rule of packets, lists and GRO on the smallest stream that breaks it, and on one that does
//! not.

use pollproof_events::{Event, Event::*, Link, Record, SkbEnd as End, SkbStep, SkbStep::*};
use pollproof_rules::Judge;
use pollproof_sync::cpu::Context;

/// Ids of the rules that a stream breaks; each event a millisecond after the one before.
fn broken(events: &[Event]) -> Vec<&'static str> {
    let record = |(number, &event): (u64, &Event)| Record {
        number,
        step: 0,
        time_ps: number * 1_000_000_000,
        thread: 1,
        context: Context { softirq: 1, ..Context::default() },
        at: ("here", 1),
        event,
    };
    let records: Vec<Record> = (0..).zip(events).map(record).collect();
    Judge::of(&records).findings().iter().map(|f| f.rule).collect()
}

fn skb(step: SkbStep) -> Event {
    Event::Skb(step)
}

/// A frame comes in and is taken; its packet has this identity.
fn taken(number: u64) -> [Event; 3] {
    let index = number as u32;
    [
        WireRx { number, flow: 1, len: 60 },
        CqeWrite { cq: 1, index, number },
        CqeConsume { cq: 1, index, napi: 0 },
    ]
}

fn ends(number: u64, end: End) -> Event {
    SkbEnd { skb: 1 << 32 | number, flow: 1, napi_id: 0, end }
}

fn got(number: u64) -> Event {
    ends(number, End::Socket(1))
}

const HELD: Event = GroHeld { napi: 0, skb: 1 << 32, merged: false };
const REST: Event = RestGro { napi: 0, held: 0, wakeup: false };
const NONE: [&str; 0] = [];

#[test]
fn a_link_that_is_not_null_breaks_integrity() {
    for link in [Link::Listed, Link::Itself, Link::Poison] {
        assert_eq!(broken(&[skb(Linked { skb: 1, link, at: "here" })]), ["LIST-INTEGRITY"]);
    }
}

#[test]
fn what_a_list_keeps_is_what_sockets_got() {
    let list = |kept, end| {
        let mut events = taken(0).to_vec();
        events.extend([skb(ListIn { skbs: 1 }), ends(0, end), skb(ListOut { kept })]);
        events
    };
    assert_eq!(broken(&list(1, End::Socket(1))), NONE);
    assert_eq!(broken(&list(0, End::Dropped("full"))), NONE);
    assert_eq!(broken(&list(1, End::Dropped("full"))), ["RETURN-TRUTH"]);
    assert_eq!(broken(&list(0, End::Socket(1))), ["RETURN-TRUTH"]);
    // A merged packet counts as one.
    let merged = |kept| {
        let mut events = [taken(0), taken(1)].concat();
        events.push(GroHeld { napi: 0, skb: 1 << 32 | 1, merged: true });
        events.extend([skb(ListIn { skbs: 1 }), got(0), got(1), skb(ListOut { kept })]);
        events
    };
    assert_eq!(broken(&merged(1)), NONE);
    assert_eq!(broken(&merged(2)), ["RETURN-TRUTH"]);
}

#[test]
fn a_packet_has_both_owner_and_destructor_or_neither() {
    let owned = |owner, destructor| broken(&[skb(Owned { skb: 1, owner, destructor })]);
    assert_eq!(owned(true, true), NONE);
    assert_eq!(owned(true, false), ["SKB-OWNER"]);
    assert_eq!(owned(false, true), ["SKB-OWNER"]);
}

#[test]
fn only_what_is_ours_alone_enters_gro() {
    assert_eq!(broken(&[skb(Enters { skb: 1, exclusive: true })]), NONE);
    assert_eq!(broken(&[skb(Enters { skb: 1, exclusive: false })]), ["GRO-EXCLUSIVE"]);
}

#[test]
fn references_are_given_back_once_and_in_their_manner() {
    let get = |kind| skb(RefGet { kind, object: 7 });
    let put = |kind| skb(RefPut { kind, object: 7 });
    assert_eq!(broken(&[get("page"), put("page"), REST]), NONE);
    assert_eq!(broken(&[get("page"), REST]), ["REF-BALANCE"]);
    assert_eq!(broken(&[get("page"), put("page"), put("page")]), ["REF-BALANCE"]);
    assert_eq!(broken(&[get("page"), put("page of a pool")]), ["REF-BALANCE"]);
}

#[test]
fn a_packet_is_read_as_its_frame_was_sent() {
    let run = |sum| {
        let mut events = vec![skb(Sent { number: 0, sum: 5 })];
        events.extend(taken(0));
        events.extend([skb(Read { skb: 1 << 32, sum }), got(0)]);
        broken(&events)
    };
    assert_eq!(run(5), NONE);
    assert_eq!(run(6), ["PAYLOAD-FIDELITY"]);
}

#[test]
fn nothing_is_held_without_a_timer_or_through_full_polls() {
    let done = NapiComplete { napi: 0, work: 1, done: true };
    let start = TimerStart { napi: 0, delay_ns: 1 };
    let begin = [NapiPrep { napi: 0, granted: true }];
    let run = |rest: &[Event]| broken(&[&begin[..], &taken(0), &[HELD], rest].concat());
    assert!(run(&[done]).contains(&"GRO-LATENCY"));
    assert!(!run(&[got(0), done]).contains(&"GRO-LATENCY"));
    assert!(!run(&[start, done]).contains(&"GRO-LATENCY"));
    assert!(run(&[start, TimerFired { napi: 0 }, done]).contains(&"GRO-LATENCY"));
    let enter = PollEnter { napi: 0, budget: 1, netpoll: false };
    let full = PollExit { napi: 0, work: 1, budget: 1 };
    assert!(!run(&[enter, full]).contains(&"GRO-LATENCY"), "two milliseconds are allowed");
    assert!(run(&[enter, full, enter, full]).contains(&"GRO-LATENCY"));
    assert!(!run(&[enter, got(0), full, enter, full]).contains(&"GRO-LATENCY"));
}

#[test]
fn what_gro_holds_at_rest_is_what_the_driver_took_and_nobody_got() {
    let held = |held| {
        let rest = RestGro { napi: 0, held, wakeup: true };
        let mut events = taken(0).to_vec();
        events.extend([HELD, rest, RestHeld { device: 0, queued: 0 }]);
        broken(&events)
    };
    assert_eq!(held(1), NONE);
    assert_eq!(held(0), ["PACKET-CONSERVATION"]);
    assert_eq!(held(2), ["PACKET-CONSERVATION"]);
}

#[test]
fn the_list_of_a_poll_ends_with_it() {
    let scope = |open| skb(ListScope { napi: 0, open });
    let exit = PollExit { napi: 0, work: 0, budget: 4 };
    let enter = PollEnter { napi: 0, budget: 4, netpoll: false };
    let grant = NapiPrep { napi: 0, granted: true };
    let done = NapiComplete { napi: 0, work: 0, done: true };
    let scoped = |events: &[Event]| broken(events).contains(&"LIST-SCOPE");
    assert!(!scoped(&[grant, enter, scope(true), scope(false), done, exit]));
    assert!(scoped(&[grant, enter, scope(true), done, exit]));
    assert!(scoped(&[grant, enter, scope(true), scope(true)]));
}

#[test]
fn a_score_is_that_of_the_packets_that_were_taken() {
    let run = |total, partial: &[Event]| {
        let events = [&taken(0)[..], partial, &[skb(Score { cq: 1, total })]].concat();
        broken(&events).contains(&"SCORE-TRUTH")
    };
    let part = CqePartial { cq: 1, index: 0, napi: 0 };
    assert!(!run(2, &[]) && !run(0, &[part]));
    assert!(run(0, &[]) && run(4, &[]) && run(2, &[part]));
}

#[test]
fn an_entry_of_several_packets_is_begun_below_the_budget() {
    let enter = PollEnter { napi: 0, budget: 2, netpoll: false };
    let exit = PollExit { napi: 0, work: 2, budget: 2 };
    let take = |index| CqeConsume { cq: 1, index, napi: 0 };
    let run = |events: &[Event]| {
        let events = [&[enter], events, &[exit]].concat();
        broken(&events).contains(&"BOUNDED-WORK")
    };
    let two = skb(Entry { cq: 1, packets: 2 });
    assert!(!run(&[take(0), two, take(1), take(2)]));
    assert!(run(&[take(0), take(1), two, take(2), take(3)]));
    assert!(run(&[take(0), two, take(1), take(2), take(3)]));
}
