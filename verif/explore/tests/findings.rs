//! Planted faults are found wherever the threads run, and what is found can be replayed.

use pollproof_explore::rt::{self, Ordering, Ordering::*};
use pollproof_explore::{
    explore, minimise, replay, sample, Config, Coverage, End, Limit, Schedule, StepKind, What,
};
use std::ops::ControlFlow::{Break, Continue};
use std::panic::Location;

/// First finding of a search: its text and its schedule.
fn find(program: &dyn Fn()) -> Option<(String, Schedule)> {
    let mut found = None;
    let summary = explore(&Config::default(), program, &mut |e| {
        if e.is_clean() {
            return Continue(());
        }
        let races: Vec<_> = e.races.iter().map(ToString::to_string).collect();
        found = Some((format!("{:?} {}", e.end, races.join("; ")), e.schedule.clone()));
        Break(())
    });
    assert!(found.is_some() || summary.is_exhaustive());
    found
}

/// Runs `a` and `b` in every placement: one on the main thread or both children, in either order.
fn placements(run: &dyn Fn(usize)) {
    (0..4).for_each(run);
}

fn place(placement: usize, a: Box<dyn FnOnce()>, b: Box<dyn FnOnce()>) {
    let at = Location::caller();
    let (first, second) = if placement & 1 == 0 { (a, b) } else { (b, a) };
    let child = rt::spawn(first, at);
    if placement & 2 == 0 {
        second();
    } else {
        rt::spawn(second, at);
    }
    rt::join(child, at);
}

#[test]
fn an_own_earlier_load_does_not_hide_a_store_from_another_load() {
    let at = Location::caller();
    for planted in [0, 1] {
        placements(&|placement| {
            let found = find(&|| {
                let x = rt::atomic_new(0, 32);
                let a = move || {
                    rt::load(x, Relaxed, at);
                    rt::store(x, 1, Relaxed, at);
                };
                let b = move || assert_ne!(rt::load(x, Relaxed, at), planted, "planted");
                place(placement, Box::new(a), Box::new(b));
            });
            let (text, _) = found.expect("found");
            assert!(text.contains("planted") && text.contains("findings.rs:"), "{text}");
        });
    }
}

#[test]
fn a_node_published_before_its_data_is_found_with_the_lookup_on_any_thread() {
    let at = Location::caller();
    placements(&|placement| {
        let found = find(&|| {
            let (head, data) = (rt::atomic_new(0, 32), rt::atomic_new(0, 32));
            let add = move || {
                rt::load(head, Relaxed, at);
                rt::store(head, 1, Release, at);
                rt::store(data, 7, Relaxed, at);
            };
            let lookup = move || {
                if rt::load(head, Acquire, at) == 1 {
                    assert_eq!(rt::load(data, Relaxed, at), 7, "not initialised");
                }
            };
            place(placement, Box::new(add), Box::new(lookup));
        });
        assert!(found.expect("found").0.contains("not initialised"));
    });
}

const DATA: What = What { rule: "PUBLISH", name: "data" };

/// Message passing; fences stand before the store and after the load.
fn message(store: Ordering, load: Ordering, fences: [Option<Ordering>; 2]) -> Option<String> {
    let at = Location::caller();
    find(&|| {
        let flag = rt::atomic_new(0, 32);
        let data = rt::plain_new(DATA, at);
        rt::spawn(
            Box::new(move || {
                rt::write(data, at);
                fences[0].into_iter().for_each(rt::fence);
                rt::store(flag, 1, store, at);
            }),
            at,
        );
        rt::wait(flag, &|v| v == 1, load, at);
        fences[1].into_iter().for_each(rt::fence);
        rt::read(data, at);
    })
    .map(|found| found.0)
}

#[test]
fn message_passing_races_unless_both_sides_are_ordered() {
    assert_eq!(message(Release, Acquire, [None; 2]), None);
    assert_eq!(message(SeqCst, SeqCst, [None; 2]), None);
    assert_eq!(message(Relaxed, Acquire, [Some(Release), None]), None);
    assert_eq!(message(Release, Relaxed, [None, Some(Acquire)]), None);
    assert_eq!(message(Relaxed, Relaxed, [Some(AcqRel), Some(SeqCst)]), None);
    for (store, load, fences) in [
        (Relaxed, Acquire, [None; 2]),
        (Release, Relaxed, [None; 2]),
        (Relaxed, Acquire, [Some(Acquire), None]),
        (Release, Relaxed, [None, Some(Release)]),
    ] {
        let text = message(store, load, fences).expect("a race");
        assert!(text.contains("PUBLISH: race on data: write by T1"), "{text}");
    }
}

