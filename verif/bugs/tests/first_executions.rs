//! The first executions of every scenario: a quick look before the whole search, and what line
//! coverage is measured by.

use pollproof_bench::run::{run, Change, Limits};
use pollproof_bench::scenario::EngineKind;
use pollproof_bench::Verdict;
use pollproof_bugs::scenarios;

#[test]
fn the_first_executions_of_every_scenario_break_no_rule() {
    let limits = Limits { max_executions: 60, ..Limits::default() };
    for scenario in scenarios::ALL.iter().filter(|s| s.engines.contains(&EngineKind::Explore)) {
        let run = run(scenario, EngineKind::Explore, Change::default(), &limits);
        let found = run.found.as_ref().map(|f| (f.rule, &f.message));
        assert_eq!(found, None, "{}", scenario.id);
        let ended = run.executions > 0 || run.blocked > 0;
        assert!(ended, "{}: nothing ran", scenario.id);
        let cut = matches!(run.verdict, Verdict::Unknown(_));
        assert!(cut || run.verdict == Verdict::Exhaustive, "{}: {}", scenario.id, run.verdict);
    }
}
