//! What a run under any engine tells: how far it came and what it found.

use pollproof_explore::Model;
use pollproof_sync::engine::Loc;
use std::fmt;
use std::rc::Rc;

/// A place: file and line.
pub type Site = (&'static str, u32);

pub(crate) fn site(at: Loc) -> Site {
    (at.file(), at.line())
}

/// How explore searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Every consistent execution graph of a memory model.
    Graphs(Model),
    /// Every SC interleaving that differs, by source sets: another way to what `Graphs(Sc)` says.
    Schedules,
}

/// Limits of a run.
#[derive(Clone)]
pub struct Config {
    /// How explore searches; with a bound on preemptions always over schedules.
    pub search: Search,
    /// Executions after which the run is cut, redundant ones included. The verdict is then unknown.
    pub max_executions: u64,
    /// Steps of one execution after which it is cut. The verdict is then unknown.
    pub max_steps: usize,
    /// Looks only at executions with at most so many preemptions. The verdict is then bounded.
    pub preemption_bound: Option<u32>,
    /// Races on plain cells are no findings: for questions about values alone, under explore.
    pub ignore_races: bool,
    /// Asked before each execution whether to cut the run, for a limit of time. Then unknown.
    pub stop: Option<Rc<dyn Fn() -> bool>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            search: Search::Graphs(Model::Sc),
            max_executions: 1_000_000,
            max_steps: 10_000,
            preemption_bound: None,
            ignore_races: false,
            stop: None,
        }
    }
}

/// How much a run says when it found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every execution that the engine's memory model knows.
    Exhaustive,
    /// Every execution within the bound that is named.
    Bounded(String),
    /// So many random executions.
    Sampled {
        /// Executions.
        n: u64,
        /// Where the random numbers start.
        seed: u64,
    },
    /// The run was cut for this reason: what was not run is unknown. Never a pass.
    Unknown(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Exhaustive => f.write_str("EXHAUSTIVE"),
            Verdict::Bounded(bound) => write!(f, "BOUNDED ({bound})"),
            Verdict::Sampled { n, seed } => write!(f, "SAMPLED (n={n}, seed={seed})"),
            Verdict::Unknown(why) => write!(f, "UNKNOWN ({why})"),
        }
    }
}

/// One step of the execution that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// Number of the step, from 1.
    pub step: u64,
    /// Thread that took it.
    pub thread: usize,
    /// Operation, object and value.
    pub what: String,
    /// Where.
    pub at: Site,
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = self.at;
        write!(f, "{:>4} T{} {}  {file}:{line}", self.step, self.thread, self.what)
    }
}

/// Something wrong in one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFinding {
    /// Rule that was broken: that of a cell or a fault, of the caller's check, or `DEADLOCK` or
    /// `PANIC`.
    pub rule: &'static str,
    /// What happened, in one line.
    pub message: String,
    /// Where it came to light.
    pub at: Option<Site>,
    /// The other side of a race.
    pub other: Option<Site>,
    /// Steps taken when it came to light, where the engine tells.
    pub step: Option<u64>,
    /// What replays the execution under the same engine.
    pub schedule: Option<String>,
    /// Steps of the execution.
    pub trace: Vec<TraceLine>,
}

impl EngineFinding {
    /// A finding without schedule and trace, which the adapter adds.
    pub fn new(rule: &'static str, message: impl Into<String>, at: Option<Site>) -> Self {
        let message = message.into();
        Self { rule, message, at, other: None, step: None, schedule: None, trace: Vec::new() }
    }
}

/// The end of one execution, for the caller's check.
pub struct Ended<'a> {
    /// Engine that ran it.
    pub engine: &'static str,
    /// Whether the program ran to its end. When threads are blocked forever it did not.
    pub complete: bool,
    /// What the engine and the run-time context found on their own.
    pub findings: &'a [EngineFinding],
    /// The number of the step that a moment comes after, as `Engine::step` named it. Engines that
    /// choose who reads what, not who runs when, put events in order only at the end.
    pub place_of: &'a dyn Fn(u64) -> u64,
}

/// The caller's check of an execution: a finding stops the run.
pub type AtEnd = Box<dyn FnMut(&Ended<'_>) -> Option<EngineFinding>>;

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `explore`, `loom` or `shuttle`.
    pub engine: &'static str,
    /// Executions that ended.
    pub executions: u64,
    /// Executions given up as redundant; only explore has them.
    pub blocked: u64,
    /// Steps of all executions.
    pub steps: u64,
    /// How much was covered. With a finding it says what would have been.
    pub verdict: Verdict,
    /// The first finding: the caller's own first, then faults, races, deadlocks and panics.
    pub finding: Option<EngineFinding>,
    /// Other findings of the same execution.
    pub others: Vec<EngineFinding>,
}

impl Outcome {
    pub(crate) fn new(engine: &'static str, verdict: Verdict) -> Self {
        let (executions, blocked, steps) = (0, 0, 0);
        Self { engine, executions, blocked, steps, verdict, finding: None, others: Vec::new() }
    }

    /// Takes over what one execution showed.
    pub(crate) fn found(&mut self, findings: Vec<EngineFinding>) {
        let mut findings = findings.into_iter();
        self.finding = findings.next();
        self.others = findings.collect();
    }

    /// Whether the engine covered all that it says and found nothing.
    pub fn is_pass(&self) -> bool {
        self.finding.is_none() && !matches!(self.verdict, Verdict::Unknown(_))
    }
}
