//! What a program under a graph search touches: its threads' next operations, its objects, its
//! plain cells. The search reads operations here and leaves answers; [`crate::rt`] does the
//! reverse.

use super::Model;
use crate::arena;
use crate::clock::MAX_THREADS;
use crate::coro::{park, Resume};
use crate::race::{PlainState, ThreadView};
use crate::trace::{Limit, Loc, Race, StepKind, What};
use crate::Config;
use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Predicate of a wait.
pub(crate) type Ready = dyn Fn(u64) -> bool;
/// Transition of a read-modify-write: the new value, or none.
pub(crate) type Next = dyn FnMut(u64) -> Option<u64>;

/// What a parked thread wants to do. Pointers lead to its stack, which stays while it is parked.
#[derive(Clone, Copy)]
pub(crate) enum Want {
    Load(Ordering),
    /// Value; whether it may pass earlier stores.
    Store(u64, Ordering, bool),
    /// Orders of success and refusal; what it is called.
    Rmw(*mut Next, Ordering, Ordering, RmwName),
    Wait(*const Ready, Ordering),
    Lock,
    Unlock,
    Fence(Ordering),
    Join(usize),
    Rest,
    Choose(usize),
    Yield,
    Assume,
    Stuck,
}

/// Which read-modify-write it is, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RmwName {
    Rmw,
    Cas,
    Update,
}

impl RmwName {
    pub(crate) fn step(self, done: bool) -> StepKind {
        match (self, done) {
            (Self::Rmw, _) => StepKind::Rmw,
            (Self::Cas, true) => StepKind::Cas,
            (Self::Cas, false) => StepKind::CasFailed,
            (Self::Update, true) => StepKind::Update,
            (Self::Update, false) => StepKind::UpdateRefused,
        }
    }
}

/// An operation that was carried out, in the order of its thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) kind: StepKind,
    /// Location; of a join the thread, of a choice the number.
    pub(crate) object: u16,
    /// Its last event; none of joins.
    pub(crate) event: Option<u16>,
    pub(crate) before: u64,
    pub(crate) after: u64,
    pub(crate) at: Loc,
}

pub(crate) struct Slot {
    pub(crate) born: bool,
    pub(crate) ended: bool,
    pub(crate) want: Want,
    pub(crate) loc: u16,
    pub(crate) at: Loc,
    pub(crate) answer: u64,
    pub(crate) view: ThreadView,
    pub(crate) done: Vec<Done>,
    /// Operations carried out by the last yield.
    pub(crate) yielded: Option<usize>,
    /// Parent, and how many operations it had carried out.
    pub(crate) birth: (usize, usize),
    objects: u16,
    children: u16,
}

impl Slot {
    fn new() -> Self {
        Self {
            born: false,
            ended: false,
            want: Want::Stuck,
            loc: 0,
            at: Location::caller(),
            answer: 0,
            view: ThreadView::default(),
            done: Vec::new(),
            yielded: None,
            birth: (0, 0),
            objects: 0,
            children: 0,
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Object {
    pub(crate) init: u64,
    pub(crate) mask: u64,
    /// The newest value, at the end of an execution.
    pub(crate) last: u64,
}

/// Handles of graph executions have this bit in their run number: those of other searches do not.
const RUN: u32 = 1 << 31;
/// Objects that one thread may make.
const OBJECTS_MAX: u16 = u16::MAX / MAX_THREADS as u16 - 1;
/// Operations between two steps before a thread counts as running forever.
const IDLE_MAX: u64 = 10_000_000;

/// A thread that was started and has not run yet: parent, number and body.
pub(crate) type Newborn = (usize, usize, Box<dyn FnOnce()>);

/// Parent and how many children it had before, of each thread but the first; shared by workers.
pub(crate) type Names = Arc<Mutex<Vec<(u8, u16)>>>;

#[derive(Default)]
pub(crate) struct World {
    pub(crate) run: u32,
    pub(crate) current: Option<usize>,
    pub(crate) aborting: bool,
    pub(crate) slots: Vec<Slot>,
    pub(crate) newborn: Vec<Newborn>,
    pub(crate) objects: Vec<Object>,
    cells: Vec<PlainState>,
    pub(crate) races: Vec<Race>,
    pub(crate) limit: Option<Limit>,
    pub(crate) panicked: Option<(usize, String)>,
    /// What is known here of the names of all threads.
    known: Vec<(u8, u16)>,
    names: Names,
    /// Whether acquire and release fences mean anything to the model.
    pub(crate) weak: bool,
    /// Whether a sequentially consistent one does.
    pub(crate) fences: bool,
    pub(crate) max_threads: usize,
    idle: u64,
    /// Only the first thread was ever there, so what it does needs no events.
    alone: bool,
    /// Locks that it took meanwhile and still has.
    held: Vec<(u32, Loc)>,
}

thread_local! {
    static WORLD: Cell<*mut World> = const { Cell::new(ptr::null_mut()) };
}

/// The world of the graph search on this OS thread, for one call.
#[allow(unsafe_code)]
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut World) -> R) -> Option<R> {
    let world = WORLD.get();
    if world.is_null() {
        return None;
    }
    // SAFETY: `Shared` keeps the world alive while the pointer is set. Coroutines and the search
    // run on one OS thread and take turns; no borrow is held across a switch, and `f` calls nothing
    // that comes back here.
    Some(arena::outside(|| f(unsafe { &mut *world })))
}

/// Takes the present world away; it comes back when dropped.
pub(crate) struct Entered(*mut World);

impl Entered {
    /// No world is in place.
    pub(crate) fn none() -> Self {
        Self(WORLD.replace(ptr::null_mut()))
    }
}

/// A world in place, shared by the search and the program that it runs.
pub(crate) struct Shared {
    world: *mut World,
    _before: Entered,
}

impl Shared {
    pub(crate) fn new(world: World) -> Self {
        let world = Box::into_raw(Box::new(world));
        Self { world, _before: Entered(WORLD.replace(world)) }
    }
}

impl Drop for Shared {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: it came from a box; the field dropped next takes the pointer out of reach, and
        // nothing of the program runs in between.
        drop(unsafe { Box::from_raw(self.world) });
    }
}

