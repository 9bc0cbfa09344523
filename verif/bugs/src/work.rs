//! Runs of a check, shared out among threads. A run is all in its thread, so what it gives is the
//! same whoever runs it; results are found by what was run, not by when it ended.

use crate::check::decide;
use crate::questions::Question;
use pollproof_bench::run::{run, Change, Limits, Run};
use pollproof_bench::scenario::{EngineKind, Scenario, Story};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Surroundings of a check: how many threads it may use, a clock of a thread's processor time, and
/// somebody who wants to know how far it is.
pub struct Surroundings<'a> {
    /// Threads, at least one.
    pub jobs: usize,
    /// Processor seconds that this thread has used so far.
    pub cpu_seconds: &'a (dyn Fn() -> f64 + Sync),
    /// Told what is about to run.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// One run.
#[derive(Clone, Copy)]
pub(crate) enum Task {
    /// A scenario as it is.
    Clean(&'static Scenario, EngineKind),
    /// A scenario with a story's bug.
    Bug(&'static Story, EngineKind),
    /// What decides a question.
    Question(&'static Question),
}

/// Names a run.
type Key = (&'static str, Option<EngineKind>, &'static str);

impl Task {
    pub fn key(&self) -> Key {
        match self {
            Self::Clean(scenario, engine) => (scenario.id, Some(*engine), ""),
            Self::Bug(story, engine) => (story.scenario.id, Some(*engine), story.id),
            Self::Question(question) => (question.id, None, ""),
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Clean(scenario, engine) => {
                format!(
                    "scenario {} under {}, {}",
                    scenario.id,
                    engine.name(),
                    engine.short_model()
                )
            }
            Self::Bug(story, engine) => format!("bug {} under {}", story.id, engine.name()),
            Self::Question(question) => format!("question {}", question.id),
        }
    }

    fn run(&self, limits: &Limits) -> Run {
        match self {
            Self::Clean(scenario, engine) => run(scenario, *engine, Change::default(), limits),
            Self::Bug(story, engine) => {
                let change = Change { bug: story.id, ..Change::default() };
                run(story.scenario, *engine, change, limits)
            }
            Self::Question(question) => decide(question, limits),
        }
    }
}

/// What runs gave, and the processor seconds that they took.
pub(crate) struct Done(BTreeMap<Key, (Run, f64)>);

impl Done {
    /// The result of a task that was performed.
    pub fn of(&self, task: &Task) -> (Run, f64) {
        match self.0.get(&task.key()) {
            Some(done) => done.clone(),
            None => unreachable!("{} was not run", task.title()),
        }
    }
}

/// Performs all tasks. Each thread takes the next one when it is done with the one before.
pub(crate) fn perform(tasks: &[Task], limits: &Limits, around: &Surroundings<'_>) -> Done {
    pollproof_engines::settle_panics();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            (around.progress)(&task.title());
            let before = (around.cpu_seconds)();
            let run = task.run(limits);
            let seconds = (around.cpu_seconds)() - before;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.insert(task.key(), (run, seconds));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..around.jobs.min(tasks.len()) {
            scope.spawn(work);
        }
        work();
    });
    Done(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}
