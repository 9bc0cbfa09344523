//! What the first thread does before it starts another is no step: it is before all else.

use pollproof_explore::handles::start;
use pollproof_explore::rt::{Atomic, Lock, Ordering::*};
use pollproof_explore::{explore, Config, End, Limit, Model, Reduction, Summary};
use std::cell::Cell;
use std::ops::ControlFlow::Continue;

/// Every search there is.
fn searches() -> impl Iterator<Item = Config> {
    let graphs = |model| Config { reduction: Reduction::Graphs, model, ..Config::default() };
    let dpor = Config { reduction: Reduction::Dpor, ..Config::default() };
    Model::ALL.into_iter().map(graphs).chain([dpor])
}

/// Explores; every execution must end as told.
fn ends(config: &Config, program: &dyn Fn(), as_told: &dyn Fn(&End) -> bool) -> Summary {
    let summary = explore(config, program, &mut |e| {
        assert!(as_told(&e.end), "{config:?}: {:?}", e.end);
        Continue(())
    });
    assert!(summary.executions > 0);
    summary
}

#[test]
fn thousands_of_operations_before_the_first_start_cost_no_steps() {
    for config in searches() {
        let most = Cell::new(0);
        let summary = explore(
            &config,
            &|| {
                let (x, lock) = (Atomic::new(0), Lock::new());
                for n in 0..5_000 {
                    lock.with(|| x.fetch_add(1, SeqCst));
                    assert_eq!(x.wait(Acquire, |v| v > n), n + 1);
                }
                assert_eq!(x.compare_exchange(7, 1, SeqCst, Relaxed), Err(5_000));
                x.store(u64::MAX, Release);
                let child = start(move || assert_eq!(x.load(Relaxed), u64::MAX));
                x.load(Relaxed);
                child.join();
            },
            &mut |e| {
                assert_eq!(e.end, End::Complete, "{config:?}");
                most.set(most.get().max(e.steps().len()));
                Continue(())
            },
        );
        assert_eq!(summary.executions, 1, "{config:?}");
        assert_eq!(most.get(), 3, "{config:?}: two loads and a join");
    }
}

#[test]
fn a_lock_that_is_held_when_others_start_keeps_them_out() {
    for config in searches() {
        ends(
            &config,
            &|| {
                let (x, lock) = (Atomic::new(0), Lock::new());
                lock.with(|| ());
                let child = lock.with(|| {
                    let child = start(move || lock.with(|| assert_eq!(x.load(Relaxed), 1)));
                    x.store(1, Relaxed);
                    child
                });
                child.join();
            },
            &|end| *end == End::Complete,
        );
    }
}

#[test]
fn a_thread_that_is_alone_can_still_get_stuck() {
    for config in searches() {
        let stuck = |end: &End| matches!(end, End::Deadlock(_));
        ends(
            &config,
            &|| {
                Atomic::new(0).wait(Relaxed, |v| v == 1);
            },
            &stuck,
        );
        ends(
            &config,
            &|| {
                let lock = Lock::new();
                lock.with(|| lock.with(|| ()));
            },
            &stuck,
        );
    }
}

#[test]
fn a_thread_that_is_alone_and_never_ends_is_cut() {
    for config in searches() {
        let x = |x: Atomic| loop {
            x.load(Relaxed);
        };
        ends(&config, &|| x(Atomic::new(0)), &|end| *end == End::Limit(Limit::Steps));
    }
}
