//! Exact numbers of graphs of the hand-written scenarios under each memory model.

#[path = "common/scenarios.rs"]
mod scenarios;

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

#[test]
fn readers_and_a_grace_period_have_the_same_count_in_every_model() {
    for (readers, count) in [(1, 3), (2, 9), (3, 27), (4, 81)] {
        assert_eq!(classes(&|| hash(readers)), count);
        for model in Model::ALL {
            assert_eq!(counts(model, &|| hash(readers)), (count, 0), "{model:?} {readers}");
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
