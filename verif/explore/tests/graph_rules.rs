//! Rules of the search over graphs that random programs meet seldom or never: each test fails when
//! one of them is broken by hand.

mod axioms;

use axioms::compare::differences;
use axioms::models::MODELS;
use axioms::run::graphs;
use axioms::table::table;
use axioms::text;
use pollproof_explore::handles::start;
use pollproof_explore::rt::{self, Atomic, Ordering::*};
use pollproof_explore::{explore, Config, End, Model, Reduction, Summary};
use std::cell::Cell;
use std::ops::ControlFlow::Continue;
use std::panic::Location;
use std::rc::Rc;

/// Explores under a model; every execution must end well.
fn whole(model: Model, program: &dyn Fn()) -> Summary {
    let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
    let summary = explore(&config, program, &mut |e| {
        assert_eq!(e.end, End::Complete, "{model:?}");
        Continue(())
    });
    assert!(summary.is_exhaustive());
    summary
}

#[test]
fn a_child_sees_what_its_parent_did_before() {
    for model in Model::ALL {
        whole(model, &|| {
            let x = Atomic::new(0);
            x.store(1, Relaxed);
            let child = start(move || assert_eq!(x.load(Relaxed), 1));
            child.join();
        });
    }
}

#[test]
fn who_joins_a_thread_sees_what_it_did() {
    for model in Model::ALL {
        whole(model, &|| {
            let x = Atomic::new(0);
            let child = start(move || x.store(1, Relaxed));
            child.join();
            assert_eq!(x.load(Relaxed), 1);
        });
    }
}

#[test]
fn what_came_before_a_rest_is_seen_by_all_after_it() {
    for model in Model::ALL {
        whole(model, &|| {
            let (x, y, go) = (Atomic::new(0), Atomic::new(0), Atomic::new(0));
            let writer = start(move || x.store(1, Relaxed));
            let waiter = start(move || {
                // Its own store waits in a buffer no longer, either.
                y.store(1, Relaxed);
                go.wait(Relaxed, |v| v == 1);
                assert_eq!(x.load(Relaxed), 1, "{model:?}");
            });
            rt::rest(Location::caller());
            assert_eq!((x.load(Relaxed), y.load(Relaxed)), (1, 1), "{model:?}");
            go.store(1, Relaxed);
            writer.join();
            waiter.join();
        });
    }
}

#[test]
fn a_loop_that_looked_at_an_old_value_is_not_stuck() {
    for model in Model::ALL {
        whole(model, &|| {
            let (x, y) = (Atomic::new(0), Atomic::new(0));
            let waiter = start(move || {
                while x.load(Acquire) & y.load(Acquire) == 0 {
                    rt::yield_now(Location::caller());
                }
            });
            y.store(1, Release);
            x.store(1, Release);
            waiter.join();
        });
    }
}

/// Programs that tell a rule from a broken one.
const TELLING: [&str; 6] = [
    // A load passes the unlock before it.
    "lock l; w x 1; unlock l; r y || w y 1; f.sc; r x",
    // What a stored graph knows of a read of an own store, which waits in the buffer.
    "w y 1; f.sc; r x || w x 1; r x; choose 2; r y",
    // The second update succeeds with a value that it may only see when it fails.
    "w x 2; w y 1 || w y 2; cas x 1 2 || w x 1",
    // A read that is given another source closes a cycle of SC accesses.
    "w.sc x 1; r.sc y || w.sc y 1; r.sc x || w x 2",
    "w x 1; f.sc; r y || w y 1; f.sc; r x || w x 2",
    // Three in the queue of a lock.
    "lock l; unlock l || lock l; unlock l || lock l; unlock l",
];

#[test]
fn programs_that_tell_rules_apart_have_the_graphs_of_the_oracle() {
    for text in TELLING {
        for model in MODELS {
            let lines = differences(&text::program(text), model, &|p| graphs(p, model));
            assert_eq!(lines, Some(vec![]), "{model:?}: {text}");
        }
    }
}

