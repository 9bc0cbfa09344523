//! Exact numbers of graphs of the hand-written scenarios under each memory model.

mod axioms;
#[path = "common/scenarios.rs"]
mod scenarios;

use axioms::graph::all;
use axioms::run::graphs;
use pollproof_explore::{explore, Config, Model, Reduction};
use scenarios::{hash, list, napi, qv_lock, ListOp::*};
use std::ops::ControlFlow::Continue;

/// Executions and blocked ones; each must end well.
fn counts(model: Model, program: &dyn Fn()) -> (u64, u64) {
    let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
    let summary = explore(&config, program, &mut |e| {
        assert!(e.is_clean(), "{:?} {:?}", e.end, e.races());
        Continue(())
    });
    assert!(summary.is_exhaustive());
    (summary.executions, summary.blocked)
}

#[test]
fn the_state_lock_has_the_known_counts_in_every_model() {
    for model in Model::ALL {
        assert_eq!(counts(model, &|| qv_lock(2, 1)), (4, 0));
        assert_eq!(counts(model, &|| qv_lock(3, 1)), (24, 0));
        assert_eq!(counts(model, &|| qv_lock(4, 1)), (192, 0));
        assert_eq!(counts(model, &|| qv_lock(2, 2)), (26, 0));
        assert_eq!(counts(model, &|| qv_lock(3, 2)), (1_620, 0));
    }
    assert_eq!(counts(Model::Sc, &|| qv_lock(3, 3)), (138_702, 0));
}

#[test]
fn the_list_has_the_known_counts() {
    for (ops, count) in [
        (&[Add, Lookup][..], 2),
        (&[Del, Lookup], 2),
        (&[Add, Del], 2),
        (&[Add, Del, Lookup], 6),
        (&[Add, Add, Lookup], 6),
        (&[Add, Del, Lookup, Lookup], 18),
        (&[Add, Add, Del, Lookup], 24),
    ] {
        assert_eq!(counts(Model::Sc, &|| list(ops, false)), (count, 0), "{ops:?}");
    }
}

/// The same program by the search over schedules: the classes are the graphs of SC.
fn classes(program: &dyn Fn()) -> u64 {
    let summary = explore(&Config::default(), program, &mut |_| Continue(()));
    assert!(summary.is_exhaustive());
    summary.executions
}

/// A lookup reads one shared word under its reader's lock, and the removal is one store: a reader
/// is before the grace period and sees the node or not, or comes after it and does not.
#[test]
fn the_hash_under_rcu_has_three_graphs_a_reader() {
    for (readers, count) in [(1, 3), (2, 9), (3, 27), (4, 81)] {
        assert_eq!(classes(&|| hash(readers)), count);
    }
    for model in Model::ALL {
        for (readers, count) in [(1, 3), (2, 9), (3, 27), (4, 81), (5, 243), (6, 729)] {
            assert_eq!(counts(model, &|| hash(readers)), (count, 0), "{readers} {model:?}");
        }
    }
}

#[test]
fn polling_has_more_graphs_where_updates_are_no_full_barriers() {
    for (events, numbers) in [(1, [3; 4]), (2, [18, 18, 20, 18])] {
        assert_eq!(classes(&|| napi(events)), numbers[0]);
        let found = Model::ALL.map(|model| counts(model, &|| napi(events)).0);
        assert_eq!(found, numbers, "{events}");
    }
}

/// The same scenarios as the oracle has them; its graphs, counted by brute force, are the optimum.
const PROVED: [(&str, [usize; 4]); 7] = [
    (HASH_1, [3, 3, 3, 3]),
    (HASH_2, [9, 9, 9, 9]),
    (HASH_3, [27, 27, 27, 27]),
    // A reader that looks twice.
    (HASH_TWICE_1, [4, 4, 4, 4]),
    (HASH_TWICE_2, [16, 16, 16, 16]),
    (NAPI_1, [5, 5, 5, 5]),
    (NAPI_2, [13, 13, 13, 13]),
];

const HASH_1: &str = "lock m; r.acq x; if 0 1; pr c; unlock m || w x 1; lock m; unlock m; pw c";
const HASH_2: &str = "lock m; r.acq x; if 0 1; pr c; unlock m || lock n; r.acq x; if 0 1; pr c; \
                      unlock n || w x 1; lock m; unlock m; lock n; unlock n; pw c";
const HASH_3: &str = "lock l; r.acq x; if 0 1; pr c; unlock l || lock m; r.acq x; if 0 1; pr c; \
                      unlock m || lock n; r.acq x; if 0 1; pr c; unlock n || w x 1; lock l; \
                      unlock l; lock m; unlock m; lock n; unlock n; pw c";
const HASH_TWICE_1: &str = "lock m; r.acq x; r.acq x; unlock m || w x 1; lock m; unlock m";
const HASH_TWICE_2: &str = "lock m; r.acq x; r.acq x; unlock m || lock n; r.acq x; r.acq x; \
                            unlock n || w x 1; lock m; unlock m; lock n; unlock n";
/// Work is added and the armed context scheduled; the poll takes the work, gives the context up and
/// arms again, then looks once more.
const NAPI_1: &str = "add.sc x 1; swap.sc y 0; if 1 1; w.rel z 1 || \
                      swap.sc x 0; w.rel z 0; swap.sc y 1; r.sc x";
const NAPI_2: &str =
    "add.sc x 1; swap.sc y 0; if 1 1; w.rel z 1; add.sc x 1; swap.sc y 0; if 1 1; \
                      w.rel z 1 || swap.sc x 0; w.rel z 0; swap.sc y 1; r.sc x";

/// Graphs on the way before brute force gives up.
const STATES: usize = 2_000_000;

#[test]
fn counts_are_the_optimum_that_brute_force_proves() {
    use axioms::models::Model as Axioms;
    let mut wrong = Vec::new();
    for (text, counts) in PROVED {
        let program = axioms::text::program(text);
        let models = [Axioms::Sc, Axioms::Tso, Axioms::Ra, Axioms::Rc11];
        for (model, count) in models.into_iter().zip(counts) {
            let run = graphs(&program, model);
            assert!(run.faults.is_empty() && run.complete.values().all(|&n| n == 1), "{text}");
            let brute = all(&program, model, STATES).expect("small enough").complete.len();
            if (run.complete.len(), brute) != (count, count) {
                wrong.push(format!(
                    "{model:?}: {} of {brute}, not {count}: {text}",
                    run.complete.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
