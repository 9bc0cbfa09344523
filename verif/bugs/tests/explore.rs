//! Every story both ways, every scenario under every engine it is meant for, every question; and
//! the explorer's results against every single interleaving where there are few enough.

use pollproof_bench::run::{run, Change, Limits, Run};
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_bench::Verdict;
use pollproof_bugs::check::decide;
use pollproof_bugs::token::{replay_token, token};
use pollproof_bugs::{questions, scenarios, stories};
use pollproof_engines::{check_explore, AtEnd, Config, Ended};
use pollproof_events::{with_visitor, Record};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

fn summary(run: &Run) -> String {
    let found = run.found.as_ref().map(|f| (f.rule, &f.message, &f.others));
    let Run { executions, verdict, unreached, .. } = run;
    let (id, engine) = (run.scenario.id, run.engine.name());
    format!("{id} under {engine}: {executions} executions, {verdict}, {found:?}, {unreached:?}")
}

/// What the engine must say of a scenario without a finding.
fn is_expected(scenario: &Scenario, engine: EngineKind, verdict: &Verdict) -> bool {
    match engine {
        engine if engine.search().is_some() => *verdict == Verdict::Exhaustive,
        EngineKind::Loom if scenario.loom_preemptions.is_none() => *verdict == Verdict::Exhaustive,
        EngineKind::Loom => matches!(verdict, Verdict::Bounded(_)),
        _ => matches!(verdict, Verdict::Sampled { .. }),
    }
}

/// The same, and the same twice: what a token gives.
fn replays(run: &Run, bug: &str) -> Result<(), String> {
    let token = token(run, bug, &Limits::default()).ok_or("no token")?;
    let again = || replay_token(&token).map_err(|e| e.to_string());
    let ((first, named), (second, _)) = (again()?, again()?);
    let story =
        |r: &Run| r.found.as_ref().map(|f| (f.rule, format!("{:?}{:?}", f.records, f.trace)));
    match (story(&first), story(&second), run.found.as_ref().map(|f| f.rule)) {
        (one, two, _) if one != two => Err(format!("{token} gives two things")),
        (Some((rule, _)), _, Some(of)) if rule == of && named == bug => Ok(()),
        (other, ..) => Err(format!("{token} gives {:?}", other.map(|o| o.0))),
    }
}

#[test]
fn every_story_is_caught_by_its_rule_and_replays_from_its_token() {
    let mut missed = Vec::new();
    for story in stories::ALL {
        let change = Change { bug: story.id, ..Change::default() };
        let run = run(story.scenario, story.engine, change, &Limits::default());
        if !run.breaks(story.rule) {
            missed.push(format!("{} ({}): {}", story.id, story.rule, summary(&run)));
        } else if let Err(why) = replays(&run, story.id) {
            missed.push(format!("{}: {why}", story.id));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_storys_scenario_is_clean_without_its_bug() {
    let mut seen = BTreeSet::new();
    for story in stories::ALL {
        if seen.insert((story.scenario.id, story.engine)) {
            let run = run(story.scenario, story.engine, Change::default(), &Limits::default());
            let well = run.is_clean() && is_expected(story.scenario, story.engine, &run.verdict);
            assert!(well, "{}", summary(&run));
        }
    }
}

fn clean_under(engine: EngineKind) {
    for scenario in scenarios::ALL.iter().filter(|s| s.engines.contains(&engine)) {
        let run = run(scenario, engine, Change::default(), &Limits::default());
        assert!(run.is_clean(), "{}", summary(&run));
        assert!(is_expected(scenario, engine, &run.verdict), "{}", summary(&run));
    }
}

#[test]
fn every_scenario_is_clean_and_exhaustive_under_explore() {
    clean_under(EngineKind::Explore);
}

#[test]
fn every_scenario_is_clean_and_exhaustive_under_tso() {
    clean_under(EngineKind::ExploreTso);
}

#[test]
fn every_scenario_is_clean_and_exhaustive_under_rc11() {
    clean_under(EngineKind::ExploreRc11);
}

#[test]
fn every_scenario_is_clean_and_exhaustive_over_schedules() {
    clean_under(EngineKind::Schedules);
}

#[test]
fn every_scenario_for_loom_is_clean_under_loom() {
    clean_under(EngineKind::Loom);
}

#[test]
fn every_scenario_for_shuttle_is_clean_under_shuttle() {
    clean_under(EngineKind::Shuttle);
}

#[test]
fn every_question_has_the_answer_that_it_is_said_to_have() {
    for question in questions::ALL {
        let run = decide(question, &Limits::default());
        assert_eq!(run.breaks(question.rule), question.answer, "{}", summary(&run));
        if question.answer {
            assert_eq!(replays(&run, ""), Ok(()), "{}", question.id);
        }
    }
}

/// What each thread did and saw, in its own order: equal for executions that are equivalent.
type Seen = BTreeMap<usize, Vec<String>>;

fn seen(records: &[Record]) -> Seen {
    let mut seen = Seen::new();
    for record in records {
        let told = format!("{:?} {:?}", record.event, record.context);
        seen.entry(record.thread).or_default().push(told);
    }
    seen
}

/// All that the executions of a scenario show, their number, and how far it came.
fn outcomes(scenario: &Scenario, config: Config) -> (BTreeSet<Seen>, u64, Verdict) {
    let records: Rc<RefCell<Vec<Record>>> = Rc::default();
    let all: Rc<RefCell<BTreeSet<Seen>>> = Rc::default();
    let (begun, ended, kept, body) = (records.clone(), records.clone(), all.clone(), scenario.body);
    let program = move || {
        begun.borrow_mut().clear();
        body();
    };
    let at_end: AtEnd = Box::new(move |_: &Ended<'_>| {
        kept.borrow_mut().insert(seen(&ended.borrow()));
        None
    });
    let outcome = with_visitor(records, || check_explore(&config, program, at_end));
    assert_eq!(outcome.finding, None, "{}", scenario.id);
    let all = all.take();
    (all, outcome.executions, outcome.verdict)
}

/// Interleavings beyond which a scenario is too big to try each.
const BRUTE_MAX: u64 = 1_000;
/// Scenarios that are worth more.
const MORE: (&[&str], u64) = (&["busy/disable", "mlx4/budget-race"], 6_000);

#[test]
fn the_search_shows_all_that_every_single_interleaving_shows() {
    let mut judged = Vec::new();
    for scenario in scenarios::ALL.iter().filter(|s| s.engines.contains(&EngineKind::Explore)) {
        let max = if MORE.0.contains(&scenario.id) { MORE.1 } else { BRUTE_MAX };
        // Each of our executions stands for an interleaving at least, most for many.
        let few = Config { max_executions: max / 4, ..Config::default() };
        let (ours, executions, verdict) = outcomes(scenario, few);
        if matches!(verdict, Verdict::Unknown(_)) {
            continue;
        }
        // A bound that nothing reaches: every interleaving, not reduced.
        let every =
            Config { max_executions: max, preemption_bound: Some(u32::MAX), ..Config::default() };
        let (all, brute, complete) = outcomes(scenario, every);
        if matches!(complete, Verdict::Unknown(_)) {
            continue;
        }
        assert_eq!(verdict, Verdict::Exhaustive, "{}", scenario.id);
        assert!(ours == all, "{}: {} of {} outcomes", scenario.id, ours.len(), all.len());
        assert!(executions <= brute && executions >= all.len() as u64, "{}", scenario.id);
        judged.push((scenario.id, all.len(), executions, brute));
    }
    println!("scenario, outcomes, executions, interleavings: {judged:#?}");
    assert!(judged.len() >= 30, "{judged:?}");
}
