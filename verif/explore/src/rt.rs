//! What a program under the explorer calls. Outside an execution, and while threads are unwound,
//! each of these works on the bare value or does nothing.
//!
//! Steps, and so scheduling points, are the operations on atomics and locks, and joins. Plain
//! accesses, fences, spawns and choices are carried out along with the step before them. Under a
//! search over graphs every operation that another thread can notice is an event.

use crate::alone::with_company;
use crate::coro::{park, Resume};
use crate::graph::{self, perform, RmwName, Want};
use crate::state::{Op, OpKind, State};
use crate::trace::{Limit, Loc, StepKind, What};
use std::cell::RefCell;
pub use std::sync::atomic::Ordering;

thread_local! {
    pub(crate) static STATE: RefCell<State> = RefCell::new(State::default());
}

pub(crate) fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|s| f(&mut s.borrow_mut()))
}

macro_rules! handle {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            run: u32,
            id: u32,
        }
    };
}

handle!(Atomic, "An atomic of the running execution.");
handle!(Plain, "A plain cell of the running execution; only its accesses are known here.");
handle!(Lock, "A lock of the running execution.");

/// Parks the running thread in front of `op`. False when the operation is not a step here.
fn before(op: Op, probe: &mut dyn FnMut(u64) -> bool) -> bool {
    let ready = with(|s| {
        let live = s.live();
        if let Some(thread) = live {
            s.threads[thread].op = op;
            s.threads[thread].probed = None;
        }
        live.is_some()
    });
    if ready && !with_company(&op, probe) {
        return true;
    }
    if ready {
        let mut answer = false;
        while let Resume::Probe(value) = park(answer) {
            answer = probe(value);
        }
    }
    ready
}

fn plain_step(kind: OpKind, object: u32, at: Loc) {
    before(Op { kind, object, at }, &mut |_| true);
}

/// The object's number, if the handle belongs to this execution.
fn own(run: u32, id: u32) -> Option<u32> {
    let (found, live) =
        with(|s| ((s.run == run && (id as usize) < s.objects.len()).then_some(id), s.live()));
    if found.is_none() && live.is_some() {
        panic!("an object of another execution is used");
    }
    found
}

fn value(id: u32) -> u64 {
    with(|s| s.objects[id as usize].value)
}

fn finish(id: u32, kind: StepKind, after: u64, order: Ordering, at: Loc) {
    with(|s| s.step_on(id, kind, after, order, at));
}

/// Under a search over graphs: the object's name, none when it belongs to another execution.
fn named(run: u32, id: u32) -> Option<Option<u32>> {
    let (known, live) = graph::with(|w| {
        let known = w.run == run && (id as usize) < w.objects.len();
        (known, w.live().is_some())
    })?;
    if !known && live {
        panic!("an object of another execution is used");
    }
    Some(known.then_some(id))
}

/// Carries out an operation that gives a value, under a search over graphs; outside an execution
/// gives the newest value.
fn graph_value(run: u32, id: u32, want: Want, at: Loc) -> Option<u64> {
    let id = match named(run, id)? {
        Some(id) => id,
        None => return Some(0),
    };
    let seen = perform(want, id, at);
    seen.or_else(|| graph::with(|w| w.objects[id as usize].last))
}

/// Read-modify-write under a search over graphs; the value seen, and whether it was replaced.
#[allow(unsafe_code)]
fn graph_rmw(
    (run, id): (u32, u32),
    next: &mut dyn FnMut(u64) -> Option<u64>,
    (success, failure): (Ordering, Ordering),
    name: RmwName,
    at: Loc,
) -> Option<Result<u64, u64>> {
    named(run, id)?;
    // SAFETY: only the lifetime changes. The search calls it while this thread is parked here.
    let shared: *mut graph::Next = unsafe { std::mem::transmute(next as *mut _) };
    let seen = graph_value(run, id, Want::Rmw(shared, success, failure, name), at)?;
    Some(if next(seen).is_some() { Ok(seen) } else { Err(seen) })
}

/// A new atomic of `bits` bits, 1 to 64.
pub fn atomic_new(init: u64, bits: u32) -> Atomic {
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    if let Some((run, id)) = graph::with(|w| w.new_object(init, mask)) {
        return Atomic { run, id };
    }
    with(|s| Atomic { run: s.run, id: s.new_object(init, mask) })
}

