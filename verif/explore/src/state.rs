//! State of the execution that runs: objects, threads, and the effect of each operation.

use crate::clock::{Clock, MAX_THREADS};
use crate::race::{PlainState, ThreadView};
use crate::trace::{Limit, Loc, Race, Step, StepKind, What};
use std::panic::Location;
use std::sync::atomic::Ordering;

/// Operations between two steps before a thread counts as running forever.
const IDLE_MAX: u64 = 10_000_000;

/// What a parked thread wants to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    /// A step that is a read whatever the value is.
    Read,
    /// A step that is a write whatever the value is.
    Write,
    /// Compare-exchange: a write when the object holds this value.
    Cas(u64),
    /// Closure transition: its probe says whether it writes.
    Update,
    /// Disabled until its probe says so.
    Wait,
    /// Disabled while held.
    Lock,
    /// Disabled until the thread has ended.
    Join,
    /// Disabled while any other thread can run.
    Rest,
    /// A choice, taken at once.
    Choose(usize),
    /// Over a limit.
    Stuck,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) kind: OpKind,
    pub(crate) object: u32,
    pub(crate) at: Loc,
}

pub(crate) struct Thread {
    pub(crate) op: Op,
    pub(crate) ended: bool,
    /// Asked others to go first.
    pub(crate) yielded: bool,
    /// Last probe of the present wait: writes to the object by then, and the answer.
    pub(crate) probed: Option<(u32, bool)>,
    /// Steps that happen before its next one, by program order and conflicts.
    pub(crate) past: Clock,
    pub(crate) view: ThreadView,
}

pub(crate) struct Object {
    pub(crate) value: u64,
    mask: u64,
    /// Number of writes, to know when a probe is stale.
    pub(crate) writes: u32,
    /// Last step on it plus one, and last write.
    last: u32,
    last_write: u32,
    /// Steps before the next read, and before the next write.
    before_read: Clock,
    before_write: Clock,
    /// What a load that reads the present value may acquire.
    sync: Clock,
}

/// Two steps to be tried the other way round.
pub(crate) struct Reversal {
    /// The earlier step.
    pub(crate) first: u32,
    /// The later one; the number of steps when its thread could not take it.
    pub(crate) second: u32,
    /// Thread of the later one.
    pub(crate) thread: usize,
    /// What happens before the later one when the earlier one is gone.
    pub(crate) past: Clock,
}

#[derive(Default)]
pub(crate) struct State {
    /// Number of the execution: handles of another one are refused.
    pub(crate) run: u32,
    /// Thread that runs; none outside and during probes.
    pub(crate) current: Option<usize>,
    /// Threads are being unwound: operations do nothing.
    pub(crate) aborting: bool,
    pub(crate) threads: Vec<Thread>,
    pub(crate) newborn: Vec<Box<dyn FnOnce()>>,
    pub(crate) objects: Vec<Object>,
    pub(crate) cells: Vec<PlainState>,
    pub(crate) steps: Vec<Step>,
    pub(crate) races: Vec<Race>,
    pub(crate) reversals: Vec<Reversal>,
    /// Whether steps look for reversals.
    pub(crate) analyse: bool,
    pub(crate) answer: usize,
    pub(crate) limit: Option<Limit>,
    pub(crate) panicked: Option<(usize, String)>,
    /// Operations since the last step that are no steps.
    pub(crate) idle: u64,
    pub(crate) max_threads: usize,
}

impl State {
    /// Forgets the last execution and makes the first thread.
    pub(crate) fn begin(&mut self) {
        self.run = self.run.wrapping_add(1);
        self.objects.clear();
        self.cells.clear();
        self.steps.clear();
        self.races.clear();
        self.reversals.clear();
        self.threads.clear();
        self.newborn.clear();
        (self.current, self.aborting, self.analyse) = (None, false, false);
        (self.limit, self.panicked, self.idle) = (None, None, 0);
        self.threads.push(Thread::new(0, None));
    }

    /// The running thread, if its operations count now: not outside, not while it is unwound.
    pub(crate) fn live(&self) -> Option<usize> {
        self.current.filter(|_| !self.aborting && !std::thread::panicking())
    }

    /// Whether a thread that makes no step has run for too long.
    pub(crate) fn tick(&mut self) -> bool {
        self.idle += u64::from(self.live().is_some());
        self.idle > IDLE_MAX
    }

    /// Whether the running thread is the first and nobody else was ever there.
    pub(crate) fn is_alone(&self) -> bool {
        self.threads.len() == 1 && self.live().is_some()
    }

