//! Threads that wait: loops that end, loops that never do, and what is not to be taken for one.

use pollproof_explore::handles::start;
use pollproof_explore::rt::{self, Atomic, Ordering::*};
use pollproof_explore::{explore, Config, End, Model, Reduction, StepKind};
use std::ops::ControlFlow::Continue;
use std::panic::Location;

/// Executions, blocked ones, and those that end with threads that wait for ever.
fn ends(model: Model, program: &dyn Fn()) -> (u64, u64, u64) {
    let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
    let mut stuck = 0;
    let summary = explore(&config, program, &mut |e| {
        match &e.end {
            End::Complete => {}
            End::Deadlock(threads) => {
                assert!(threads.iter().any(|t| t.kind == StepKind::Load), "{threads:?}");
                stuck += 1;
            }
            other => panic!("{other:?}"),
        }
        Continue(())
    });
    assert!(summary.is_exhaustive());
    (summary.executions, summary.blocked, stuck)
}

fn spin(until: impl Fn() -> bool) {
    while !until() {
        rt::yield_now(Location::caller());
    }
}

#[test]
fn a_loop_that_waits_for_a_store_ends() {
    for model in Model::ALL {
        let (executions, _, stuck) = ends(model, &|| {
            let x = Atomic::new(0);
            let waiter = start(move || spin(|| x.load(Acquire) == 1));
            x.store(1, Release);
            waiter.join();
        });
        // It sees the store at once, or after one look in vain.
        assert_eq!((executions, stuck), (2, 0), "{model:?}");
    }
}

#[test]
fn a_loop_on_two_values_ends() {
    for model in Model::ALL {
        let (executions, _, stuck) = ends(model, &|| {
            let (x, y) = (Atomic::new(0), Atomic::new(0));
            let waiter = start(move || spin(|| x.load(Acquire) == 1 && y.load(Acquire) == 1));
            let other = start(move || y.store(1, Release));
            x.store(1, Release);
            other.join();
            waiter.join();
        });
        assert!(executions >= 3 && stuck == 0, "{model:?} {executions}");
    }
}

#[test]
fn a_loop_whose_value_goes_away_is_a_livelock() {
    for model in Model::ALL {
        let (_, _, stuck) = ends(model, &|| {
            let x = Atomic::new(0);
            let waiter = start(move || spin(|| x.load(Acquire) == 1));
            x.store(1, Release);
            x.store(0, Release);
            waiter.join();
        });
        assert!(stuck > 0, "{model:?}");
    }
}

#[test]
fn two_that_wait_for_each_other_are_a_livelock() {
    let (_, _, stuck) = ends(Model::Sc, &|| {
        let (x, y) = (Atomic::new(0), Atomic::new(0));
        let one = start(move || {
            spin(|| x.load(Acquire) == 1);
            y.store(1, Release);
        });
        let two = start(move || {
            spin(|| y.load(Acquire) == 1);
            x.store(1, Release);
        });
        one.join();
        two.join();
    });
    assert_eq!(stuck, 1);
}

#[test]
fn a_spinlock_of_compare_exchange_excludes() {
    for model in Model::ALL {
        let (executions, _, stuck) = ends(model, &|| {
            let lock = Atomic::new(0);
            let data = pollproof_explore::rt::Plain::new("data");
            let body = move || {
                spin(|| lock.compare_exchange(0, 1, Acquire, Relaxed).is_ok());
                data.read();
                data.write();
                lock.store(0, Release);
            };
            let other = start(body);
            body();
            other.join();
        });
        assert!(executions >= 2 && stuck == 0, "{model:?}");
    }
}

#[test]
fn a_loop_with_an_effect_is_cut_and_not_taken_for_waiting() {
    let config = Config { reduction: Reduction::Graphs, max_steps: 50, ..Config::default() };
    let summary = explore(
        &config,
        &|| {
            let x = Atomic::new(0);
            let waiter = start(move || spin(|| x.fetch_add(2, AcqRel) == 1));
            waiter.join();
        },
        &mut |_| Continue(()),
    );
    assert!(!summary.is_exhaustive());
}

#[test]
fn what_a_thread_assumes_is_not_looked_at_otherwise() {
    for model in Model::ALL {
        let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
        let mut ended = 0;
        let program = || {
            let x = Atomic::new(0);
            let reader = start(move || rt::assume(x.load(Acquire) == 1, Location::caller()));
            x.store(1, Release);
            reader.join();
        };
        let summary = explore(&config, &program, &mut |e| {
            assert_eq!(e.end, End::Complete);
            ended += 1;
            Continue(())
        });
        assert_eq!((ended, summary.blocked), (1, 1));
    }
}

#[test]
fn resting_threads_are_woken_by_what_comes_after() {
    let at = Location::caller();
    for model in Model::ALL {
        let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
        let program = move || {
            let (x, y) = (Atomic::new(0), Atomic::new(0));
            // Both wait for what comes only after the rest; the second passes through a value that
            // the first one may have seen on the way.
            let one = start(move || {
                x.wait(Acquire, |v| v >= 1);
                y.fetch_add(1, AcqRel);
                x.wait(Acquire, |v| v == 3);
            });
            let two = start(move || spin(|| y.load(Acquire) == 9));
            x.store(1, Release);
            rt::rest(at);
            assert_eq!(y.load(Relaxed), 1, "the first one has come to rest");
            x.store(3, Release);
            y.store(9, Release);
            one.join();
            two.join();
        };
        let summary = explore(&config, &program, &mut |e| {
            assert!(e.is_clean(), "{model:?} {:?}", e.end);
            Continue(())
        });
        assert!(summary.is_exhaustive() && summary.executions >= 1, "{model:?} {summary:?}");
    }
}

#[test]
fn a_graph_that_is_too_big_is_told_and_its_races_too() {
    let config = Config { reduction: Reduction::Graphs, model: Model::Rc11, ..Config::default() };
    let mut told = 0;
    let program = || {
        let x = Atomic::new(0);
        let data = pollproof_explore::rt::Plain::new("data");
        let other = start(move || data.write());
        data.write();
        for i in 0..2_000 {
            x.store(i, Relaxed);
        }
        other.join();
    };
    let summary = explore(&config, &program, &mut |e| {
        told += 1;
        assert!(matches!(e.end, End::Limit(_)) && !e.races().is_empty(), "{:?}", e.end);
        assert!(e.steps().len() > 900);
        Continue(())
    });
    assert_eq!((told, summary.is_exhaustive()), (1, false));
}
