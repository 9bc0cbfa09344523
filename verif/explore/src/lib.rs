//! A stateless model checker for concurrent programs: every consistent execution, once.
//!
//! [`Reduction::Graphs`] searches over execution graphs: who reads from whom and in which order
//! writes take effect, under sequential consistency, x86-TSO, release and acquire, or RC11. A
//! program is run again and again on pooled coroutines, once for each graph. [`Reduction::Dpor`]
//! searches over SC interleavings instead, by another algorithm. A vector-clock check with the
//! rules of C11 finds races on plain cells under each.
//!
//! See [`rt`] for what a program calls and [`explore`] for the search. A failing execution comes
//! with a token that [`replay_token`] takes; a [`Schedule`] can be made easier to read by
//! [`minimise`].

mod alone;
pub mod arena;
mod classes;
mod clock;
mod coro;
mod dpor;
mod graph;
pub mod handles;
mod minimise;
pub mod quiet;
mod race;
mod random;
pub mod rt;
mod schedule;
mod session;
mod state;
mod trace;

pub use classes::{count_classes, normal_form, NormalForm};
pub use clock::MAX_THREADS;
pub use graph::{
    estimate, explore_team, Checkpoint, Estimate, Model, Progress, RunWorker, Stored, Team, Token,
    Wish,
};
pub use minimise::{minimise, Minimised};
pub use schedule::{ParseError, Pick, Schedule};
pub use trace::{Access, Blocked, End, Execution, Limit, Loc, Race, Step, StepKind, What};

/// The example in the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

use random::{Follow, SplitMix};
use rt::with;
use session::{Outcome, Session, Strategy};
use std::ops::ControlFlow;

/// How interleavings are cut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One of each consistent execution graph of the memory model.
    Graphs,
    /// One of each class of SC interleavings: source sets and sleep sets.
    Dpor,
    /// Every single interleaving. The oracle of the tests; hopeless otherwise.
    None,
    /// Every interleaving with at most so many preemptions, not reduced. Covers no more than that.
    Preemptions(u32),
}

/// Limits of a search.
#[derive(Clone, Debug)]
pub struct Config {
    /// Executions, redundant ones included.
    pub max_executions: u64,
    /// Steps of one execution.
    pub max_steps: u64,
    /// Threads of one execution, at most [`MAX_THREADS`].
    pub max_threads: usize,
    /// Bytes of stack of each thread.
    pub stack_size: usize,
    /// How executions are cut down.
    pub reduction: Reduction,
    /// Memory model of [`Reduction::Graphs`]; the others are sequentially consistent.
    pub model: Model,
    /// Under [`Reduction::Graphs`], a lock is a compare-exchange that blocks when it fails: another
    /// way to the same executions, with blocked ones besides. A second opinion.
    pub plain_locks: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_executions: u64::MAX,
            max_steps: 10_000,
            max_threads: MAX_THREADS,
            stack_size: 256 * 1024,
            reduction: Reduction::Dpor,
            model: Model::Sc,
            plain_locks: false,
        }
    }
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Everything that the reduction leaves was run.
    Exhausted,
    /// The callback stopped it.
    Stopped,
    /// `max_executions` was reached.
    Executions,
    /// Some execution was cut by a limit, so what lies behind is unknown.
    Cut(Limit),
    /// The program is not deterministic.
    Diverged,
    /// Random walks cover nothing for certain.
    Sampled,
}

/// Counts of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Executions that ended, each of another class.
    pub executions: u64,
    /// Executions given up since all that could follow was covered, or was no execution.
    pub blocked: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// How far it came.
    pub coverage: Coverage,
}

impl Summary {
    /// Whether every class was seen.
    pub fn is_exhaustive(&self) -> bool {
        self.coverage == Coverage::Exhausted
    }
}

/// Called at the end of each execution; objects can still be read there through [`rt`].
pub type AtEnd<'a> = dyn FnMut(&Execution<'_>) -> ControlFlow<()> + 'a;

