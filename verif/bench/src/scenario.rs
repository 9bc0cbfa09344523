//! A scenario: a small program over driver and device, and what a run of it must have reached.

use pollproof_engines::{Model, Search};

/// Engine that chooses the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineKind {
    /// Our stateless model checker: every consistent execution graph under SC.
    Explore,
    /// The same under x86-TSO.
    ExploreTso,
    /// The same under RC11.
    ExploreRc11,
    /// Our other search: SC interleavings by source sets, with nothing in common but the types.
    Schedules,
    /// loom: C11 with stale reads, within its limits.
    Loom,
    /// shuttle: random schedules.
    Shuttle,
}

impl EngineKind {
    /// All engines.
    pub const ALL: [Self; 6] = [
        Self::Explore,
        Self::ExploreTso,
        Self::ExploreRc11,
        Self::Schedules,
        Self::Loom,
        Self::Shuttle,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Explore | Self::ExploreTso | Self::ExploreRc11 => "explore",
            Self::Schedules => "schedules",
            Self::Loom => "loom",
            Self::Shuttle => "shuttle",
        }
    }

    /// Memory model in which it runs programs.
    pub fn memory_model(self) -> &'static str {
        match self {
            Self::Explore => "SC",
            Self::ExploreTso => "TSO",
            Self::ExploreRc11 => "RC11",
            Self::Schedules | Self::Shuttle => "SC",
            Self::Loom => "C11 without load buffering",
        }
    }

    /// The memory model in one word.
    pub fn short_model(self) -> &'static str {
        self.memory_model().split_whitespace().next().unwrap_or_default()
    }

    /// Whether it is our explorer, under any memory model.
    pub fn is_explore(self) -> bool {
        self.name() == "explore"
    }

    /// How our explorer searches as this engine; none for those of others.
    pub fn search(self) -> Option<Search> {
        match self {
            Self::Explore => Some(Search::Graphs(Model::Sc)),
            Self::ExploreTso => Some(Search::Graphs(Model::Tso)),
            Self::ExploreRc11 => Some(Search::Graphs(Model::Rc11)),
            Self::Schedules => Some(Search::Schedules),
            Self::Loom | Self::Shuttle => None,
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
