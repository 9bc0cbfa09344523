//! One execution: a stored graph is replayed, then extended by maximal events until the program has
//! ended. Every other choice on the way is stored for later.

use super::bits::Bits;
use super::events::Graph;
use super::item::{Item, Kind, Packed, INIT};
use super::world::{self, Done, Shared};
use super::Stop;
use crate::arena;
use crate::coro::{Back, Coro, Resume, Stacks};
use crate::session::run_body_with;
use crate::trace::{End, Limit, StepKind};
use crate::Config;

/// Words of the widest sets; graphs have at most 64 times as many events.
pub(super) const WIDEST: usize = 16;

/// Where a thread stands besides its next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// In front of it.
    Ready,
    /// Between the halves of a read-modify-write; the value to write.
    Half(u64),
    /// In the queue of a lock with this request.
    Queued(u16),
    /// This read was not what it waits for.
    Unsatisfied(u16),
    /// It went round a loop that only reads, and gave way again: the operations from this one on.
    Spins(usize),
}

/// The search on one OS thread.
pub(crate) struct Search<'a, const W: usize> {
    pub(super) config: &'a Config,
    program: &'a dyn Fn(),
    pub(super) world: Shared,
    pub(super) g: Graph<W>,
    coros: Vec<Option<Coro>>,
    stacks: Stacks,
    pub(super) states: Vec<State>,
    /// Events of each thread that wait for their replay, and how many were replayed.
    scripts: Vec<(Vec<u16>, usize)>,
    /// Whether the replay is over.
    pub(super) closed: bool,
    /// Stored for later.
    pub(super) found: Vec<Item>,
    operations: u64,
    /// Rests of the stored graph.
    pub(super) rests: Vec<u16>,
    _memory: arena::Part,
}

impl<'a, const W: usize> Search<'a, W> {
    pub(crate) fn new(config: &'a Config, program: &'a dyn Fn(), world: Shared) -> Self {
        Self {
            config,
            program,
            world,
            g: Graph::new(config.model),
            coros: Vec::new(),
            stacks: Stacks::new(config.stack_size),
            states: Vec::new(),
            scripts: Vec::new(),
            closed: false,
            found: Vec::new(),
            operations: 0,
            rests: Vec::new(),
            _memory: arena::Part::take(),
        }
    }

    /// Operations of the last execution.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Runs the program along `item` and on. What comes of it is in `found` and in the world;
    /// [`Search::clear`] must follow.
    pub(crate) fn run(&mut self, item: &Item) -> Stop {
        match self.try_run(item) {
            Ok(never) => match never {},
            Err(stop) => stop,
        }
    }

    fn try_run(&mut self, item: &Item) -> Result<std::convert::Infallible, Stop> {
        self.world.begin();
        arena::reset();
        (self.closed, self.operations) = (false, 0);
        if item.0.len() > 64 * W {
            self.found.push(item.clone());
            return Err(Stop::Wider);
        }
        self.g.load(item);
        self.states.iter_mut().for_each(|s| *s = State::Ready);
        for (script, at) in &mut self.scripts {
            script.clear();
            *at = 0;
        }
        self.rests.clear();
        for (e, p) in item.0.iter().enumerate() {
            if p.kind == Kind::Rest {
                self.rests.push(e as u16);
            }
            self.room_for(p.thread as usize);
            self.scripts[p.thread as usize].0.push(e as u16);
        }
        self.start(0, Box::new(crate::coro::erase(self.program)))?;
        self.replay()?;
        for thread in 0..self.states.len() {
            let slot = self.world.slots.get(thread);
            if self.states[thread] == State::Ready && slot.is_some_and(|s| s.born) {
                self.pass_by(thread)?;
            }
        }
        self.g.close();
        self.closed = true;
        self.after_replay()?;
        loop {
            self.extend()?;
        }
    }

    /// The graph is full: it goes on with wider sets or, at the widest, ends here.
    pub(super) fn full(&mut self) -> Stop {
        if W >= WIDEST {
            return Stop::End(End::Limit(Limit::Events));
        }
        self.found.push(Item(self.g.all().to_vec()));
        Stop::Wider
    }

    fn room_for(&mut self, thread: usize) {
        while self.scripts.len() <= thread {
            self.scripts.push((Vec::new(), 0));
        }
        while self.states.len() <= thread {
            self.states.push(State::Ready);
            self.coros.push(None);
        }
        self.g.front(thread);
    }