/// Where nobody waits, a graph is hardly ever begun that cannot be finished.
#[test]
fn no_graph_is_begun_in_vain() {
    let waits = |text: &str| ["await", "differ", "lock"].iter().any(|verb| text.contains(verb));
    for test in table().iter().filter(|t| !waits(&t.program.to_string())) {
        for model in MODELS {
            let blocked = graphs(&test.program, model).blocked;
            assert_eq!(blocked, 0, "{} {model:?}", test.name);
        }
    }
    // An update may not see on x86 what a load in its place may.
    let update = text::program("w x 2; w y 1 || w x 1 || w y 2; cas x 1 2");
    assert!(MODELS.iter().all(|&model| graphs(&update, model).blocked == 0));
}

#[test]
fn a_wait_that_no_store_can_end_is_given_up_before_others_run() {
    // The wait is woken, then given a value that was replaced before: one graph, whatever `y` does.
    let waits = text::program("w x 1 || await x 1 || w x 2 || w y 1 || w y 2");
    for model in MODELS {
        let run = graphs(&waits, model);
        assert_eq!((run.complete.len(), run.blocked), (4, 1), "{model:?}");
    }
}

/// Whether both loads of a program can see 0.
fn both_see_nothing(program: &dyn Fn(&Rc<Cell<u64>>)) -> bool {
    let seen = Rc::new(Cell::new(0));
    let config = Config { reduction: Reduction::Graphs, model: Model::Rc11, ..Config::default() };
    let mut both = false;
    let body = || {
        seen.set(0);
        program(&seen);
    };
    let summary = explore(&config, &body, &mut |_| {
        both |= seen.get() == 0;
        Continue(())
    });
    assert!(summary.is_exhaustive());
    both
}

fn add(sum: &Cell<u64>, value: u64) {
    sum.set(sum.get() + value);
}

#[test]
fn the_order_of_seqcst_accesses_goes_through_joins() {
    assert!(!both_see_nothing(&|seen| {
        let (x, y) = (Atomic::new(0), Atomic::new(0));
        let one = start(move || x.store(1, SeqCst));
        let see = Rc::clone(seen);
        let two = start(move || {
            y.store(1, SeqCst);
            add(&see, x.load(SeqCst));
        });
        one.join();
        add(seen, y.load(SeqCst));
        two.join();
    }));
}

#[test]
fn the_order_of_seqcst_accesses_goes_through_starts() {
    assert!(!both_see_nothing(&|seen| {
        let (x, y) = (Atomic::new(0), Atomic::new(0));
        let see = Rc::clone(seen);
        let two = start(move || {
            y.store(1, SeqCst);
            add(&see, x.load(SeqCst));
        });
        x.store(1, SeqCst);
        let see = Rc::clone(seen);
        let one = start(move || add(&see, y.load(SeqCst)));
        one.join();
        two.join();
    }));
}

#[test]
fn a_loop_that_read_old_values_is_given_up_before_others_run() {
    let config = Config { reduction: Reduction::Graphs, ..Config::default() };
    let ran = Rc::new(Cell::new(0));
    let program = || {
        let (x, y) = (Atomic::new(0), Atomic::new(0));
        let waiter = start(move || {
            while x.load(Acquire) != 3 {
                rt::yield_now(Location::caller());
            }
        });
        let count = Rc::clone(&ran);
        let other = start(move || {
            y.store(1, Relaxed);
            add(&count, 1);
        });
        (1..=3).for_each(|i| x.store(i, Release));
        waiter.join();
        other.join();
    };
    let summary = explore(&config, &program, &mut |_| Continue(()));
    assert!(summary.is_exhaustive() && summary.blocked > 0, "{summary:?}");
    assert_eq!(ran.get(), summary.executions);
}

#[test]
fn a_graph_that_outgrows_its_sets_at_rest_is_not_searched_twice() {
    // Two threads may have seen a value that is gone; the filling moves the moment at which they
    // are looked at over the end of the narrowest sets.
    let count = |filling: u64| {
        let config = Config { reduction: Reduction::Graphs, ..Config::default() };
        let program = || {
            let (x, y) = (Atomic::new(0), Atomic::new(0));
            let waits = move || {
                x.wait(Acquire, |v| v == 1);
            };
            let (_one, _two) = (start(waits), start(waits));
            (0..filling).for_each(|i| y.store(i, Relaxed));
            x.store(1, Release);
            x.store(0, Release);
        };
        let summary = explore(&config, &program, &mut |_| Continue(()));
        assert!(summary.is_exhaustive());
        summary.executions
    };
    let few = count(0);
    assert!((50..66).all(|filling| count(filling) == few), "{few}");
}