impl std::ops::Deref for Shared {
    type Target = World;
    #[allow(unsafe_code)]
    fn deref(&self) -> &World {
        // SAFETY: see `with`: whoever holds this reference does not switch to a coroutine.
        unsafe { &*self.world }
    }
}

impl std::ops::DerefMut for Shared {
    #[allow(unsafe_code)]
    fn deref_mut(&mut self) -> &mut World {
        // SAFETY: as above.
        unsafe { &mut *self.world }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        WORLD.set(self.0);
    }
}

impl World {
    pub(crate) fn new(config: &Config, names: Names) -> Self {
        let weak = config.model.is_weak();
        let fences = weak || config.model == Model::Tso;
        Self { weak, fences, max_threads: config.max_threads, names, ..Self::default() }
    }

    /// Forgets the last execution.
    pub(crate) fn begin(&mut self) {
        self.run = (self.run + 1) | RUN;
        for slot in &mut self.slots {
            (slot.born, slot.ended, slot.objects, slot.children) = (false, false, 0, 0);
            slot.done.clear();
            slot.yielded = None;
        }
        self.cells.clear();
        self.races.clear();
        self.newborn.clear();
        (self.current, self.aborting, self.limit) = (None, false, None);
        (self.panicked, self.idle) = (None, 0);
        self.alone = true;
        self.held.clear();
        self.born(0, None);
    }

    /// Whether the running thread is the first and has never had company: then all that it does is
    /// before all that others will do, and only the values that it leaves matter.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone && self.live().is_some()
    }

    /// The value that a thread which is alone finds.
    fn found_alone(&self, loc: u32) -> Option<u64> {
        self.is_alone().then(|| self.objects[loc as usize].init)
    }

    fn leave_alone(&mut self, loc: u32, value: u64) {
        let object = &mut self.objects[loc as usize];
        object.init = value & object.mask;
        object.last = object.init;
    }

    pub(crate) fn born(&mut self, thread: usize, parent: Option<usize>) {
        while self.slots.len() <= thread {
            self.slots.push(Slot::new());
        }
        let view = ThreadView::begin(thread, parent.map(|p| &self.slots[p].view));
        let birth = parent.map_or((0, 0), |p| (p, self.slots[p].done.len()));
        let slot = &mut self.slots[thread];
        (slot.born, slot.view, slot.birth) = (true, view, birth);
    }

    /// The running thread, if its operations count now: not outside, not while it is unwound.
    pub(crate) fn live(&self) -> Option<usize> {
        self.current.filter(|_| !self.aborting && !std::thread::panicking())
    }

    pub(crate) fn new_object(&mut self, init: u64, mask: u64) -> (u32, u32) {
        let thread = self.current.unwrap_or(0);
        let slot = &mut self.slots[thread];
        if slot.objects >= OBJECTS_MAX {
            self.limit = Some(Limit::Objects);
            return (self.run, 0);
        }
        // The name does not depend on the order in which threads run.
        let id = usize::from(slot.objects) * MAX_THREADS + thread;
        slot.objects += 1;
        if self.objects.len() <= id {
            self.objects.resize(id + 1, Object::default());
        }
        let value = init & mask;
        self.objects[id] = Object { init: value, mask, last: value };
        (self.run, id as u32)
    }

    pub(crate) fn new_cell(&mut self, what: What, at: Loc) -> (u32, u32) {
        let id = self.cells.len() as u32;
        let thread = self.current.unwrap_or(0);
        let stamp = self.stamp(thread);
        let view = &self.slots[thread].view;
        self.cells.push(PlainState::new(what, thread, view, stamp, at));
        (self.run, id)
    }

    /// Names a moment of a thread: which, and how many operations it has carried out.
    pub(crate) fn stamp(&self, thread: usize) -> u32 {
        (thread as u32) << 24 | (self.slots[thread].done.len() as u32).min((1 << 24) - 1)
    }

    pub(crate) fn access(&mut self, run: u32, cell: u32, write: bool, at: Loc) {
        let Some(thread) = self.live() else { return };
        let stamp = (self.stamp(thread), at);
        if run == self.run {
            if let Some(cell) = self.cells.get_mut(cell as usize) {
                let view = &self.slots[thread].view;
                cell.access(write, thread, view, stamp, &mut self.races);
            }
        }
    }

    /// Whether a thread that does nothing that others see has run for too long.
    pub(crate) fn tick(&mut self) -> bool {
        self.idle += u64::from(self.live().is_some());
        self.idle > IDLE_MAX
    }

    /// Threads are numbered as they are first met, by whichever worker.
    fn number_of(&mut self, name: (u8, u16)) -> usize {
        if let Some(known) = self.known.iter().position(|&n| n == name) {
            return known;
        }
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains(&name) && names.len() < MAX_THREADS {
            names.push(name);
        }
        self.known.clone_from(&names);
        self.known.iter().position(|&n| n == name).unwrap_or(MAX_THREADS)
    }

    /// A child of the running thread, or its body back when there are too many.
    pub(crate) fn spawn(&mut self, body: Box<dyn FnOnce()>) -> Result<usize, Box<dyn FnOnce()>> {
        let Some(parent) = self.live() else { return Err(body) };
        let name = (parent as u8, self.slots[parent].children);
        let child = 1 + self.number_of(name);
        if child >= self.max_threads.min(MAX_THREADS) {
            return Err(body);
        }
        self.slots[parent].children += 1;
        self.born(child, Some(parent));
        self.slots[parent].view.clock_bump(parent);
        self.newborn.push((parent, child, body));
        Ok(child)
    }
}

