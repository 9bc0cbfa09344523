//! The optimum of each scenario that is small enough to run every single interleaving: the
//! explorer's number of executions equals the number of classes of equivalent interleavings.

use pollproof_bench::run::{run, Change, Limits};
use pollproof_bench::scenario::EngineKind;
use pollproof_bugs::scenarios::{self, optimal};
use pollproof_engines::classes_explore;

/// Interleavings beyond which a scenario has no business in the table.
const INTERLEAVINGS_MAX: u64 = 400_000;

#[test]
fn executions_equal_the_classes_that_brute_force_counts() {
    let mut counted = 0;
    for scenario in scenarios::ALL {
        let Some(told) = optimal(scenario.id) else { continue };
        let classes = classes_explore(INTERLEAVINGS_MAX, scenario.body);
        assert_eq!(classes, Some(told), "{}: classes by brute force", scenario.id);
        let run = run(scenario, EngineKind::Explore, Change::default(), &Limits::default());
        assert_eq!(run.executions, told, "{}: executions of the explorer", scenario.id);
        counted += 1;
    }
    assert!(counted >= 20, "{counted} scenarios");
}
