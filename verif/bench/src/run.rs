//! Runs a scenario under an engine with all rules watching, and makes what is found readable.

use crate::scenario::{EngineKind, Scenario};
use pollproof_engines::{
    check_explore, check_loom, check_shuttle, minimise_explore, replay_explore, smallest_explore,
    AtEnd, Config, EngineFinding, Model, Outcome, Token, TraceLine, Verdict, Walk,
};
use pollproof_events::{with_visitor, Record};
use pollproof_rules::{Finding, Judge};
use pollproof_sync::switch::{with_bug, without_site, Site};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Limits of a run. What hits one is UNKNOWN, never a pass.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions of explore and loom.
    pub max_executions: u64,
    /// Executions of shuttle.
    pub samples: u64,
    /// Seed of shuttle.
    pub seed: u64,
    /// Executions spent on making a counterexample smaller.
    pub minimise: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_executions: 400_000, samples: 500, seed: 7, minimise: 3_000 }
    }
}

/// What is changed in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Documented bug that is switched on; `""` is none.
    pub bug: &'static str,
    /// Barrier or ordering that is taken out.
    pub site: Option<Site>,
    /// Looks for this rule alone among those that judge events: for a question about one of them
    /// in a scenario that breaks others too.
    pub only: Option<&'static str>,
    /// Races are no findings (under explore).
    pub ignore_races: bool,
    /// Every interleaving with at most so many preemptions, not reduced (under explore).
    pub preemptions: Option<u32>,
}