    /// Starts a thread and runs it up to its first operation.
    fn start(&mut self, thread: usize, body: Box<dyn FnOnce()>) -> Result<(), Stop> {
        self.room_for(thread);
        let coro = self.stacks.start(Box::new(move || {
            run_body_with(
                body,
                || world::with(|w| w.aborting).unwrap_or(false),
                |message| {
                    // The text outlives the execution.
                    world::with(|w| w.panicked = Some((thread, message.clone())));
                },
            );
        }));
        let Some(coro) = coro else { return Err(Stop::End(End::Limit(Limit::Threads))) };
        self.coros[thread] = Some(coro);
        self.resume(thread)
    }

    /// Lets a thread run up to its next operation, and what it started too.
    pub(super) fn resume(&mut self, thread: usize) -> Result<(), Stop> {
        self.states[thread] = State::Ready;
        let Some(coro) = self.coros[thread].as_mut() else {
            unreachable!("a thread that has an operation is alive")
        };
        self.world.current = Some(thread);
        arena::enter(thread);
        let back = coro.resume(Resume::Go);
        arena::leave();
        self.world.current = None;
        if back == Back::Ended {
            self.world.slots[thread].ended = true;
            if let Some(coro) = self.coros[thread].take() {
                self.stacks.recycle(coro);
            }
        }
        if let Some((thread, message)) = self.world.panicked.take() {
            return Err(Stop::End(End::Panicked { thread, message }));
        }
        if let Some(limit) = self.world.limit {
            return Err(Stop::End(End::Limit(limit)));
        }
        self.operations += 1;
        if self.operations > self.config.max_steps {
            return Err(Stop::End(End::Limit(Limit::Steps)));
        }
        if !self.world.newborn.is_empty() {
            for (parent, child, body) in std::mem::take(&mut self.world.newborn) {
                self.room_for(child);
                self.g.spawned(parent, child);
                self.start(child, body)?;
            }
        }
        Ok(())
    }

    /// Notes that the operation of a thread is over, and lets it run on.
    pub(super) fn finish(
        &mut self,
        thread: usize,
        kind: StepKind,
        event: Option<usize>,
        (before, after, answer): (u64, u64, u64),
    ) -> Result<(), Stop> {
        let slot = &mut self.world.slots[thread];
        let object = slot.loc;
        let event = event.map(|e| e as u16);
        slot.done.push(Done { kind, object, event, before, after, at: slot.at });
        slot.answer = answer;
        slot.view.clock_bump(thread);
        self.resume(thread)
    }

    /// Runs the stored events in an order that follows program order and reads-from.
    fn replay(&mut self) -> Result<(), Stop> {
        loop {
            let mut moved = false;
            let mut left = false;
            for thread in 0..self.scripts.len() {
                while let Some(&e) = self.scripts[thread].0.get(self.scripts[thread].1) {
                    left = true;
                    if !self.world.slots.get(thread).is_some_and(|s| s.born && !s.ended) {
                        break;
                    }
                    self.pass_by(thread)?;
                    if self.join_if_over(thread)? {
                        moved = true;
                        continue;
                    }
                    if !self.replay_event(thread, e as usize)? {
                        break;
                    }
                    self.scripts[thread].1 += 1;
                    moved = true;
                }
            }
            if !left {
                return Ok(());
            }
            if !moved {
                return Err(self.diverged());
            }
        }
    }

    pub(super) fn diverged(&self) -> Stop {
        let why = "an operation is not the one that was stored: the program is another one, or it \
                   is not deterministic";
        Stop::End(End::Diverged(why.into()))
    }

    /// Takes a thread past a join whose thread has ended.
    pub(super) fn join_if_over(&mut self, thread: usize) -> Result<bool, Stop> {
        let world::Want::Join(other) = self.world.slots[thread].want else { return Ok(false) };
        if !self.world.slots.get(other).is_some_and(|s| s.ended) {
            return Ok(false);
        }
        self.g.joined(thread, other);
        let view = self.world.slots[other].view;
        self.world.slots[thread].view.clock_join(&view);
        self.world.slots[thread].loc = other as u16;
        self.finish(thread, StepKind::Join, None, (0, 0, 0))?;
        Ok(true)
    }

    /// Value of a write, or the initial one.
    pub(super) fn value_of(&self, loc: u16, write: u16) -> u64 {
        if write == INIT {
            self.world.objects[loc as usize].init
        } else {
            self.g.value[write as usize]
        }
    }