    /// Whether a thread can take its step; none when its predicate must be asked.
    pub(crate) fn readiness(&self, thread: usize) -> Option<bool> {
        let t = &self.threads[thread];
        match t.op.kind {
            OpKind::Lock => Some(self.objects[t.op.object as usize].value == 0),
            OpKind::Join => Some(self.threads[t.op.object as usize].ended),
            OpKind::Wait => {
                let (writes, ready) = t.probed?;
                (self.objects[t.op.object as usize].writes == writes).then_some(ready)
            }
            OpKind::Rest | OpKind::Stuck => Some(false),
            _ => Some(true),
        }
    }

    /// Threads that a lock or a value keeps from their step.
    pub(crate) fn disabled(&self) -> u16 {
        let blocked = |t: &Thread| !t.ended && matches!(t.op.kind, OpKind::Lock | OpKind::Wait);
        let threads = self.threads.iter().enumerate();
        threads
            .filter(|(i, t)| blocked(t) && self.readiness(*i) == Some(false))
            .fold(0, |all, (i, _)| all | 1 << i)
    }

    /// Value that a parked thread would meet, and the writes that led to it.
    pub(crate) fn pending_value(&self, thread: usize) -> (u64, u32) {
        let o = &self.objects[self.threads[thread].op.object as usize];
        (o.value, o.writes)
    }

    /// Threads that hold a lock, as bits. Values of atomics may look like holders: harmless.
    pub(crate) fn holders(&self) -> u16 {
        let held = |o: &Object| (1..=MAX_THREADS as u64).contains(&o.value);
        self.objects.iter().filter(|o| held(o)).fold(0, |all, o| all | 1 << (o.value - 1))
    }

    pub(crate) fn step_count(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn new_object(&mut self, value: u64, mask: u64) -> u32 {
        let id = self.objects.len() as u32;
        self.objects.push(Object {
            value: value & mask,
            mask,
            writes: 0,
            last: 0,
            last_write: 0,
            before_read: Clock::ZERO,
            before_write: Clock::ZERO,
            sync: Clock::ZERO,
        });
        id
    }

    pub(crate) fn new_cell(&mut self, what: What, at: Loc) -> u32 {
        let id = self.cells.len() as u32;
        let thread = self.current.unwrap_or(0);
        let step = self.step_count();
        if let Some(t) = self.threads.get(thread) {
            self.cells.push(PlainState::new(what, thread, &t.view, step, at));
        }
        id
    }

    pub(crate) fn access(&mut self, cell: u32, write: bool, at: Loc) {
        let Some(thread) = self.live() else { return };
        let stamp = (self.step_count(), at);
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            let view = &self.threads[thread].view;
            cell.access(write, thread, view, stamp, &mut self.races);
        }
    }

    pub(crate) fn fence(&mut self, order: Ordering) {
        if let Some(thread) = self.live() {
            let view = &mut self.threads[thread].view;
            view.fence(order);
            view.clock.bump(thread);
        }
    }

    /// A child of the running thread; the body comes back when there are too many, or when
    /// nothing runs.
    pub(crate) fn spawn(&mut self, body: Box<dyn FnOnce()>) -> Result<usize, Box<dyn FnOnce()>> {
        let id = self.threads.len();
        let Some(parent) = self.live().filter(|_| id < self.max_threads.min(MAX_THREADS)) else {
            return Err(body);
        };
        let child = Thread::new(id, Some(&self.threads[parent]));
        self.threads[parent].view.clock.bump(parent);
        self.threads.push(child);
        self.newborn.push(body);
        Ok(id)
    }

    /// A step on `object` that leaves `after` there; `order` is that of the read and the write.
    pub(crate) fn step_on(
        &mut self,
        object: u32,
        kind: StepKind,
        after: u64,
        order: Ordering,
        at: Loc,
    ) {
        let o = &mut self.objects[object as usize];
        let before = o.value;
        let after = if kind.writes() { after & o.mask } else { before };
        o.value = after;
        let Some(thread) = self.live().filter(|_| self.threads.len() > 1) else { return };
        let o = &mut self.objects[object as usize];
        let view = &mut self.threads[thread].view;
        match kind {
            StepKind::Store | StepKind::Unlock => o.sync = view.store(order),
            _ => {
                view.load(&o.sync, order);
                // A read-modify-write goes on with the release sequence that it reads from.
                if kind.writes() {
                    o.sync.join(&view.store(order));
                }
            }
        }
        view.clock.bump(thread);
        if self.analyse && !matches!(kind, StepKind::Lock | StepKind::Wait) {
            self.find_races(thread, object, kind.writes());
        }
        self.record(thread, object, kind, (before, after), at);
    }