#[test]
fn a_release_sequence_goes_on_through_rmw_and_ends_at_a_store() {
    let at = Location::caller();
    let run = |rmw: bool| {
        find(&|| {
            let flag = rt::atomic_new(0, 32);
            let data = rt::plain_new(DATA, at);
            let writer = move || {
                rt::write(data, at);
                rt::store(flag, 1, Release, at);
            };
            rt::spawn(Box::new(writer), at);
            let middle = move || {
                rt::wait(flag, &|v| v == 1, Relaxed, at);
                if rmw {
                    rt::rmw(flag, |v| v + 1, Relaxed, at);
                } else {
                    rt::store(flag, 2, Relaxed, at);
                }
            };
            rt::spawn(Box::new(middle), at);
            rt::wait(flag, &|v| v == 2, Acquire, at);
            rt::read(data, at);
        })
    };
    assert_eq!(run(true), None);
    assert!(run(false).expect("a race").0.contains("PUBLISH"));
}

#[test]
fn spawn_join_and_locks_order_plain_accesses() {
    let at = Location::caller();
    let clean = find(&|| {
        let (lock, data) = (rt::lock_new(), rt::plain_new(DATA, at));
        rt::write(data, at);
        let body = move || {
            rt::lock(lock, at);
            rt::write(data, at);
            rt::unlock(lock, at);
        };
        let children = [rt::spawn(Box::new(body), at), rt::spawn(Box::new(body), at)];
        children.into_iter().for_each(|c| rt::join(c, at));
        rt::read(data, at);
    });
    assert_eq!(clean, None);
    let early = find(&|| {
        let data = rt::plain_new(DATA, at);
        let child = rt::spawn(Box::new(move || rt::write(data, at)), at);
        rt::read(data, at);
        rt::join(child, at);
    });
    assert!(early.is_some());
}

fn abba() {
    let at = Location::caller();
    let (a, b) = (rt::lock_new(), rt::lock_new());
    let both = move |x, y| {
        rt::lock(x, at);
        rt::lock(y, at);
        rt::unlock(y, at);
        rt::unlock(x, at);
    };
    rt::spawn(Box::new(move || both(a, b)), at);
    both(b, a);
}

#[test]
fn locks_in_opposite_order_deadlock() {
    let mut found = None;
    explore(&Config::default(), &abba, &mut |e| match &e.end {
        End::Deadlock(threads) => {
            found = Some(threads.clone());
            Break(())
        }
        _ => Continue(()),
    });
    let threads = found.expect("a deadlock");
    assert_eq!(threads.len(), 2);
    assert!(threads.iter().all(|t| t.kind == StepKind::Lock));
}

#[test]
fn a_lock_taken_twice_by_its_holder_is_a_deadlock() {
    let at = Location::caller();
    let found = find(&|| {
        let lock = rt::lock_new();
        rt::lock(lock, at);
        rt::lock(lock, at);
    });
    assert!(found.expect("found").0.contains("Deadlock"));
}

#[test]
fn a_wait_that_nobody_satisfies_is_a_deadlock_with_its_place() {
    let at = Location::caller();
    let mut blocked = Vec::new();
    explore(
        &Config::default(),
        &|| {
            let x = rt::atomic_new(0, 32);
            rt::wait(x, &|v| v == 3, Acquire, at);
        },
        &mut |e| {
            if let End::Deadlock(threads) = &e.end {
                blocked = threads.clone();
            }
            Continue(())
        },
    );
    assert_eq!(blocked.len(), 1);
    assert_eq!((blocked[0].kind, blocked[0].at), (StepKind::Wait, at));
}

#[test]
fn a_replay_gives_the_same_trace_twice() {
    let (_, schedule) = find(&abba).expect("found");
    let token = schedule.to_string();
    let parsed: Schedule = token.parse().expect("its own token");
    assert_eq!(parsed, schedule);
    let trace = || {
        let mut lines = Vec::new();
        replay(&Config::default(), &parsed, &abba, &mut |e| {
            lines.extend(e.steps.iter().map(ToString::to_string));
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
fn random_walks_find_the_deadlock_and_are_the_same_for_the_same_seed() {
    let walk = |seed| {
        let mut found = Vec::new();
        sample(&Config::default(), 50, seed, &abba, &mut |e| {
            found.push((e.schedule.to_string(), e.is_clean()));
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
        if matches!(e.end, End::Deadlock(_)) && e.preemptions > 1 {
            bad = Some(e.schedule.clone());
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