/// Atomic load.
pub fn load(atomic: Atomic, order: Ordering, at: Loc) -> u64 {
    if let Some(seen) = graph_value(atomic.run, atomic.id, Want::Load(order), at) {
        return seen;
    }
    let Some(id) = own(atomic.run, atomic.id) else { return 0 };
    plain_step(OpKind::Read, id, at);
    let seen = value(id);
    finish(id, StepKind::Load, seen, order, at);
    seen
}

/// Atomic store.
pub fn store(atomic: Atomic, value: u64, order: Ordering, at: Loc) {
    store_as(atomic, value, order, false, at);
}

/// Atomic store that may pass earlier stores of its thread to other objects: a write with PCIe
/// relaxed ordering, a write-combining store. Relaxed otherwise.
pub fn store_unord(atomic: Atomic, value: u64, at: Loc) {
    store_as(atomic, value, Ordering::Relaxed, true, at);
}

fn store_as(atomic: Atomic, value: u64, order: Ordering, unordered: bool, at: Loc) {
    let want = Want::Store(value, order, unordered);
    if graph_value(atomic.run, atomic.id, want, at).is_some() {
        return;
    }
    let Some(id) = own(atomic.run, atomic.id) else { return };
    plain_step(OpKind::Write, id, at);
    finish(id, StepKind::Store, value, order, at);
}

/// Atomic read-modify-write: `next` gives the new value, cut to the width. Gives the one before.
pub fn rmw(atomic: Atomic, next: impl Fn(u64) -> u64, order: Ordering, at: Loc) -> u64 {
    let whole = &mut |value| Some(next(value));
    let object = (atomic.run, atomic.id);
    if let Some(seen) = graph_rmw(object, whole, (order, order), RmwName::Rmw, at) {
        return seen.unwrap_or_else(|seen| seen);
    }
    let Some(id) = own(atomic.run, atomic.id) else { return 0 };
    plain_step(OpKind::Write, id, at);
    let seen = value(id);
    finish(id, StepKind::Rmw, next(seen), order, at);
    seen
}

/// Strong compare-exchange; a failed one is a read.
pub fn cas(
    atomic: Atomic,
    (expected, new): (u64, u64),
    (success, failure): (Ordering, Ordering),
    at: Loc,
) -> Result<u64, u64> {
    let next = &mut |value| (value == expected).then_some(new);
    let orders = (success, failure);
    if let Some(seen) = graph_rmw((atomic.run, atomic.id), next, orders, RmwName::Cas, at) {
        return seen;
    }
    let Some(id) = own(atomic.run, atomic.id) else { return Err(0) };
    plain_step(OpKind::Cas(expected), id, at);
    let seen = value(id);
    if seen == expected {
        finish(id, StepKind::Cas, new, success, at);
        Ok(seen)
    } else {
        finish(id, StepKind::CasFailed, seen, failure, at);
        Err(seen)
    }
}

/// One transition: `next` gives the new value or refuses, which is a relaxed read. `next` must be
/// a function of the value; it is called more than once.
pub fn update(
    atomic: Atomic,
    next: &mut dyn FnMut(u64) -> Option<u64>,
    order: Ordering,
    at: Loc,
) -> Result<u64, u64> {
    let orders = (order, Ordering::Relaxed);
    if let Some(seen) = graph_rmw((atomic.run, atomic.id), next, orders, RmwName::Update, at) {
        return seen;
    }
    let Some(id) = own(atomic.run, atomic.id) else { return Err(0) };
    before(Op { kind: OpKind::Update, object: id, at }, &mut |v| next(v).is_some());
    let seen = value(id);
    match next(seen) {
        Some(new) => {
            finish(id, StepKind::Update, new, order, at);
            Ok(seen)
        }
        None => {
            finish(id, StepKind::UpdateRefused, seen, Ordering::Relaxed, at);
            Err(seen)
        }
    }
}