    pub(super) fn newest_value(&self, loc: u16) -> u64 {
        let places = self.g.locs.get(loc as usize).map_or(0, |l| l.co.len());
        self.value_of(loc, if places == 0 { INIT } else { self.g.write_at(loc, places) })
    }

    /// Reads that keep a thread waiting.
    pub(super) fn waits_for(&self, thread: usize) -> Bits<W> {
        match self.states[thread] {
            State::Unsatisfied(e) => Bits::one(e as usize),
            State::Spins(from) => {
                let done = &self.world.slots[thread].done[from..];
                let events = done.iter().filter_map(|d| d.event);
                events.fold(Bits::EMPTY, |all, e| all | Bits::one(e as usize))
            }
            _ => Bits::EMPTY,
        }
    }

    /// Writes that are newer than what a read saw.
    pub(super) fn newer_than(&self, read: usize) -> &[u16] {
        let Packed { loc, rf, .. } = self.g.packed[read];
        &self.g.locs[loc as usize].co[self.g.pos_of(rf)..]
    }

    /// Gives up graphs in which a thread waits on a value that was old from the start: it can not
    /// be woken by any write, and the same without it is covered elsewhere.
    fn after_replay(&mut self) -> Result<(), Stop> {
        for thread in 0..self.states.len() {
            for e in self.waits_for(thread).iter() {
                if self.newer_than(e).iter().any(|&w| (w as usize) < e) {
                    return Err(Stop::Dead);
                }
            }
        }
        if self.g.model.is_weak() && !self.g.close_psc() {
            return Err(Stop::Dead);
        }
        // A read that was given another value and now locks: what it waits for may be newer.
        for (thread, state) in self.states.iter().enumerate() {
            let last = self.scripts[thread].0.last();
            if let (State::Half(_), Some(&e)) = (state, last) {
                let anc = self.g.anc[e as usize];
                let newer = self.newer_than(e as usize);
                if !self.g.model.is_weak() && newer.iter().any(|&w| anc.has(w as usize)) {
                    return Err(Stop::Dead);
                }
            }
        }
        Ok(())
    }

    /// Stores the graph so far with one more event.
    pub(super) fn store(&mut self, len: usize, p: Packed) {
        let mut item = Item(self.g.list());
        item.0.extend_from_slice(&self.g.packed[..len]);
        if p.kind.is_ordered() {
            for q in &mut item.0 {
                if q.loc == p.loc && q.kind.is_ordered() && q.pos >= p.pos {
                    q.pos += 1;
                }
            }
        }
        item.0.push(p);
        self.found.push(item);
    }

    /// All that was enacted so far.
    pub(super) fn everything(&self) -> Bits<W> {
        Bits::below(self.g.len())
    }

    /// Values of all objects at the end, for who looks at them.
    pub(crate) fn settle(&mut self) {
        for i in 0..self.g.touched().len() {
            let loc = self.g.touched()[i];
            if (loc as usize) < self.world.objects.len() && self.is_memory(loc) {
                let last = self.newest_value(loc);
                self.world.objects[loc as usize].last = last;
            }
        }
    }

    fn is_memory(&self, loc: u16) -> bool {
        let first = self.g.locs[loc as usize].co.first();
        first.is_some_and(|&w| self.g.packed[w as usize].kind != Kind::Request)
    }

    /// Unwinds what is left of the execution, holders of locks first, so that a destructor which
    /// takes the lock of another library inside finds it free.
    pub(crate) fn clear(&mut self) {
        if self.coros.iter().any(Option::is_some) {
            self.world.aborting = true;
            let holds = |t: &usize| !self.g.fronts.get(*t).is_none_or(|f| f.held.is_empty());
            let threads = 0..self.coros.len();
            let order: Vec<_> =
                threads.clone().filter(holds).chain(threads.filter(|t| !holds(t))).collect();
            for thread in order {
                if let Some(mut coro) = self.coros[thread].take() {
                    // A destructor that panics concerns nobody: the execution is over.
                    let unwind = std::panic::AssertUnwindSafe(|| coro.unwind());
                    let _ = std::panic::catch_unwind(unwind);
                    self.stacks.recycle(coro);
                }
            }
            self.world.aborting = false;
        }
        self.world.newborn.clear();
    }
}

impl<const W: usize> Drop for Search<'_, W> {
    fn drop(&mut self) {
        self.clear();
    }
}
