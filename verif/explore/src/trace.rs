//! What an execution was: its steps, how it ended, and the races found in it.

use crate::clock::Clock;
use crate::schedule::Schedule;
use std::fmt;
use std::panic::Location;

/// A place in the source.
pub type Loc = &'static Location<'static>;

/// What a plain cell stands for: the rule that a race on it breaks, and its name in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// Stable id of a rule.
    pub rule: &'static str,
    /// Name of the cell.
    pub name: &'static str,
}

/// Kind of a step. Only steps are scheduling points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Atomic load.
    Load,
    /// Atomic store.
    Store,
    /// Atomic read-modify-write.
    Rmw,
    /// Compare-exchange that succeeded.
    Cas,
    /// Compare-exchange that failed: a read.
    CasFailed,
    /// Closure transition that was taken.
    Update,
    /// Closure transition that refused the value: a read.
    UpdateRefused,
    /// Wait that found its value: a read.
    Wait,
    /// Lock taken.
    Lock,
    /// Lock given back.
    Unlock,
    /// Join of an ended thread; the object is the thread.
    Join,
    /// Nobody else could go on; the object is 0.
    Rest,
}

impl StepKind {
    /// Whether two steps of this kind on one object do not commute.
    pub fn writes(self) -> bool {
        use StepKind::*;
        matches!(self, Store | Rmw | Cas | Update | Lock | Unlock)
    }

    /// Lower-case name.
    pub fn name(self) -> &'static str {
        use StepKind::*;
        match self {
            Load => "load",
            Store => "store",
            Rmw => "rmw",
            Cas => "cas",
            CasFailed => "cas failed",
            Update => "update",
            UpdateRefused => "update refused",
            Wait => "wait",
            Lock => "lock",
            Unlock => "unlock",
            Join => "join",
            Rest => "rest",
        }
    }
}

/// One step of an execution.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Thread that took it.
    pub thread: usize,
    /// What it did.
    pub kind: StepKind,
    /// Object in order of creation, locks and atomics together; of a join the thread.
    pub object: u32,
    /// Value before. Of locks: 0 is free, else the holder plus one.
    pub before: u64,
    /// Value after.
    pub after: u64,
    /// Where.
    pub at: Loc,
    /// Number of the step among those of its thread, from 1.
    pub(crate) num: u32,
    /// Steps that happen before it by program order and conflicts, itself included.
    pub(crate) clock: Clock,
    /// Step on the same object before this one, plus one; 0 is none.
    pub(crate) prev: u32,
    /// The same for the last write before this step.
    pub(crate) prev_write: u32,
}

impl Step {
    /// Operation, object and values, without thread and place.
    pub fn what(&self) -> String {
        let (name, object) = (self.kind.name(), self.object);
        match self.kind {
            StepKind::Join => format!("{name} T{object}"),
            StepKind::Lock | StepKind::Unlock => format!("{name} #{object}"),
            k if k.writes() => format!("{name} #{object} {} -> {}", self.before, self.after),
            _ => format!("{name} #{object} = {}", self.before),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{} {}  {}:{}", self.thread, self.what(), self.at.file(), self.at.line())
    }
}

/// One side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Thread that did it.
    pub thread: usize,
    /// Steps taken before it.
    pub step: u64,
    /// Whether it wrote. The creation of a cell writes it.
    pub write: bool,
    /// Where.
    pub at: Loc,
}

/// Two accesses to a plain cell that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The cell.
    pub what: What,
    /// The access that came first in this execution.
    pub first: Access,
    /// The one that came second.
    pub second: Access,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.write { "write" } else { "read" };
        let (file, line) = (self.at.file(), self.at.line());
        write!(f, "{verb} by T{} at {file}:{line} (step {})", self.thread, self.step)
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let What { rule, name } = self.what;
        write!(f, "{rule}: race on {name}: {}, then {}", self.first, self.second)
    }
}

/// A thread that can never go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The thread.
    pub thread: usize,
    /// What it is blocked in: [`StepKind::Lock`], [`StepKind::Wait`] or [`StepKind::Join`].
    pub kind: StepKind,
    /// Lock or atomic; of a join the thread.
    pub object: u32,
    /// Where.
    pub at: Loc,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = (self.at.file(), self.at.line());
        let sign = if self.kind == StepKind::Join { 'T' } else { '#' };
        write!(f, "T{} in {} {sign}{} at {file}:{line}", self.thread, self.kind.name(), self.object)
    }
}

/// Why an execution was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `max_steps` was reached.
    Steps,
    /// `max_threads` was reached.
    Threads,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every thread ended.
    Complete,
    /// The threads that are left can never go on.
    Deadlock(Vec<Blocked>),
    /// A thread panicked; the execution is cut there.
    Panicked {
        /// The thread.
        thread: usize,
        /// Its message, with the place.
        message: String,
    },
    /// A limit was reached; the execution is cut there.
    Limit(Limit),
    /// The program did not follow the schedule: it is not deterministic, or is another program.
    Diverged(String),
}

/// One execution, as told to the callback at its end.
#[derive(Debug)]
pub struct Execution<'a> {
    /// How it ended.
    pub end: End,
    /// Races on plain cells, at most 16.
    pub races: &'a [Race],
    /// Its steps in order.
    pub steps: &'a [Step],
    /// What replays it.
    pub schedule: &'a Schedule,
    /// Switches away from a thread that could have gone on.
    pub preemptions: u32,
}

impl Execution<'_> {
    /// Whether it ended well and without a race.
    pub fn is_clean(&self) -> bool {
        self.end == End::Complete && self.races.is_empty()
    }
}