    fn record(&mut self, thread: usize, object: u32, kind: StepKind, values: (u64, u64), at: Loc) {
        let o = &mut self.objects[object as usize];
        let t = &mut self.threads[thread];
        let (before, after) = values;
        let num = t.past.get(thread) + 1;
        t.past.set(thread, num);
        let (prev, prev_write) = (o.last, o.last_write);
        o.last = self.steps.len() as u32 + 1;
        if kind.writes() {
            t.past.join(&o.before_write);
            o.before_read = t.past;
            o.before_write = t.past;
            o.last_write = o.last;
            o.writes += 1;
        } else {
            t.past.join(&o.before_read);
            o.before_write.join(&t.past);
        }
        let clock = t.past;
        self.idle = 0;
        self.steps.push(Step {
            thread,
            kind,
            object,
            before,
            after,
            at,
            num,
            clock,
            prev,
            prev_write,
            reads_from: None,
            position: 0,
            stale: false,
        });
    }

    /// The running thread has seen the end of `other`.
    pub(crate) fn joined(&mut self, other: usize, at: Loc) {
        let (past, clock) = (self.threads[other].past, self.threads[other].view.clock);
        self.follow(StepKind::Join, other as u32, &past, &clock, at);
    }

    /// The running thread has seen that nobody else can go on: all that they did is before it.
    pub(crate) fn rested(&mut self, at: Loc) {
        let (mut past, mut clock) = (Clock::ZERO, Clock::ZERO);
        for other in &self.threads {
            past.join(&other.past);
            clock.join(&other.view.clock);
        }
        self.follow(StepKind::Rest, 0, &past, &clock, at);
    }

    /// A step on no object: the running thread comes after what others did.
    fn follow(&mut self, kind: StepKind, object: u32, past: &Clock, clock: &Clock, at: Loc) {
        let Some(thread) = self.current else { return };
        let t = &mut self.threads[thread];
        t.view.clock.join(clock);
        let num = t.past.get(thread) + 1;
        t.past.set(thread, num);
        t.past.join(past);
        self.idle = 0;
        self.steps.push(Step {
            thread,
            kind,
            object,
            before: 0,
            after: 0,
            at,
            reads_from: None,
            position: 0,
            stale: false,
            num,
            clock: t.past,
            prev: 0,
            prev_write: 0,
        });
    }

    /// Finds the steps that `thread`, about to step on `object`, could have come before.
    fn find_races(&mut self, thread: usize, object: u32, write: bool) {
        let past = self.threads[thread].past;
        let o = &self.objects[object as usize];
        let second = self.steps.len() as u32;
        let unordered = |s: &Step| past.get(s.thread) < s.num;
        let mut at = if write { o.last } else { o.last_write };
        let found_from = self.reversals.len();
        while at != 0 {
            let first = at - 1;
            let step = &self.steps[first as usize];
            if step.kind.writes() {
                // Reads of this value stand between: they happen after it and are found instead.
                if unordered(step) && (at == o.last || !write) {
                    self.reversals.push(Reversal { first, second, thread, past });
                }
                return;
            }
            let covered = self.reversals[found_from..]
                .iter()
                .any(|r| self.steps[r.first as usize].clock.get(step.thread) >= step.num);
            if step.thread != thread && unordered(step) && !covered {
                let mut past = past;
                past.join(&o.before_write);
                self.reversals.push(Reversal { first, second, thread, past });
            }
            at = step.prev;
        }
    }

    /// Writes to `object` that `thread` does not know of, newest first: step and value before it.
    pub(crate) fn unknown_writes(
        &self,
        thread: usize,
        object: u32,
    ) -> impl Iterator<Item = (u32, u64)> + '_ {
        let past = self.threads[thread].past;
        let mut at = self.objects[object as usize].last_write;
        std::iter::from_fn(move || {
            let index = at.checked_sub(1)?;
            let step = &self.steps[index as usize];
            at = step.prev_write;
            (past.get(step.thread) < step.num).then_some((index, step.before))
        })
        .fuse()
    }

    /// An operation of `thread` that blocks could have come before this write: the last one before
    /// which it was enabled. For a lock that is the taking by another thread, not the giving back.
    pub(crate) fn reverse_blocking(&mut self, thread: usize, enabling: Option<(u32, u64)>) {
        if let Some((first, _)) = enabling {
            let (second, past) = (self.steps.len() as u32, self.threads[thread].past);
            self.reversals.push(Reversal { first, second, thread, past });
        }
    }
}

impl Thread {
    fn new(id: usize, parent: Option<&Thread>) -> Self {
        let op = Op { kind: OpKind::Stuck, object: 0, at: Location::caller() };
        let view = ThreadView::begin(id, parent.map(|p| &p.view));
        let past = parent.map_or(Clock::ZERO, |p| p.past);
        Self { op, ended: false, yielded: false, probed: None, past, view }
    }
}