/// Runs `program` under every interleaving that `config` leaves.
///
/// An execution that panics or breaks a limit is cut there. When the callback goes on after a
/// panic, the rest of that interleaving stays unseen.
pub fn explore(config: &Config, program: &dyn Fn(), at_end: &mut AtEnd<'_>) -> Summary {
    if config.reduction == Reduction::Graphs {
        return graph::explore(config, program, at_end);
    }
    let mut session = Session::new(config, program);
    let mut search = dpor::Search::new(config.reduction);
    let mut summary = Summary::new(Coverage::Exhausted);
    loop {
        if summary.executions + summary.blocked >= config.max_executions {
            summary.coverage = Coverage::Executions;
            return summary;
        }
        let outcome = session.run(&mut search);
        if search.reduces() && ends_whole(&outcome) {
            session.reverse_blocked();
        }
        if summary.take(&mut session, outcome, at_end).is_break() {
            return summary;
        }
        with(|s| search.add_reversals(s));
        session.clear();
        if !search.next_branch() {
            return summary;
        }
    }
}

/// Whether threads that are blocked at the end were so by what ran, not by a cut.
fn ends_whole(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Redundant | Outcome::Ended(End::Deadlock(_), _))
}

/// Runs `program` under `executions` random schedules. The same seed gives the same schedules.
pub fn sample(
    config: &Config,
    executions: u64,
    seed: u64,
    program: &dyn Fn(),
    at_end: &mut AtEnd<'_>,
) -> Summary {
    let mut session = Session::new(config, program);
    let mut random = SplitMix::new(seed);
    let mut summary = Summary::new(Coverage::Sampled);
    for _ in 0..executions {
        let outcome = session.run(&mut random);
        if summary.take(&mut session, outcome, at_end).is_break() {
            break;
        }
        session.clear();
    }
    summary
}

/// Runs `program` once under `schedule`; what comes after its end takes its default course.
///
/// A schedule that does not fit ends the execution with [`End::Diverged`].
pub fn replay(
    config: &Config,
    schedule: &Schedule,
    program: &dyn Fn(),
    at_end: &mut AtEnd<'_>,
) -> Summary {
    let mut session = Session::new(config, program);
    let mut follow = Follow::new(schedule);
    let mut summary = Summary::new(Coverage::Sampled);
    let mut outcome = session.run(&mut follow as &mut dyn Strategy);
    if let (Outcome::Ended(end, _), 1..) = (&mut outcome, follow.left()) {
        if !matches!(end, End::Limit(_) | End::Diverged(_)) {
            let left = follow.left();
            *end = End::Diverged(format!("the program ended {left} picks before the schedule"));
        }
    }
    let _ = summary.take(&mut session, outcome, at_end);
    summary
}

/// Runs `program` once along `token`, under the memory model that it names, and on from there in
/// the simplest way. One that does not fit ends the execution with [`End::Diverged`].
pub fn replay_token(
    config: &Config,
    token: &Token,
    program: &dyn Fn(),
    at_end: &mut AtEnd<'_>,
) -> Summary {
    match token {
        Token::Schedule(schedule) => replay(config, schedule, program, at_end),
        Token::Graph(graph) => graph::replay(config, graph, program, at_end),
    }
}

impl Summary {
    fn new(coverage: Coverage) -> Self {
        Self { executions: 0, blocked: 0, steps: 0, coverage }
    }

    /// Counts an execution and tells the callback of it.
    fn take(
        &mut self,
        session: &mut Session<'_>,
        outcome: Outcome,
        at_end: &mut AtEnd<'_>,
    ) -> ControlFlow<()> {
        self.steps += with(|s| s.steps.len() as u64);
        let Outcome::Ended(end, preemptions) = outcome else {
            self.blocked += 1;
            return ControlFlow::Continue(());
        };
        self.executions += 1;
        let diverged = matches!(end, End::Diverged(_));
        if let End::Limit(limit) = end {
            self.coverage = Coverage::Cut(limit);
        }
        let teller = trace::Ran::take(session.schedule.clone(), preemptions);
        let flow = at_end(&Execution::new(end, &teller));
        teller.give_back();
        if flow.is_break() {
            self.coverage = Coverage::Stopped;
        } else if diverged {
            self.coverage = Coverage::Diverged;
            return ControlFlow::Break(());
        }
        flow
    }
}