/// Carries out `want` for a thread that has never had company. None when it has, or when this needs
/// an event.
#[allow(unsafe_code)]
fn perform_alone(want: Want, loc: u32, at: Loc) -> Option<u64> {
    if matches!(want, Want::Fence(_) | Want::Yield) {
        return with(|w| w.is_alone().then_some(0))?;
    }
    let accesses = matches!(
        want,
        Want::Load(_)
            | Want::Store(..)
            | Want::Rmw(..)
            | Want::Wait(..)
            | Want::Lock
            | Want::Unlock
    );
    if !accesses {
        return None;
    }
    let seen = with(|w| w.found_alone(loc))??;
    let new = match want {
        Want::Store(value, ..) => Some(value),
        // SAFETY: it leads to the stack of this very thread, which is inside the operation.
        Want::Rmw(next, ..) => unsafe { (*next)(seen) },
        // SAFETY: as above.
        Want::Wait(ready, _) if !unsafe { (*ready)(seen) } => return None,
        _ => None,
    };
    with(|w| {
        let at_lock = w.held.iter().rposition(|h| h.0 == loc);
        match (want, at_lock) {
            (Want::Lock, Some(_)) | (Want::Unlock, None) => return None,
            (Want::Lock, None) => w.held.push((loc, at)),
            (Want::Unlock, Some(i)) => drop(w.held.remove(i)),
            _ => {}
        }
        if let Some(new) = new {
            w.leave_alone(loc, new);
        }
        w.idle += 1;
        if w.idle > IDLE_MAX {
            w.limit = w.limit.or(Some(Limit::Steps));
            return None;
        }
        Some(seen)
    })?
}

/// Others will see what the running thread does from here on; locks that it has become events.
pub(crate) fn end_alone() {
    let held = with(|w| {
        let first = w.is_alone();
        w.alone &= !first;
        if first {
            std::mem::take(&mut w.held)
        } else {
            Vec::new()
        }
    });
    for (loc, at) in held.unwrap_or_default() {
        park_for(Want::Lock, loc, at);
    }
}

/// Carries out `want` for the running thread. None when operations do not count now.
pub(crate) fn perform(want: Want, loc: u32, at: Loc) -> Option<u64> {
    if let Some(seen) = perform_alone(want, loc, at) {
        return Some(seen);
    }
    end_alone();
    park_for(want, loc, at)
}

/// Parks the running thread until the search has carried out `want`.
fn park_for(want: Want, loc: u32, at: Loc) -> Option<u64> {
    let thread = with(|w| {
        let thread = w.live()?;
        let slot = &mut w.slots[thread];
        (slot.want, slot.loc, slot.at) = (want, loc as u16, at);
        w.idle = 0;
        Some(thread)
    })??;
    while let Resume::Probe(_) = park(false) {}
    with(|w| w.slots[thread].answer)
}