/// Blocks until `ready(value)` and gives that value. `ready` must be a function of the value.
/// Outside an execution it gives the value as it is.
#[allow(unsafe_code)]
pub fn wait(atomic: Atomic, ready: &dyn Fn(u64) -> bool, order: Ordering, at: Loc) -> u64 {
    // SAFETY: only the lifetime changes. The search calls it while this thread is parked here.
    let shared: *const graph::Ready = unsafe { std::mem::transmute(std::ptr::from_ref(ready)) };
    if let Some(seen) = graph_value(atomic.run, atomic.id, Want::Wait(shared, order), at) {
        return seen;
    }
    let Some(id) = own(atomic.run, atomic.id) else { return 0 };
    if !before(Op { kind: OpKind::Wait, object: id, at }, &mut |v| ready(v)) {
        return value(id);
    }
    if let Some(thread) = with(|s| s.current.filter(|_| s.analyse)) {
        // The predicate is the program's: it runs while the state is not borrowed.
        let chain: Vec<_> = with(|s| s.unknown_writes(thread, id).collect());
        let enabling = chain.into_iter().find(|&(_, before)| ready(before));
        with(|s| s.reverse_blocking(thread, enabling));
    }
    let seen = value(id);
    finish(id, StepKind::Wait, seen, order, at);
    seen
}

/// A new plain cell; a race on it is reported as `what`.
pub fn plain_new(what: What, at: Loc) -> Plain {
    if let Some((run, id)) = graph::with(|w| w.new_cell(what, at)) {
        return Plain { run, id };
    }
    with(|s| Plain { run: s.run, id: s.new_cell(what, at) })
}

fn access(plain: Plain, write: bool, at: Loc) {
    let stuck = graph::with(|w| {
        w.access(plain.run, plain.id, write, at);
        w.tick()
    });
    if let Some(stuck) = stuck {
        return stop_if(stuck, at);
    }
    let stuck = with(|s| {
        if s.run == plain.run {
            s.access(plain.id, write, at);
        }
        s.tick()
    });
    stop_if(stuck, at);
}

/// The cell is read.
pub fn read(plain: Plain, at: Loc) {
    access(plain, false, at);
}

/// The cell is written.
pub fn write(plain: Plain, at: Loc) {
    access(plain, true, at);
}

/// A new lock.
pub fn lock_new() -> Lock {
    if let Some((run, id)) = graph::with(|w| w.new_object(0, u64::MAX)) {
        return Lock { run, id };
    }
    with(|s| Lock { run: s.run, id: s.new_object(0, u64::MAX) })
}

/// Takes the lock; disabled while it is held, also by the running thread.
pub fn lock(lock: Lock, at: Loc) {
    if graph_value(lock.run, lock.id, Want::Lock, at).is_some() {
        return;
    }
    let Some(id) = own(lock.run, lock.id) else { return };
    if !before(Op { kind: OpKind::Lock, object: id, at }, &mut |_| true) {
        return;
    }
    with(|s| {
        let Some(thread) = s.current else { return };
        if s.analyse {
            let enabling = s.unknown_writes(thread, id).find(|w| w.1 == 0);
            s.reverse_blocking(thread, enabling);
        }
        s.step_on(id, StepKind::Lock, thread as u64 + 1, Ordering::Acquire, at);
    });
}

/// Gives the lock back.
pub fn unlock(lock: Lock, at: Loc) {
    if graph_value(lock.run, lock.id, Want::Unlock, at).is_some() {
        return;
    }
    let Some(id) = own(lock.run, lock.id) else { return };
    plain_step(OpKind::Write, id, at);
    finish(id, StepKind::Unlock, 0, Ordering::Release, at);
}

/// A memory fence.
#[track_caller]
pub fn fence(order: Ordering) {
    fence_at(order, std::panic::Location::caller());
}

/// A memory fence on behalf of the code at `at`.
pub fn fence_at(order: Ordering, at: Loc) {
    let parks = graph::with(|w| {
        if let Some(thread) = w.live() {
            let view = &mut w.slots[thread].view;
            view.fence(order);
            view.clock_bump(thread);
        }
        w.weak || w.fences && order == Ordering::SeqCst
    });
    match parks {
        Some(true) => drop(perform(Want::Fence(order), 0, at)),
        Some(false) => {}
        None => with(|s| s.fence(order)),
    }
}

