//! The main job: every story both ways, every scenario, every question. Decides what passes.

use crate::questions::{self, Question};
use crate::token::token;
use crate::work::{self, Surroundings, Task};
use crate::{scenarios, stories};
use pollproof_bench::run::{run, Change, Limits, Run};
use pollproof_bench::scenario::{EngineKind, Scenario, Story};
use std::collections::{BTreeMap, BTreeSet};

/// How a check came out, worst first to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// A bug was missed, or a rule was broken where none should be.
    Findings,
    /// A limit was hit, or a point that must be reached was not.
    Inconclusive,
    /// Nothing was selected.
    NothingSelected,
    /// Something was checked and nothing found.
    Clean,
}

/// Engines to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engines {
    /// Our explorer, loom where it can run, and for each story the engine that it names.
    Default,
    /// One engine for all that it can run.
    One(EngineKind),
    /// All engines for all that they can run.
    All,
}

/// What to check.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Only what has one of these in its id; empty is all.
    pub filters: Vec<String>,
    /// Engines.
    pub engines: Engines,
}

/// A story, both ways, under one engine.
pub struct BugRow {
    /// The story.
    pub story: &'static Story,
    /// Engine.
    pub engine: EngineKind,
    /// With the bug; `None` when this engine can not see it.
    pub with: Option<Run>,
    /// Without the bug.
    pub without: Run,
    /// Token of the finding.
    pub replay: Option<String>,
    /// Why this engine can not see it.
    pub unseen: Option<&'static str>,
}

impl BugRow {
    /// Whether the rule caught the bug; `None` when the engine can not see it.
    pub fn caught(&self) -> Option<bool> {
        self.with.as_ref().map(|run| run.breaks(self.story.rule))
    }
}

/// A scenario under one engine.
pub struct ScenarioRow {
    /// The run.
    pub run: Run,
    /// Processor seconds.
    pub seconds: f64,
}

/// A question and its answer.
pub struct QuestionRow {
    /// The question.
    pub question: &'static Question,
    /// The run that decides it.
    pub run: Run,
    /// Token of a yes.
    pub replay: Option<String>,
}

impl QuestionRow {
    /// Yes, no, or undecided.
    pub fn answer(&self) -> Option<bool> {
        if self.run.breaks(self.question.rule) {
            Some(true)
        } else if self.run.found.is_none() && !self.run.is_inconclusive() {
            Some(false)
        } else {
            None
        }
    }
}

/// All that a check gave.
#[derive(Default)]
pub struct CheckReport {
    /// Stories.
    pub bugs: Vec<BugRow>,
    /// Scenarios.
    pub scenarios: Vec<ScenarioRow>,
    /// Questions.
    pub questions: Vec<QuestionRow>,
}

impl CheckReport {
    /// How it came out.
    pub fn status(&self) -> Status {
        let bugs = self.bugs.iter().map(|row| match row.caught() {
            Some(false) => Status::Findings,
            _ => status_of(&row.without),
        });
        let scenarios = self.scenarios.iter().map(|row| status_of(&row.run));
        let questions = self.questions.iter().map(|row| match row.answer() {
            Some(answer) if answer == row.question.answer => Status::Clean,
            Some(_) => Status::Findings,
            None => Status::Inconclusive,
        });
        bugs.chain(scenarios).chain(questions).min().unwrap_or(Status::NothingSelected)
    }
}

/// Whether engines say the same of what several of them ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Bugs and scenarios that several engines ran.
    pub compared: usize,
    /// Those of which all say the same.
    pub agree: usize,
    /// The others: id, engine that says otherwise, and why.
    pub differ: Vec<(&'static str, EngineKind, String)>,
}

/// What an engine says of a bug or scenario: whether it is as it should be, and else why.
type Said = (EngineKind, bool, String);

impl CheckReport {
    /// What engines say of each bug and scenario, side by side.
    pub fn agreement(&self) -> Agreement {
        let mut said: BTreeMap<(&str, bool), Vec<Said>> = BTreeMap::new();
        for row in &self.bugs {
            let why = row.unseen.unwrap_or("it was missed").to_string();
            let caught = row.caught() == Some(true);
            said.entry((row.story.id, true)).or_default().push((row.engine, caught, why));
        }
        for ScenarioRow { run, .. } in &self.scenarios {
            let why = run.found.as_ref().map_or(String::new(), |f| f.message.clone());
            let clean = run.found.is_none();
            said.entry((run.scenario.id, false)).or_default().push((run.engine, clean, why));
        }
        let mut agreement = Agreement::default();
        for ((id, _), engines) in said.into_iter().filter(|(_, e)| e.len() > 1) {
            agreement.compared += 1;
            let others: Vec<_> = engines.into_iter().filter(|e| !e.1).collect();
            agreement.agree += usize::from(others.is_empty());
            agreement.differ.extend(others.into_iter().map(|(engine, _, why)| (id, engine, why)));
        }
        agreement
    }
}

fn status_of(run: &Run) -> Status {
    match (&run.found, run.is_inconclusive()) {
        (Some(_), _) => Status::Findings,
        (None, true) => Status::Inconclusive,
        (None, false) => Status::Clean,
    }
}

