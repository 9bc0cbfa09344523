//! Arbitrary traffic through fq, with all rules watching: times, rates, order, progress, counters.

use pollproof_events::{emit, with_visitor, Event, Sched, NEVER};
use pollproof_figures::line::Line;
use pollproof_rules::{Finding, Judge};
use pollproof_sched::netlink::{kind, put_u32};
use pollproof_sched::{Packet, WatchdogForm};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A flow of TCP sends a packet that is due in so many microseconds.
    Timed {
        flow: u64,
        len: u32,
        in_us: u64,
    },
    /// The same, while the device has no room: nothing leaves.
    Queued {
        flow: u64,
        len: u32,
        in_us: u64,
    },
    /// A flow that fq paces sends a packet.
    Paced {
        flow: u64,
        len: u32,
    },
    Wait {
        us: u64,
    },
    /// The device has room for one packet.
    One,
    /// The timer hardware interrupts.
    Fire,
    Set {
        kind: u16,
        value: u32,
    },
    Look,
    Reset,
    Reopen,
}

/// Rates of paced flows, bytes a second.
const RATES: [u64; 4] = [20_000, 80_000, 1_000_000, 200_000_000];

fn setting() -> impl Strategy<Value = Op> {
    let number =
        |kind, range: std::ops::Range<u32>| range.prop_map(move |v| Op::Set { kind, value: v });
    prop_oneof![
        number(kind::TIMER_SLACK, 0..100_000),
        number(kind::QUANTUM, 1_000..6_000),
        number(kind::INITIAL_QUANTUM, 0..20_000),
        number(kind::BUCKETS_LOG, 0..8),
        number(kind::PLIMIT, 0..30),
        number(kind::FLOW_PLIMIT, 0..30),
        number(kind::FLOW_REFILL_DELAY, 0..50_000),
        number(kind::HORIZON_DROP, 0..2),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let len = 60..3_000_u32;
    prop_oneof![
        8 => (0..3_u64, len.clone(), 0..40_u64)
            .prop_map(|(flow, len, n)| Op::Timed { flow, len, in_us: 10 * n }),
        4 => (0..3_u64, len.clone(), 0..4_u64)
            .prop_map(|(flow, len, n)| Op::Queued { flow, len, in_us: 10 * n }),
        8 => (0..4_u64, len).prop_map(|(flow, len)| Op::Paced { flow, len }),
        3 => (0..30_u64).prop_map(|n| Op::Wait { us: 10 * n }),
        3 => (30_000..60_000_u64).prop_map(|us| Op::Wait { us }),
        6 => Just(Op::Fire),
        4 => Just(Op::One),
        1 => setting(),
        1 => Just(Op::Look),
        1 => prop_oneof![Just(Op::Reset), Just(Op::Reopen)],
    ]
}

/// Runs the operations, then lets the queue come to rest.
fn run(form: WatchdogForm, ops: &[Op]) -> Vec<Finding> {
    let judge = Rc::new(RefCell::new(Judge::new()));
    with_visitor(judge.clone(), || {
        let line = Line::new(0, form, NEVER);
        for (id, op) in (0..).zip(ops) {
            step(&line, id, *op);
        }
        line.run(&mut |_, _| {});
        let mut fires = 0;
        while line.programmed_ns() != NEVER && fires < 10_000 {
            line.interrupt(&mut |_, _| {});
            fires += 1;
        }
        line.qdisc.with(|fq| {
            fq.tell_counts();
            fq.stats();
            fq.dump();
        });
        emit(Event::Sched(Sched::Rest { qdisc: 0 }));
    });
    let findings = judge.borrow().findings().to_vec();
    findings
}

fn step(line: &Line, id: u64, op: Op) {
    let ring: pollproof_figures::line::Ring = &mut |_, _| {};
    match op {
        Op::Timed { flow, len, in_us } => {
            line.xmit(Packet::edt(id, 1 + flow, len, line.now_ns() + 1 + in_us * 1_000), ring);
        }
        Op::Queued { flow, len, in_us } => {
            // Some are due already.
            let due_ns = (line.now_ns() + in_us * 1_000).saturating_sub(20_000);
            let packet = Packet::edt(id, 1 + flow, len, 1 + due_ns);
            let _ = line.qdisc.with(|fq| fq.enqueue(packet));
        }
        Op::Paced { flow, len } => {
            line.xmit(Packet::rated(id, 11 + flow, len, RATES[flow as usize]), ring);
        }
        Op::Wait { us } => {
            let to_ns = line.now_ns() + us * 1_000;
            while line.programmed_ns() < to_ns {
                line.interrupt(ring);
            }
            line.at(to_ns);
        }
        Op::Fire => line.interrupt(ring),
        Op::One => {
            line.qdisc.with(|fq| fq.dequeue());
        }
        Op::Set { kind, value } => {
            let mut options = Vec::new();
            put_u32(&mut options, kind, value);
            let _ = line.qdisc.change(&options);
        }
        Op::Look => line.qdisc.with(|fq| {
            fq.tell_counts();
            fq.stats();
            fq.dump();
        }),
        Op::Reset => line.qdisc.with(|fq| fq.reset()),
        Op::Reopen => {
            line.qdisc.deactivate();
            line.qdisc.activate();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_traffic_breaks_no_rule(
        later in any::<bool>(),
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let form = if later { WatchdogForm::V6_12 } else { WatchdogForm::LastExpires };
        prop_assert_eq!(run(form, &ops), vec![]);
    }
}