/// Starts a thread; gives its number, in order of spawning.
pub fn spawn(body: Box<dyn FnOnce()>, at: Loc) -> usize {
    graph::end_alone();
    // What cannot be started is given back, to be dropped while the state is not borrowed.
    let mut body = Some(body);
    let started = graph::with(|w| body.take().map(|b| w.spawn(b)));
    let started = match (started, body) {
        (Some(Some(started)), _) => started,
        (_, Some(body)) => with(|s| s.spawn(body)),
        (_, None) => return 0,
    };
    match started {
        Ok(child) => child,
        Err(body) => {
            drop(body);
            let limit = graph::with(|w| {
                let live = w.live().is_some();
                w.limit = w.limit.or(live.then_some(Limit::Threads));
                live
            });
            if let Some(over) = limit {
                stop_if(over, at);
                return 0;
            }
            let over = with(|s| {
                let live = s.live().is_some();
                s.limit = s.limit.or(live.then_some(Limit::Threads));
                live
            });
            stop_if(over, at);
            0
        }
    }
}

/// Waits until `thread` has ended.
pub fn join(thread: usize, at: Loc) {
    let born = graph::with(|w| w.slots.get(thread).is_some_and(|s| s.born));
    if let Some(born) = born {
        if born {
            perform(Want::Join(thread), 0, at);
        }
        return;
    }
    let known = with(|s| thread < s.threads.len());
    if !known || !before(Op { kind: OpKind::Join, object: thread as u32, at }, &mut |_| true) {
        return;
    }
    with(|s| s.joined(thread, at));
}

/// Waits until no other thread can go on; what all of them did happens before.
pub fn rest(at: Loc) {
    if graph::with(|_| ()).is_some() {
        perform(Want::Rest, 0, at);
        return;
    }
    if before(Op { kind: OpKind::Rest, object: 0, at }, &mut |_| true) {
        with(|s| s.rested(at));
    }
}

/// Number of the running thread; 0 outside.
pub fn thread() -> usize {
    let current = graph::with(|w| w.current).unwrap_or_else(|| with(|s| s.current));
    current.unwrap_or(0)
}

/// Asks that others go first. Under a search over graphs a thread that comes back here and only
/// read in between waits until it would see other values; a loop that never does is told as a
/// deadlock in a load. Under the other searches it is only a hint: a spin loop ends at the limit of
/// steps, so use [`wait`].
pub fn yield_now(at: Loc) {
    if let Some(stuck) = graph::with(|w| w.tick()) {
        if !stuck {
            perform(Want::Yield, 0, at);
        }
        return stop_if(stuck, at);
    }
    let stuck = with(|s| {
        if let Some(thread) = s.live() {
            s.threads[thread].yielded = true;
        }
        s.tick()
    });
    stop_if(stuck, at);
}

/// A number below `n`; the search tries each. 0 outside or when `n` is 0.
pub fn choose(n: usize, at: Loc) -> usize {
    let stuck = graph::with(|w| w.tick()).unwrap_or_else(|| with(State::tick));
    stop_if(stuck, at);
    // A choice of one is none, and a schedule keeps choices in 16 bits.
    let n = n.min(usize::from(u16::MAX));
    if graph::with(|_| ()).is_some() {
        let made = (n >= 2).then(|| perform(Want::Choose(n), 0, at)).flatten();
        return made.unwrap_or(0) as usize;
    }
    if n < 2 || !before(Op { kind: OpKind::Choose(n), object: 0, at }, &mut |_| true) {
        return 0;
    }
    with(|s| s.answer)
}

/// Goes on only if `holds`: executions in which it does not are not looked at. Under the other
/// searches such a thread blocks.
pub fn assume(holds: bool, at: Loc) {
    if holds {
        return;
    }
    if graph::with(|_| ()).is_some() {
        perform(Want::Assume, 0, at);
    } else {
        before(Op { kind: OpKind::Stuck, object: 0, at }, &mut |_| false);
    }
}

/// Names this moment: steps taken so far in this execution or, under a search over graphs, the
/// running thread and its operations so far. [`crate::Execution::place_of`] gives the steps.
pub fn step() -> u64 {
    let moment = graph::with(|w| {
        let thread = w.current.unwrap_or(0);
        (thread as u64) << 32 | w.slots.get(thread).map_or(0, |s| s.done.len() as u64)
    });
    if let Some(moment) = moment {
        return moment;
    }
    with(|s| s.steps.len() as u64)
}

fn stop_if(stuck: bool, at: Loc) {
    if stuck {
        if graph::with(|w| w.limit = w.limit.or(Some(Limit::Steps))).is_some() {
            perform(Want::Stuck, 0, at);
            return;
        }
        with(|s| s.limit = s.limit.or(Some(Limit::Steps)));
        before(Op { kind: OpKind::Stuck, object: 0, at }, &mut |_| false);
    }
}
