//! Happens-before as C11 defines it, and the races on plain cells that it leaves.
//!
//! Interleavings are sequentially consistent, so values are never stale; what a missing release or
//! acquire breaks is the order of the plain accesses around it, and that is what is looked for.

use crate::clock::{Clock, MAX_THREADS};
use crate::trace::{Access, Loc, Race, What};
use std::sync::atomic::Ordering;

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

/// What a thread knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadView {
    /// What happens before its next access.
    pub(crate) clock: Clock,
    /// What an acquire fence would add: seen by relaxed loads.
    seen: Clock,
    /// What a relaxed store gives on: the clock at the last release fence.
    fenced: Clock,
}

impl ThreadView {
    /// The view of the first thread, or of a child of `parent`.
    pub(crate) fn begin(thread: usize, parent: Option<&ThreadView>) -> Self {
        let mut view = ThreadView::default();
        if let Some(parent) = parent {
            view.clock = parent.clock;
        }
        view.clock.set(thread, 1);
        view
    }

    /// A load that reads a value whose writer gave on `sync`.
    pub(crate) fn load(&mut self, sync: &Clock, order: Ordering) {
        if acquires(order) {
            self.clock.join(sync);
        } else {
            self.seen.join(sync);
        }
    }

    /// What a store gives on. It ends the release sequence of the value before.
    pub(crate) fn store(&self, order: Ordering) -> Clock {
        if releases(order) {
            self.clock
        } else {
            self.fenced
        }
    }

    /// Moves on, so that what comes is told from what was.
    #[inline]
    pub(crate) fn clock_bump(&mut self, thread: usize) {
        self.clock.bump(thread);
    }

    /// Comes after all that `other` did.
    pub(crate) fn clock_join(&mut self, other: &ThreadView) {
        self.clock.join(&other.clock);
    }

    /// A fence. That sequentially consistent fences order one another adds nothing to C11's
    /// happens-before, so such a fence is acquire and release here.
    pub(crate) fn fence(&mut self, order: Ordering) {
        if acquires(order) {
            let seen = self.seen;
            self.clock.join(&seen);
        }
        if releases(order) {
            self.fenced = self.clock;
        }
    }
}

#[derive(Clone, Copy)]
struct Epoch {
    time: u32,
    step: u32,
    at: Loc,
}

/// Last accesses to a plain cell.
pub(crate) struct PlainState {
    what: What,
    writer: usize,
    write: Epoch,
    /// One for each thread; time 0 is none.
    reads: [Epoch; MAX_THREADS],
    read_by: u16,
}

/// More races of one execution tell nothing new.
const RACES_MAX: usize = 16;

impl PlainState {
    /// A cell made by `thread`, which counts as its first write.
    pub(crate) fn new(what: What, thread: usize, view: &ThreadView, step: u32, at: Loc) -> Self {
        let write = Epoch { time: view.clock.get(thread), step, at };
        let reads = [Epoch { time: 0, step: 0, at }; MAX_THREADS];
        Self { what, writer: thread, write, reads, read_by: 0 }
    }

    pub(crate) fn access(
        &mut self,
        write: bool,
        thread: usize,
        view: &ThreadView,
        (step, at): (u32, Loc),
        races: &mut Vec<Race>,
    ) {
        let now = Epoch { time: view.clock.get(thread), step, at };
        let second = Access { thread, step: step.into(), write, at };
        self.check(true, self.writer, self.write, second, view, races);
        if !write {
            self.reads[thread] = now;
            self.read_by |= 1 << thread;
            return;
        }
        let mut readers = self.read_by;
        while readers != 0 {
            let reader = readers.trailing_zeros() as usize;
            readers &= readers - 1;
            self.check(false, reader, self.reads[reader], second, view, races);
        }
        (self.writer, self.write, self.read_by) = (thread, now, 0);
    }

    fn check(
        &self,
        write: bool,
        thread: usize,
        before: Epoch,
        second: Access,
        view: &ThreadView,
        races: &mut Vec<Race>,
    ) {
        if thread == second.thread || before.time <= view.clock.get(thread) {
            return;
        }
        let first = Access { thread, step: before.step.into(), write, at: before.at };
        let known =
            |r: &Race| r.what == self.what && (r.first.at, r.second.at) == (first.at, second.at);
        if races.len() < RACES_MAX && !races.iter().any(known) {
            races.push(Race { what: self.what, first, second });
        }
    }
}
