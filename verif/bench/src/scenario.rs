//! A scenario: a small program over driver and device, and what a run of it must have reached.

/// Engine that chooses the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineKind {
    /// Our stateless model checker, SC interleavings with a C11 race detector.
    Explore,
    /// loom: C11 with stale reads, within its limits.
    Loom,
    /// shuttle: random schedules.
    Shuttle,
}

impl EngineKind {
    /// All engines.
    pub const ALL: [Self; 3] = [Self::Explore, Self::Loom, Self::Shuttle];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Loom => "loom",
            Self::Shuttle => "shuttle",
        }
    }

    /// Memory model in which it runs programs.
    pub fn memory_model(self) -> &'static str {
        match self {
            Self::Explore => "SC, C11 races",
            Self::Loom => "C11 without load buffering",
            Self::Shuttle => "SC",
        }
    }
}

/// A scenario.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Stable id, such as `mlx4/budget`.
    pub id: &'static str,
    /// What happens in it, in one sentence.
    pub about: &'static str,
    /// Threads and agents at most, the first one included.
    pub threads: u32,
    /// The program; runs once an execution.
    pub body: fn(),
    /// Engines that it is meant for.
    pub engines: &'static [EngineKind],
    /// Rule points without which a pass means nothing.
    pub must_reach: &'static [(&'static str, &'static str)],
    /// Preemption bound for loom; `None` is unbounded.
    pub loom_preemptions: Option<usize>,
}

/// A documented bug, told as a story.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    /// Id in the list of bugs, also the switch in the code.
    pub id: &'static str,
    /// What goes wrong, in a few words.
    pub title: &'static str,
    /// What happened.
    pub story: &'static str,
    /// Where it comes from.
    pub origin: &'static str,
    /// Rule that must catch it.
    pub rule: &'static str,
    /// Smallest scenario.
    pub scenario: &'static Scenario,
    /// Engine that must find it.
    pub engine: EngineKind,
    /// Engines that can not see it, with the reason.
    pub unseen_by: &'static [(EngineKind, &'static str)],
}
