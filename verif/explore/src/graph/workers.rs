//! Several OS threads on one tree. Stored graphs are independent of each other, so whoever has
//! nothing to do takes what others have left.

use super::checkpoint::Checkpoint;
use super::drive::{walk, Tree};
use super::world::Names;
use crate::{AtEnd, Config, Coverage, Summary};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the caller wants after an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    GoOn,
    /// Give a checkpoint, then go on.
    Checkpoint,
    /// Give a checkpoint and stop.
    Stop,
}

/// How far a search is; told after each execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Executions of this worker since it began.
    pub executions: u64,
    /// Graphs that it has stored for later.
    pub stored: usize,
}

/// Runs the program of one worker: given to the caller's closure, which puts up on its OS thread
/// what the program needs there.
pub type RunWorker<'a> = dyn FnMut(&dyn Fn(), &mut AtEnd<'_>) + 'a;

/// How the caller takes part in a search of several workers.
pub struct Team<'a> {
    /// Called on the OS thread of each worker; calls what it is given once.
    pub worker: &'a (dyn Fn(&mut RunWorker<'_>) + Sync),
    /// Called after each execution.
    pub wish: &'a (dyn Fn(Progress) -> Wish + Sync),
    /// Takes a checkpoint.
    pub keep: &'a (dyn Fn(&Checkpoint) + Sync),
}

/// What the workers share.
struct Common {
    left: Checkpoint,
    coverage: Coverage,
    /// Workers that wait for something to do, of those that work.
    waiting: usize,
    working: usize,
    done: bool,
}

struct Desk<'a> {
    common: Mutex<Common>,
    changed: Condvar,
    names: Names,
    /// How many wait: looked at without the lock.
    hungry: AtomicUsize,
    /// All are to put down what they have, for a checkpoint.
    pause: AtomicBool,
    stop: AtomicBool,
    team: &'a Team<'a>,
    config: &'a Config,
}

/// Takes up `from` and works on it with `jobs` workers, until nothing is left, a callback breaks
/// off or the caller wishes to stop. The counts are those of `from` and what was done since.
pub fn explore_team(config: &Config, from: Checkpoint, jobs: usize, team: &Team<'_>) -> Summary {
    let working = jobs.max(1);
    let names = Names::new(Mutex::new(from.names.clone()));
    let coverage = Coverage::Exhausted;
    let desk = Desk {
        common: Mutex::new(Common { left: from, coverage, waiting: 0, working, done: false }),
        changed: Condvar::new(),
        names,
        hungry: AtomicUsize::new(0),
        pause: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        team,
        config,
    };
    std::thread::scope(|scope| {
        for _ in 1..working {
            scope.spawn(|| desk.work());
        }
        desk.work();
    });
    let common = desk.common.into_inner().unwrap_or_else(PoisonError::into_inner);
    Summary { coverage: common.coverage, ..common.left.summary() }
}

/// A worker that panics must not leave the others waiting for it.
struct Leave<'a, 'b>(&'a Desk<'b>);

impl Drop for Leave<'_, '_> {
    fn drop(&mut self) {
        let mut common = self.0.common();
        common.working -= 1;
        if std::thread::panicking() {
            common.coverage = Coverage::Stopped;
        }
        self.0.changed.notify_all();
    }
}

impl Desk<'_> {
    fn common(&self) -> MutexGuard<'_, Common> {
        self.common.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let _leave = Leave(self);
        (self.team.worker)(&mut |program, at_end| {
            while let Some(tree) = self.take() {
                self.run(tree, program, at_end);
            }
        });
    }

    fn halts(&self) -> bool {
        self.pause.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Works on what it has; gives to those who have nothing.
    fn run(&self, mut tree: Tree, program: &dyn Fn(), at_end: &mut AtEnd<'_>) {
        let mut executions = 0;
        let mut broken_off = false;
        walk(self.config, program, &mut tree, &mut |e, tree| {
            executions += 1;
            if at_end(e).is_break() {
                broken_off = true;
                return ControlFlow::Break(());
            }
            let stored = tree.stack.len();
            match (self.team.wish)(Progress { executions, stored }) {
                Wish::GoOn => {}
                Wish::Checkpoint => self.pause.store(true, Ordering::Relaxed),
                Wish::Stop => self.stop.store(true, Ordering::Relaxed),
            }
            if stored > 1 && self.hungry.load(Ordering::Relaxed) > 0 {
                // The older half: those lead furthest.
                self.common().left.items.extend(tree.stack.drain(..stored / 2));
                self.changed.notify_all();
            }
            if self.halts() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        self.put_down(tree, broken_off);
    }

    fn put_down(&self, tree: Tree, broken_off: bool) {
        let mut common = self.common();
        let Summary { executions, blocked, steps, coverage } = tree.summary;
        common.left.executions += executions;
        common.left.blocked += blocked;
        common.left.steps += steps;
        common.left.items.extend(tree.stack);
        match coverage {
            Coverage::Exhausted => {}
            Coverage::Stopped if !broken_off => {}
            // A limit that was hit stays; the others end the search.
            Coverage::Cut(_) => common.coverage = coverage,
            _ => {
                common.coverage = coverage;
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Something to do, or nothing when all is done.
    fn take(&self) -> Option<Tree> {
        let mut common = self.common();
        common.waiting += 1;
        loop {
            if !common.done && common.waiting == common.working {
                self.all_wait(&mut common);
            }
            if common.done {
                return None;
            }
            if !self.halts() && !common.left.items.is_empty() {
                common.waiting -= 1;
                self.hungry.store(common.waiting, Ordering::Relaxed);
                let share = common.left.items.len().div_ceil(common.working);
                let rest = common.left.items.len() - share;
                let items = common.left.items.split_off(rest);
                return Some(Tree::of(items, self.names.clone(), self.left_of(&common)));
            }
            self.hungry.store(common.waiting, Ordering::Relaxed);
            common = self.changed.wait(common).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Executions that the limit leaves.
    fn left_of(&self, common: &Common) -> u64 {
        let done = common.left.executions + common.left.blocked;
        self.config.max_executions.saturating_sub(done)
    }

    /// Nobody has anything: a checkpoint is made, and it may be the end.
    fn all_wait(&self, common: &mut Common) {
        let stop = self.stop.load(Ordering::Relaxed);
        if self.halts() {
            let names = self.names.lock().unwrap_or_else(PoisonError::into_inner).clone();
            common.left.names = names;
            (self.team.keep)(&common.left);
            self.pause.store(false, Ordering::Relaxed);
        }
        common.done = stop || common.left.items.is_empty();
        if stop && !common.left.items.is_empty() && common.coverage == Coverage::Exhausted {
            common.coverage = Coverage::Stopped;
        }
        self.changed.notify_all();
    }
}
