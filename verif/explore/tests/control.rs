//! What surrounds a search: replay, choices, caps, random walks, minimising, and cleaning up.

#[path = "common/faults.rs"]
mod faults;

use faults::{abba, find};
use pollproof_explore::rt::{self, Ordering::*};
use pollproof_explore::{
    explore, minimise, replay, sample, Config, Coverage, End, Limit, Schedule,
};
use std::ops::ControlFlow::{Break, Continue};
use std::panic::Location;

#[test]
fn a_replay_gives_the_same_trace_twice() {
    let (_, schedule) = find(&abba).expect("found");
    let token = schedule.to_string();
    let parsed: Schedule = token.parse().expect("its own token");
    assert_eq!(parsed, schedule);
    let trace = || {
        let mut lines = Vec::new();
        replay(&Config::default(), &parsed, &abba, &mut |e| {
            lines.extend(e.steps().iter().map(ToString::to_string));
            lines.push(format!("{:?}", e.end));
            Continue(())
        });
        lines
    };
    let first = trace();
    assert!(first.last().expect("an end").contains("Deadlock"), "{first:?}");
    assert_eq!(first, trace());
}

#[test]
fn a_schedule_of_another_program_is_refused() {
    for token in ["0x40", "7", "c1", "0x2.c0"] {
        let schedule: Schedule = token.parse().expect("a token");
        let mut end = End::Complete;
        replay(&Config::default(), &schedule, &abba, &mut |e| {
            end = e.end.clone();
            Continue(())
        });
        assert!(matches!(end, End::Diverged(_)), "{token}: {end:?}");
    }
}

#[test]
fn a_token_that_is_none_says_which_part() {
    for (token, part) in
        [("", 1), ("0x0", 1), ("0.1xx", 2), ("0.99", 2), ("0.1.ca", 3), ("0x9999999999", 1)]
    {
        let wrong = token.parse::<Schedule>().expect_err(token);
        assert_eq!(wrong.part, part, "{token}: {wrong}");
    }
}

fn choices() {
    let at = Location::caller();
    let x = rt::atomic_new(0, 32);
    let body = move || {
        let value = rt::choose(3, at);
        rt::store(x, value as u64, Relaxed, at);
    };
    let child = rt::spawn(Box::new(body), at);
    body();
    rt::join(child, at);
    assert!(rt::load(x, Relaxed, at) < 2, "chose 2");
}

#[test]
fn every_choice_is_tried_and_replayed() {
    let mut executions = 0;
    let summary = explore(&Config::default(), &choices, &mut |_| {
        executions += 1;
        Continue(())
    });
    assert!(summary.is_exhaustive());
    assert_eq!(executions, 3 * 3 * 2);
    let (text, schedule) = find(&choices).expect("found");
    assert!(text.contains("chose 2") && schedule.to_string().contains("c2"), "{text} {schedule}");
}

#[test]
fn a_cap_is_never_reported_as_finished() {
    let at = Location::caller();
    let go_on = &mut |_: &pollproof_explore::Execution<'_>| Continue(());
    let few = Config { max_executions: 1, ..Config::default() };
    assert_eq!(explore(&few, &choices, go_on).coverage, Coverage::Executions);
    let short = Config { max_steps: 3, ..Config::default() };
    let summary = explore(&short, &abba, go_on);
    assert_eq!(summary.coverage, Coverage::Cut(Limit::Steps));
    let crowd = || (0..20).for_each(|_| assert!(rt::spawn(Box::new(|| {}), at) < 16));
    let summary = explore(&Config::default(), &crowd, go_on);
    assert_eq!(summary.coverage, Coverage::Cut(Limit::Threads));
    let spin = || {
        let x = rt::atomic_new(0, 32);
        while rt::load(x, Relaxed, at) == 0 {
            rt::yield_now(at);
        }
    };
    assert_eq!(explore(&short, &spin, go_on).coverage, Coverage::Cut(Limit::Steps));
}

#[test]
fn a_failed_cas_and_a_refused_update_are_reads() {
    let at = Location::caller();
    let program = || {
        let x = rt::atomic_new(0, 32);
        let body = move || {
            assert_eq!(rt::cas(x, (1, 2), (AcqRel, Acquire), at), Err(0));
            assert_eq!(rt::update(x, &mut |_| None, AcqRel, at), Err(0));
        };
        rt::spawn(Box::new(body), at);
        body();
    };
    let summary = explore(&Config::default(), &program, &mut |_| Continue(()));
    assert_eq!((summary.executions, summary.blocked), (1, 0));
}

#[test]
fn an_object_of_another_execution_is_refused() {
    let at = Location::caller();
    let kept = std::cell::Cell::new(None);
    let program = || match kept.get() {
        None => kept.set(Some(rt::atomic_new(0, 32))),
        Some(old) => assert_eq!(rt::load(old, Relaxed, at), 0),
    };
    assert_eq!(find(&program), None);
    assert!(find(&program).expect("found").0.contains("another execution"));
}

#[test]
fn random_walks_find_the_deadlock_and_are_the_same_for_the_same_seed() {
    let walk = |seed| {
        let mut found = Vec::new();
        sample(&Config::default(), 50, seed, &abba, &mut |e| {
            found.push((e.schedule().to_string(), e.is_clean()));
            Continue(())
        });
        found
    };
    assert_eq!(walk(1), walk(1));
    assert_ne!(walk(1), walk(2));
    assert!(walk(1).iter().any(|(_, clean)| !clean));
}

/// The same with steps around that give room for preemptions.
fn padded() {
    let at = Location::caller();
    let (a, b, x) = (rt::lock_new(), rt::lock_new(), rt::atomic_new(0, 32));
    let both = move |first, second| {
        rt::load(x, Relaxed, at);
        rt::lock(first, at);
        rt::load(x, Relaxed, at);
        rt::lock(second, at);
        rt::unlock(second, at);
        rt::unlock(first, at);
    };
    rt::spawn(Box::new(move || both(a, b)), at);
    both(b, a);
}

#[test]
fn a_failure_is_minimised_to_the_fewest_preemptions() {
    let config = Config::default();
    let mut bad = None;
    sample(&config, 500, 3, &padded, &mut |e| {
        if matches!(e.end, End::Deadlock(_)) && e.preemptions() > 1 {
            bad = Some(e.schedule().clone());
            return Break(());
        }
        Continue(())
    });
    let bad = bad.expect("a failure with preemptions");
    let fails = &mut |e: &pollproof_explore::Execution<'_>| matches!(e.end, End::Deadlock(_));
    let least = minimise(&config, &padded, &bad, 10_000, fails).expect("it fails");
    assert_eq!((least.preemptions, least.minimal), (1, true));
    assert_eq!(minimise(&config, &padded, &bad, 10_000, fails), Some(least));
}

#[test]
fn what_threads_own_is_dropped_when_an_execution_is_given_up() {
    use std::rc::Rc;
    let at = Location::caller();
    let token = Rc::new(());
    let held = Rc::clone(&token);
    let program = move || {
        let x = rt::atomic_new(0, 32);
        let held = Rc::clone(&held);
        let body = move || {
            let _held = held;
            rt::wait(x, &|v| v == 1, Acquire, at);
        };
        rt::spawn(Box::new(body), at);
        rt::load(x, Relaxed, at);
    };
    explore(&Config::default(), &program, &mut |_| Continue(()));
    drop(program);
    assert_eq!(Rc::strong_count(&token), 1);
}