/// Runs a check.
pub fn check(selection: &Selection, limits: &Limits, around: &Surroundings<'_>) -> CheckReport {
    let plan = Plan::of(selection);
    let done = work::perform(&plan.tasks(), limits, around);
    let clean = |scenario, engine| done.of(&Task::Clean(scenario, engine));
    let bugs = plan.bugs.iter().map(|&(story, engine)| {
        let (without, _) = clean(story.scenario, engine);
        let unseen = unseen(story, engine);
        let with = unseen.is_none().then(|| done.of(&Task::Bug(story, engine)).0);
        let replay = with.as_ref().and_then(|run| token(run, story.id, limits));
        BugRow { story, engine, with, without, replay, unseen }
    });
    let scenarios = plan.scenarios.iter().map(|&(scenario, engine)| {
        let (run, seconds) = clean(scenario, engine);
        ScenarioRow { run, seconds }
    });
    let questions = plan.questions.iter().map(|&question| {
        let (run, _) = done.of(&Task::Question(question));
        let replay = token(&run, "", limits).filter(|_| run.breaks(question.rule));
        QuestionRow { question, run, replay }
    });
    CheckReport {
        bugs: bugs.collect(),
        scenarios: scenarios.collect(),
        questions: questions.collect(),
    }
}

/// Why an engine can not see a bug.
fn unseen(story: &Story, engine: EngineKind) -> Option<&'static str> {
    story.unseen_by.iter().find(|(e, _)| *e == engine).map(|(_, why)| *why)
}

/// What a selection comes to.
struct Plan {
    bugs: Vec<(&'static Story, EngineKind)>,
    scenarios: Vec<(&'static Scenario, EngineKind)>,
    questions: Vec<&'static Question>,
}

impl Plan {
    fn of(selection: &Selection) -> Self {
        let filters = &selection.filters;
        let wanted = |ids: &[&str]| {
            filters.is_empty() || filters.iter().any(|f| ids.iter().any(|id| matches(id, f)))
        };
        let stories = stories::ALL.iter().filter(|s| wanted(&[s.id, s.rule, s.scenario.id]));
        let with_engines = |story: &'static Story| {
            story_engines(story, selection.engines).into_iter().map(move |e| (story, e))
        };
        let bugs = stories.flat_map(|&story| with_engines(story)).collect();
        let mut chosen = Vec::new();
        for &scenario in scenarios::ALL.iter().filter(|s| wanted(&[s.id])) {
            let engines = scenario_engines(scenario, selection.engines);
            chosen.extend(engines.into_iter().map(|engine| (scenario, engine)));
        }
        let asks =
            !matches!(selection.engines, Engines::One(EngineKind::Loom | EngineKind::Shuttle));
        let all = questions::ALL.iter().copied();
        let questions = all.filter(|q| asks && wanted(&[q.id, q.scenario.id])).collect();
        Self { bugs, scenarios: chosen, questions }
    }

    /// What has to be run for it, each once: stories and scenarios share their clean runs.
    fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for &(story, engine) in &self.bugs {
            tasks.push(Task::Clean(story.scenario, engine));
            if unseen(story, engine).is_none() {
                tasks.push(Task::Bug(story, engine));
            }
        }
        tasks.extend(self.scenarios.iter().map(|&(scenario, e)| Task::Clean(scenario, e)));
        tasks.extend(self.questions.iter().map(|&question| Task::Question(question)));
        let mut seen = BTreeSet::new();
        tasks.retain(|task| seen.insert(task.key()));
        tasks
    }
}

/// Looks for an execution that shows a yes by its values; failing that, for a race that does.
pub fn decide(question: &Question, limits: &Limits) -> Run {
    let ask = |change, limits| run(question.scenario, question.engine, change, limits);
    if question.engine != EngineKind::Explore {
        return ask(question.change(), limits);
    }
    // Equivalent interleavings show different values where nothing orders two CPUs, so look at
    // each of the simple ones instead of one a class.
    let few = Limits { max_executions: 30_000, ..*limits };
    let values = Change { ignore_races: true, preemptions: Some(1), ..question.change() };
    let by_values = ask(values, &few);
    if by_values.breaks(question.rule) {
        return by_values;
    }
    ask(question.change(), limits)
}

/// A filter that is an id means that one; others look inside ids. Case does not matter.
fn matches(id: &str, filter: &str) -> bool {
    let ids = stories::ALL.iter().map(|s| s.id).chain(scenarios::ALL.iter().map(|s| s.id));
    if ids.chain(questions::ALL.iter().map(|q| q.id)).any(|id| id.eq_ignore_ascii_case(filter)) {
        return id.eq_ignore_ascii_case(filter);
    }
    id.to_lowercase().contains(&filter.to_lowercase())
}

fn story_engines(story: &Story, engines: Engines) -> Vec<EngineKind> {
    match engines {
        Engines::Default => vec![story.engine],
        Engines::One(_) => scenario_engines(story.scenario, engines),
        Engines::All => story.scenario.engines.to_vec(),
    }
}

fn scenario_engines(scenario: &Scenario, engines: Engines) -> Vec<EngineKind> {
    let wanted = |e: &EngineKind| match engines {
        // loom sees what no interleaving shows.
        Engines::Default => e.is_explore() || *e == EngineKind::Loom,
        Engines::One(one) => e.name() == one.name(),
        Engines::All => true,
    };
    scenario.engines.iter().copied().filter(wanted).collect()
}
