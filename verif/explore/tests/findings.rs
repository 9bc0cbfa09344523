//! What the search over schedules finds: races by the orders of C11, and deadlocks with places.

#[path = "common/faults.rs"]
mod faults;

use faults::{abba, find};
use pollproof_explore::rt::{self, Ordering, Ordering::*};
use pollproof_explore::{explore, Config, End, StepKind, What};
use std::ops::ControlFlow::{Break, Continue};
use std::panic::Location;

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
