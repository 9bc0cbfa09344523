//! The machine of RA, and of RC11 without SC accesses: each thread has a view of the memory, the
//! newest message of each location that it knows of, and a message carries the view of its writer.
//!
//! Kang, Hur, Lahav, Vafeiadis and Dreyer, "A promising semantics for relaxed-memory concurrency",
//! POPL 2017, without promises; release sequences are those of C++20.

use super::machine::{outcome, Done, End, Machine};
use super::program::{Op, Order, Program};

/// Writer and number of its event; nobody for the initial message.
type Name = Option<(usize, usize)>;

/// For each location its newest known message.
type View = Vec<Name>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    name: Name,
    value: u64,
    view: View,
    /// Whether the message before it was read by the update that wrote it.
    sticks: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Thread {
    now: View,
    /// What an acquire fence adds.
    acquired: View,
    /// As of the last release fence.
    released: View,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Views {
    /// Of each atomic, then of each lock, in coherence order.
    memory: Vec<Vec<Message>>,
    threads: Vec<Thread>,
    /// What SC fences hand to each other.
    sc: View,
    done: Done,
    /// Reads acquire and writes release, whatever their order.
    strong: bool,
}

impl Machine for Views {
    fn steps(&self, program: &Program) -> Vec<Self> {
        let next = |t| program.next(t, self.done[t].len(), |i| self.done[t][i].0);
        let step = |t| next(t).map(|(op, last)| self.stepped(program, t, op, last));
        (0..self.threads.len()).filter_map(step).flatten().collect()
    }

    fn end(&self, program: &Program) -> Option<End> {
        let next = |t| program.next(t, self.done[t].len(), |i| self.done[t][i].0);
        let left: Vec<_> = (0..self.threads.len()).filter_map(next).collect();
        let newest = |loc: usize| self.memory[loc].last().map_or(0, |m| m.value);
        let waits = |&(op, _): &(Op, u64)| match op {
            Op::Await { loc, value, equal, .. } => (newest(loc) == value) != equal,
            Op::Lock(l) => newest(program.atomics() + l) != 0,
            _ => false,
        };
        let memory = (0..self.memory.len()).map(newest).collect();
        let end = End { outcome: outcome(&self.done), memory, waits: !left.is_empty() };
        left.iter().all(waits).then_some(end)
    }
}

impl Views {
    pub fn new(program: &Program, strong: bool) -> Self {
        let none = vec![None; program.atomics() + program.locks()];
        let first = Message { name: None, value: 0, view: none.clone(), sticks: false };
        let thread = Thread { now: none.clone(), acquired: none.clone(), released: none.clone() };
        Self {
            memory: vec![vec![first]; none.len()],
            threads: vec![thread; program.0.len()],
            sc: none,
            done: vec![Vec::new(); program.0.len()],
            strong,
        }
    }

    fn place(&self, loc: usize, name: Name) -> usize {
        self.memory[loc].iter().position(|m| m.name == name).expect("a message")
    }

    fn joined(&self, a: &View, b: &View) -> View {
        let newer = |loc| if self.place(loc, a[loc]) < self.place(loc, b[loc]) { b } else { a };
        (0..a.len()).map(|loc| newer(loc)[loc]).collect()
    }

    fn did(mut self, thread: usize, value: u64, given: bool) -> Self {
        self.done[thread].push((value, given));
        self
    }

    /// The thread reads the message at a place; not if it knows of a newer one.
    fn read(&self, thread: usize, loc: usize, place: usize, order: Order) -> Option<Self> {
        let message = &self.memory[loc][place];
        if place < self.place(loc, self.threads[thread].now[loc]) {
            return None;
        }
        let mut next = self.clone();
        let own = &mut next.threads[thread];
        own.now[loc] = message.name;
        own.acquired = self.joined(&own.acquired, &message.view);
        own.acquired = self.joined(&own.acquired, &own.now);
        if order.acquires() || self.strong {
            own.now = self.joined(&own.now, &message.view);
        }
        Some(next)
    }

    /// The thread writes a message, which comes at a place; `base` is the view it carries anyway.
    fn write(
        &self,
        thread: usize,
        loc: usize,
        place: usize,
        value: u64,
        (releases, base): (bool, Option<View>),
    ) -> Option<Self> {
        let messages = &self.memory[loc];
        let splits = messages.get(place).is_some_and(|m| m.sticks);
        if splits || place <= self.place(loc, self.threads[thread].now[loc]) {
            return None;
        }
        let mut next = self.clone();
        let name = Some((thread, self.done[thread].len()));
        let own = &self.threads[thread];
        let mut view = if releases { own.now.clone() } else { own.released.clone() };
        let sticks = base.is_some();
        if let Some(base) = base {
            view = self.joined(&view, &base);
        }
        view[loc] = name;
        next.memory[loc].insert(place, Message { name, value, view, sticks });
        next.threads[thread].now[loc] = name;
        next.threads[thread].acquired[loc] = name;
        Some(next)
    }

    fn reads(
        &self,
        thread: usize,
        loc: usize,
        order: Order,
        takes: impl Fn(u64) -> bool,
    ) -> Vec<Self> {
        let read = |place: usize| {
            let value = self.memory[loc][place].value;
            let next = takes(value).then(|| self.read(thread, loc, place, order))??;
            Some(next.did(thread, value, true))
        };
        (0..self.memory[loc].len()).filter_map(read).collect()
    }

    fn stores(&self, thread: usize, loc: usize, value: u64, releases: bool) -> Vec<Self> {
        let store = |place| {
            let next = self.write(thread, loc, place, value, (releases, None))?;
            Some(next.did(thread, 0, false))
        };
        (1..=self.memory[loc].len()).filter_map(store).collect()
    }

    fn updates(
        &self,
        thread: usize,
        loc: usize,
        order: Order,
        new: impl Fn(u64) -> Option<u64>,
        given: bool,
    ) -> Vec<Self> {
        let update = |place: usize| {
            let message = &self.memory[loc][place];
            let value = new(message.value)?;
            let next = self.read(thread, loc, place, order)?;
            let carried = (order.releases() || self.strong, Some(message.view.clone()));
            let next = next.write(thread, loc, place + 1, value, carried)?;
            Some(next.did(thread, message.value, given))
        };
        (0..self.memory[loc].len()).filter_map(update).collect()
    }

    fn fence(&self, thread: usize, order: Order) -> Self {
        let mut next = self.clone();
        let own = &mut next.threads[thread];
        if order.acquires() {
            own.now = own.acquired.clone();
        }
        if order == Order::SeqCst {
            own.now = self.joined(&own.now, &self.sc);
            own.acquired = own.now.clone();
            next.sc = own.now.clone();
        }
        if order.releases() {
            own.released = own.now.clone();
        }
        next.did(thread, 0, false)
    }

    fn stepped(&self, program: &Program, thread: usize, op: Op, last: u64) -> Vec<Self> {
        match op {
            Op::Load(loc, order) => self.reads(thread, loc, order, |_| true),
            Op::Await { loc, value, equal, order } => {
                self.reads(thread, loc, order, |seen| (seen == value) == equal)
            }
            Op::Store(loc, val, order) => {
                self.stores(thread, loc, val.given(last), order.releases() || self.strong)
            }
            Op::StoreUnord(loc, val) => self.stores(thread, loc, val.given(last), false),
            Op::Add(loc, by, order) => {
                self.updates(thread, loc, order, |seen| Some(seen.wrapping_add(by)), true)
            }
            Op::Swap(loc, new, order) => self.updates(thread, loc, order, |_| Some(new), true),
            Op::Cas { loc, expected, new, success, failure } => {
                let mut next = self.reads(thread, loc, failure, |seen| seen != expected);
                let new = |seen| (seen == expected).then_some(new);
                next.extend(self.updates(thread, loc, success, new, true));
                next
            }
            // Of the free messages all but the newest have an update stuck behind them.
            Op::Lock(l) => {
                let new = |seen: u64| (seen == 0).then_some(1);
                self.updates(thread, program.atomics() + l, Order::Acquire, new, false)
            }
            Op::Unlock(l) => {
                let loc = program.atomics() + l;
                let last = self.memory[loc].len();
                let next = self.write(thread, loc, last, 0, (true, None));
                next.map(|next| next.did(thread, 0, false)).into_iter().collect()
            }
            Op::Fence(order) => vec![self.fence(thread, order)],
            Op::PlainRead(_) | Op::PlainWrite(_) => vec![self.clone().did(thread, 0, false)],
            Op::Choose(n) => (0..n).map(|c| self.clone().did(thread, c, true)).collect(),
            Op::IfEq { .. } => unreachable!("no event"),
        }
    }
}
