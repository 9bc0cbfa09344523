//! What an execution was: its steps, how it ended, and the races found in it.

use crate::clock::Clock;
use crate::rt;
use crate::schedule::Schedule;
use std::cell::OnceCell;
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
    /// Sequentially consistent fence, where it is a step; the object is 0.
    Fence,
    /// A choice; the value is what was chosen. Only among the steps of graph searches.
    Choose,
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
            Fence => "fence",
            Choose => "choose",
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
    /// Of a read the index of the step that wrote what it saw, none for the initial value. Only
    /// graph searches tell.
    pub reads_from: Option<Option<u32>>,
    /// Of a write its place in the coherence order of its object, from 1. Only graph searches tell.
    pub position: u32,
    /// Whether a read saw a value that had been replaced by a step before it.
    pub stale: bool,
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
    /// Operation, object and values, without thread and place; of graph searches also the number of
    /// the step that wrote what was read, and whether that was old by then.
    pub fn what(&self) -> String {
        let (name, object) = (self.kind.name(), self.object);
        let text = match self.kind {
            StepKind::Join => format!("{name} T{object}"),
            StepKind::Lock | StepKind::Unlock => format!("{name} #{object}"),
            StepKind::Fence | StepKind::Rest => name.to_string(),
            StepKind::Choose => format!("{name} {}", self.before),
            k if k.writes() => format!("{name} #{object} {} -> {}", self.before, self.after),
            _ => format!("{name} #{object} = {}", self.before),
        };
        match self.reads_from {
            Some(Some(step)) => format!("{text} from {}{}", step + 1, self.old()),
            Some(None) if self.stale => format!("{text} from the start{}", self.old()),
            _ => text,
        }
    }

    fn old(&self) -> &'static str {
        if self.stale {
            ", STALE"
        } else {
            ""
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
        let kind = match self.kind {
            StepKind::Load => "a loop that reads",
            kind => kind.name(),
        };
        write!(f, "T{} in {kind} {sign}{} at {file}:{line}", self.thread, self.object)
    }
}

/// Why an execution was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `max_steps` was reached.
    Steps,
    /// `max_threads` was reached.
    Threads,
    /// A thread made more objects than can be told apart.
    Objects,
    /// A graph had more events than fit.
    Events,
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
///
/// How it ended is known at once; the rest is worked out when it is asked for.
pub struct Execution<'a> {
    /// How it ended.
    pub end: End,
    pub(crate) teller: &'a dyn Tell,
    pub(crate) told: OnceCell<Told>,
}

/// What can be told of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) steps: Vec<Step>,
    pub(crate) races: Vec<Race>,
    pub(crate) schedule: Schedule,
    pub(crate) preemptions: u32,
    /// For each thread, the number of the step that each of its operations became.
    pub(crate) order: Vec<Vec<u64>>,
}

/// Who knows an execution.
pub(crate) trait Tell {
    fn has_races(&self) -> bool;
    fn tell(&self) -> Told;
    /// Its graph, where there is one.
    fn token(&self) -> Option<String>;
}

impl fmt::Debug for Execution<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution").field("end", &self.end).field("told", self.told()).finish()
    }
}

impl<'a> Execution<'a> {
    pub(crate) fn new(end: End, teller: &'a dyn Tell) -> Self {
        Self { end, teller, told: OnceCell::new() }
    }

    fn told(&self) -> &Told {
        self.told.get_or_init(|| self.teller.tell())
    }

    /// Whether it ended well and without a race.
    pub fn is_clean(&self) -> bool {
        self.end == End::Complete && !self.teller.has_races()
    }

    /// Races on plain cells, at most 16.
    pub fn races(&self) -> &[Race] {
        if self.teller.has_races() {
            &self.told().races
        } else {
            &[]
        }
    }

    /// Its steps in an order in which they may have happened.
    pub fn steps(&self) -> &[Step] {
        &self.told().steps
    }

    /// What replays it under sequential consistency.
    pub fn schedule(&self) -> &Schedule {
        &self.told().schedule
    }

    /// What replays it: a schedule, or its graph where values may be stale.
    pub fn token(&self) -> String {
        self.teller.token().unwrap_or_else(|| self.schedule().to_string())
    }

    /// Switches away from a thread that could have gone on.
    pub fn preemptions(&self) -> u32 {
        self.told().preemptions
    }

    /// The number of the step that a moment, named by [`crate::rt::step`], comes after.
    pub fn place_of(&self, moment: u64) -> u64 {
        let order = &self.told().order;
        if order.is_empty() {
            return moment;
        }
        let (thread, done) = ((moment >> 32) as usize, moment as u32 as usize);
        let before = order.get(thread).and_then(|o| o.get(done));
        before.copied().unwrap_or(0)
    }
}

/// An execution of the searches over schedules: what it left, until it is given back.
pub(crate) struct Ran(Told);

impl Ran {
    pub(crate) fn take(schedule: Schedule, preemptions: u32) -> Self {
        let (steps, races) =
            rt::with(|s| (std::mem::take(&mut s.steps), std::mem::take(&mut s.races)));
        Self(Told { steps, races, schedule, preemptions, order: Vec::new() })
    }

    pub(crate) fn give_back(self) {
        rt::with(|s| (s.steps, s.races) = (self.0.steps, self.0.races));
    }
}

impl Tell for Ran {
    fn has_races(&self) -> bool {
        !self.0.races.is_empty()
    }

    fn tell(&self) -> Told {
        self.0.clone()
    }

    fn token(&self) -> Option<String> {
        None
    }
}
