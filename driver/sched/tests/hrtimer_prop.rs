//! The timer base against a model: a plain list of timers.

mod common;

use pollproof_events::NEVER;
use pollproof_kapi::Clock;
use pollproof_sched::{Hrtimer, WatchdogForm};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug)]
enum Op {
    Start {
        timer: usize,
        in_ns: u64,
        delta_ns: u64,
    },
    Cancel {
        timer: usize,
    },
    /// The hardware interrupts, so much later than it was programmed to.
    Fire {
        late_ns: u64,
    },
}

const TIMERS: usize = 4;

/// So many nanoseconds, or for ever.
fn within(ns: u64) -> impl Strategy<Value = u64> {
    prop_oneof![9 => 0..ns, 1 => Just(NEVER)]
}

fn op() -> impl Strategy<Value = Op> {
    let timer = 0..TIMERS;
    prop_oneof![
        3 => (timer.clone(), within(40), within(20))
            .prop_map(|(timer, in_ns, delta_ns)| Op::Start { timer, in_ns, delta_ns }),
        1 => timer.prop_map(|timer| Op::Cancel { timer }),
        2 => (0..5_u64).prop_map(|late_ns| Op::Fire { late_ns }),
    ]
}

/// What is queued: number, soft expiry, hard expiry, in order of their starts.
type Queue = Vec<(usize, u64, u64)>;

/// Runs what is due as the kernel does: by hard expiry, up to the first that may not run yet.
fn expire(queue: &mut Queue, now_ns: u64) -> Vec<usize> {
    let mut fired = Vec::new();
    // A stable sort: equal ones in the order of their starts.
    queue.sort_by_key(|(_, _, hard_ns)| *hard_ns);
    while queue.first().is_some_and(|(_, soft_ns, _)| *soft_ns <= now_ns) {
        fired.push(queue.remove(0).0);
    }
    fired
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn timers_fire_as_those_of_a_list_do(ops in prop::collection::vec(op(), 1..60)) {
        let cpu = common::cpu(WatchdogForm::V6_12);
        let fired: Arc<Mutex<Vec<usize>>> = Arc::default();
        let timers: Vec<_> = (0..TIMERS).map(|n| {
            let fired = fired.clone();
            Hrtimer::new(n as u32, Box::new(move || fired.lock().unwrap().push(n)))
        }).collect();
        let mut queue = Queue::new();
        for op in ops {
            let before = cpu.base.counts.programmed.get();
            match op {
                Op::Start { timer, in_ns, delta_ns } => {
                    let soft_ns = cpu.hand.now_ns().saturating_add(in_ns);
                    queue.retain(|(n, _, _)| *n != timer);
                    queue.push((timer, soft_ns, soft_ns.saturating_add(delta_ns)));
                    cpu.base.start_range_ns(&timers[timer], soft_ns, delta_ns);
                    prop_assert!(cpu.base.counts.programmed.get() - before <= 1);
                }
                Op::Cancel { timer } => {
                    let there = queue.iter().any(|(n, _, _)| *n == timer);
                    queue.retain(|(n, _, _)| *n != timer);
                    prop_assert_eq!(cpu.base.cancel(&timers[timer]), there);
                }
                Op::Fire { late_ns } => {
                    let expected = match cpu.fire_late(late_ns) {
                        true => expire(&mut queue, cpu.hand.now_ns()),
                        false => Vec::new(),
                    };
                    prop_assert_eq!(std::mem::take(&mut *fired.lock().unwrap()), expected);
                }
            }
            for (n, timer) in timers.iter().enumerate() {
                prop_assert_eq!(timer.is_queued(), queue.iter().any(|(m, _, _)| *m == n));
            }
            let first = queue.iter().map(|(_, _, hard_ns)| *hard_ns).min();
            prop_assert_eq!(cpu.base.next_event_ns(), first.unwrap_or(NEVER));
            prop_assert_eq!(cpu.programmed_ns().unwrap_or(NEVER), first.unwrap_or(NEVER));
        }
    }
}

#[test]
fn a_timer_alone_fires_at_its_hard_expiry_and_another_takes_it_along_within_its_window() {
    let cpu = common::cpu(WatchdogForm::V6_12);
    let fired: Arc<Mutex<Vec<(u32, u64)>>> = Arc::default();
    let timer = |n: u32| {
        let (fired, hand) = (fired.clone(), cpu.hand.clone());
        Hrtimer::new(n, Box::new(move || fired.lock().unwrap().push((n, hand.now_ns()))))
    };
    let (alone, early, along, later) = (timer(0), timer(1), timer(2), timer(3));
    cpu.base.start_range_ns(&alone, 100, 10);
    assert!(cpu.fire());
    cpu.base.start_range_ns(&early, 200, 10);
    cpu.base.start_range_ns(&along, 205, 10);
    // Its soft expiry has passed at 210, but one before it in the queue may not run yet.
    cpu.base.start_range_ns(&later, 209, 100);
    cpu.base.start_range_ns(&alone, 212, 10);
    assert!(cpu.fire());
    assert_eq!(*fired.lock().unwrap(), [(0, 110), (1, 210), (2, 210)]);
    assert_eq!(cpu.programmed_ns(), Some(222));
}