/// A rule that was broken, with all that helps to understand it.
#[derive(Clone, Debug)]
pub struct Found {
    /// Rule.
    pub rule: &'static str,
    /// What happened.
    pub message: String,
    /// File and line.
    pub at: Option<Site>,
    /// The other half of a race.
    pub other: Option<Site>,
    /// Other rules that the same execution broke.
    pub others: Vec<(&'static str, String)>,
    /// Events of the execution.
    pub records: Vec<Record>,
    /// Number of the event at which it came to light; `None` is the end.
    pub event: Option<u64>,
    /// Steps of the execution, where the engine tells.
    pub trace: Vec<TraceLine>,
    /// What replays it under the same engine.
    pub schedule: Option<String>,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Run {
    /// Scenario.
    pub scenario: &'static Scenario,
    /// Engine.
    pub engine: EngineKind,
    /// Executions that ended.
    pub executions: u64,
    /// Redundant executions.
    pub blocked: u64,
    /// Events that the rules saw.
    pub events: u64,
    /// How far it came.
    pub verdict: Verdict,
    /// Points that had to be reached and were not.
    pub unreached: Vec<(&'static str, &'static str)>,
    /// What was found.
    pub found: Option<Found>,
}

impl Run {
    /// Whether a rule was broken, among others perhaps.
    pub fn breaks(&self, rule: &str) -> bool {
        self.found
            .as_ref()
            .is_some_and(|f| f.rule == rule || f.others.iter().any(|(r, _)| *r == rule))
    }

    /// Whether nothing was found and the verdict says something.
    pub fn is_clean(&self) -> bool {
        self.found.is_none() && !self.is_inconclusive()
    }

    /// Whether a limit was hit, or a point that must be reached was not.
    pub fn is_inconclusive(&self) -> bool {
        self.found.is_none()
            && (matches!(self.verdict, Verdict::Unknown(_)) || !self.unreached.is_empty())
    }
}

/// What the end of each execution adds to.
#[derive(Default)]
pub(crate) struct Watch {
    events: u64,
    reached: BTreeSet<(&'static str, &'static str)>,
    /// Events of the execution that failed last.
    failed: Vec<Record>,
    /// Number of the event that broke the rule.
    event: Option<u64>,
    /// What the rules said of it beyond the first.
    others: Vec<(&'static str, String)>,
}

type Records = Rc<RefCell<Vec<Record>>>;

fn to_engine(finding: &Finding) -> EngineFinding {
    EngineFinding::new(finding.rule, finding.message.clone(), Some(finding.at))
}

/// Events come in the order in which the engine ran the threads; this is the order in which they
/// may have happened.
fn put_in_order(records: &mut [Record], place_of: &dyn Fn(u64) -> u64) {
    for record in records.iter_mut() {
        record.step = place_of(record.step);
    }
    if records.is_sorted_by_key(|r| r.step) {
        return;
    }
    // Stable: events between two steps of a thread stay as they were.
    records.sort_by_key(|r| r.step);
    for (number, record) in (0..).zip(records) {
        record.number = number;
    }
}

/// The check at the end of each execution: judges its events.
fn judge_each(records: Records, watch: Rc<RefCell<Watch>>, only: Option<&'static str>) -> AtEnd {
    Box::new(move |ended| {
        let mut seen = std::mem::take(&mut *records.borrow_mut());
        put_in_order(&mut seen, ended.place_of);
        let judge = Judge::of(&seen);
        let mut watch = watch.borrow_mut();
        watch.events += seen.len() as u64;
        watch.reached.extend(judge.reached().iter().copied());
        let asked = |f: &&Finding| only.is_none_or(|rule| f.rule == rule);
        let finding = judge.findings().iter().find(asked);
        watch.event = finding.and_then(|f| f.event);
        let finding = finding.map(to_engine);
        if finding.is_some() || !ended.findings.is_empty() {
            watch.failed = seen;
            let told = finding.as_ref().map(|f| f.rule);
            let others = judge.findings().iter().filter(|f| Some(f.rule) != told);
            watch.others = others.map(|f| (f.rule, f.message.clone())).collect();
        }
        finding
    })
}

/// Runs `body` with its events recorded and judged, in the given surroundings.
///
/// An execution that is given up as redundant never reaches its end, so each one starts by
/// forgetting what is left of the one before.
pub(crate) fn watched_on<R>(
    change: Change,
    body: fn(),
    check: &mut dyn FnMut(Box<dyn Fn()>, AtEnd) -> R,
) -> (R, Watch) {
    let records: Records = Rc::default();
    let watch: Rc<RefCell<Watch>> = Rc::default();
    let at_end = judge_each(records.clone(), watch.clone(), change.only);
    let begun = records.clone();
    let program = Box::new(move || {
        begun.borrow_mut().clear();
        body();
    });
    let outcome = with_visitor(records, || {
        with_bug(change.bug, || without_site(change.site, || check(program, at_end)))
    });
    let watch = std::mem::take(&mut *watch.borrow_mut());
    (outcome, watch)
}

fn watched<R>(
    change: Change,
    body: fn(),
    check: impl FnOnce(Box<dyn Fn()>, AtEnd) -> R,
) -> (R, Watch) {
    let mut check = Some(check);
    watched_on(change, body, &mut |program, at_end| match check.take() {
        Some(check) => check(program, at_end),
        None => unreachable!("it is called once"),
    })
}

/// What several workers saw, as a run; a finding is made smaller.
pub(crate) fn finish(
    scenario: &'static Scenario,
    engine: EngineKind,
    change: Change,
    limits: &Limits,
    outcome: Outcome,
    watches: Vec<Watch>,
) -> Run {
    let mut all = Watch::default();
    for watch in watches {
        all.events += watch.events;
        all.reached.extend(watch.reached);
        if !watch.failed.is_empty() {
            (all.failed, all.event, all.others) = (watch.failed, watch.event, watch.others);
        }
    }
    let mut run = to_run(scenario, engine, outcome, all);
    minimise(&mut run, change, &config(scenario, engine, change, limits), limits);
    run
}

/// Runs a scenario under an engine, as it is or with a change.
pub fn run(
    scenario: &'static Scenario,
    engine: EngineKind,
    change: Change,
    limits: &Limits,
) -> Run {
    let config = config(scenario, engine, change, limits);
    let (outcome, watch) = watched(change, scenario.body, |body, at_end| match engine {
        EngineKind::Explore
        | EngineKind::ExploreTso
        | EngineKind::ExploreRc11
        | EngineKind::Schedules => check_explore(&config, body, at_end),
        EngineKind::Loom => check_loom(&config, body, at_end),
        EngineKind::Shuttle => {
            check_shuttle(&config, Walk::Urw, limits.samples, limits.seed, body, at_end)
        }
    });
    let mut run = to_run(scenario, engine, outcome, watch);
    if engine.search().is_some() {
        minimise(&mut run, change, &config, limits);
    }
    run
}

pub(crate) fn config(
    scenario: &Scenario,
    engine: EngineKind,
    change: Change,
    limits: &Limits,
) -> Config {
    let bound = (engine == EngineKind::Loom).then_some(scenario.loom_preemptions).flatten();
    Config {
        search: engine.search().unwrap_or(Config::default().search),
        max_executions: limits.max_executions,
        preemption_bound: bound.map(|b| b as u32).or(change.preemptions),
        ignore_races: change.ignore_races,
        ..Config::default()
    }
}

fn to_run(scenario: &'static Scenario, engine: EngineKind, outcome: Outcome, watch: Watch) -> Run {
    let unreached =
        scenario.must_reach.iter().filter(|p| !watch.reached.contains(*p)).copied().collect();
    let others = outcome.others.iter().map(|f| (f.rule, f.message.clone()));
    let others = watch.others.into_iter().chain(others).collect();
    Run {
        scenario,
        engine,
        executions: outcome.executions,
        blocked: outcome.blocked,
        events: watch.events,
        verdict: outcome.verdict,
        unreached,
        found: outcome.finding.map(|f| Found {
            rule: f.rule,
            message: f.message,
            at: f.at,
            other: f.other,
            others,
            event: watch.event.or_else(|| last_before(&watch.failed, f.step?)),
            records: watch.failed,
            trace: f.trace,
            schedule: f.schedule,
        }),
    }
}

/// Number of the last event that was seen by the time of a step.
fn last_before(records: &[Record], step: u64) -> Option<u64> {
    records.iter().rev().find(|r| r.step <= step).map(|r| r.number)
}

/// Looks for the same failure with fewer preemptions, and shows that one instead.
fn minimise(run: &mut Run, change: Change, config: &Config, limits: &Limits) {
    let Some(found) = &run.found else { return };
    let Some(Ok(token)) = found.schedule.as_ref().map(|s| s.parse()) else { return };
    let (rule, most) = (found.rule, limits.minimise);
    let (smaller, _) = watched(change, run.scenario.body, |body, at_end| match &token {
        Token::Schedule(schedule) => minimise_explore(config, schedule, rule, most, body, at_end)
            .map(|m| m.schedule.to_string()),
        Token::Graph(_) => smallest_explore(config, rule, most, body, at_end),
    });
    let Some(smaller) = smaller else { return };
    if let Ok(Run { found: Some(found), .. }) = replay(run.scenario, change, &smaller) {
        run.found = Some(found);
    }
}

/// Runs the one execution of our explorer that a token names.
pub fn replay(scenario: &'static Scenario, change: Change, token: &str) -> Result<Run, String> {
    let token: Token = token.parse()?;
    let engine = match &token {
        Token::Graph(graph) if graph.model() == Model::Tso => EngineKind::ExploreTso,
        Token::Graph(graph) if graph.model() == Model::Rc11 => EngineKind::ExploreRc11,
        _ => EngineKind::Explore,
    };
    let (outcome, watch) = watched(change, scenario.body, |body, at_end| {
        let config = Config { ignore_races: change.ignore_races, ..Config::default() };
        replay_explore(&config, &token, body, at_end)
    });
    Ok(to_run(scenario, engine, outcome, watch))
}
