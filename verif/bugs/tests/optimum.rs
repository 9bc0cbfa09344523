//! The optimum of each scenario, where every single interleaving can be run: the explorer's number
//! of executions equals the number of classes of equivalent interleavings, each run once.

use pollproof_bench::run::{run, Change, Limits};
use pollproof_bench::scenario::EngineKind;
use pollproof_bugs::scenarios::{self, optimal};
use pollproof_engines::classes_explore;

/// Interleavings beyond which a scenario is too big to run each. All but a few of those that fit
/// have fewer than a thousand.
const INTERLEAVINGS_MAX: u64 = 41_000;

#[test]
fn executions_equal_the_classes_that_brute_force_counts() {
    let mut wrong = Vec::new();
    for scenario in scenarios::ALL {
        let classes = classes_explore(INTERLEAVINGS_MAX, scenario.body);
        let run = run(scenario, EngineKind::Explore, Change::default(), &Limits::default());
        let counted = classes.is_none_or(|n| n == run.executions);
        if !counted || classes != optimal(scenario.id) {
            let (id, told, executions) = (scenario.id, optimal(scenario.id), run.executions);
            wrong.push(format!("{id}: {classes:?} by force, {told:?} told, {executions} run"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
