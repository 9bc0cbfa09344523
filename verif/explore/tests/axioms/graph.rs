//! All consistent execution graphs of a program, by brute force: every event of every thread is
//! added in every order, with every source and every place in coherence order, and each graph on
//! the way is held against the whole definition of its model.
//!
//! That finds all of them since each model here is closed under prefixes of `po` and `rf`, and has
//! no load buffering: from a consistent graph the last events of some such order can be taken off
//! one by one.

use super::key::Key;
use super::models::{consistent, races, Model};
use super::program::{Op, Order, Program};
use super::text::Wish;
use std::collections::BTreeSet;

/// Thread, and number of the event in it.
pub type Name = (u8, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
    /// Read-modify-write that succeeded, and the taking of a lock.
    Update,
    Fence,
    /// Access of a plain cell; whether it writes.
    Plain(bool),
    Choice,
}

impl Kind {
    pub fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::Update)
    }

    pub fn writes(self) -> bool {
        matches!(self, Kind::Write | Kind::Update)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub kind: Kind,
    /// Atomics first, then locks. Of plain accesses the cell.
    pub loc: u8,
    pub order: Order,
    /// Store that may pass earlier ones.
    pub unord: bool,
    /// Whom a read reads; the initial value when nobody.
    pub source: Option<Name>,
    /// Value read or chosen.
    pub seen: u64,
    pub wrote: u64,
}

/// An execution graph. Threads and coherence orders list events by name, so two graphs are equal
/// whatever the order in which they were built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Graph {
    pub threads: Vec<Vec<Event>>,
    /// Writes of each atomic and lock, the initial one left out.
    pub co: Vec<Vec<Name>>,
}

/// Values that each thread read or chose.
pub type Outcome = Vec<Vec<u64>>;

/// What a model allows of a program.
#[derive(Debug, Default)]
pub struct Found {
    /// Graphs in which every thread came to its end.
    pub complete: BTreeSet<Graph>,
    /// Graphs in which nobody can go on for ever: each thread that has not ended waits for a lock
    /// that is held, or for a value that is not the newest.
    pub stuck: BTreeSet<Graph>,
    /// Cells with two accesses that C11 leaves unordered.
    pub races: BTreeSet<u8>,
}

/// Everything that `model` allows; nothing if there are more than `cap` graphs on the way.
pub fn all(program: &Program, model: Model, cap: usize) -> Option<Found> {
    search(program, model, cap, true)
}

/// With `eager`, a step that no other thread can influence is taken before all others: a write (all
/// its places are tried, and later events may still come between), a fence, a choice. Whatever
/// graph contains the present one has that step, so none is lost.
pub fn search(program: &Program, model: Model, cap: usize, eager: bool) -> Option<Found> {
    let mut found = Found::default();
    let mut level = BTreeSet::from([Graph {
        threads: vec![Vec::new(); program.0.len()],
        co: vec![Vec::new(); program.atomics() + program.locks()],
    }]);
    let mut states = 0;
    // Every step adds one event, so that equal graphs meet in one level.
    while !level.is_empty() {
        states += level.len();
        if states > cap {
            return None;
        }
        let mut next = BTreeSet::new();
        for graph in level {
            graph.grow(program, model, eager, &mut next);
            graph.finish(program, &mut found);
        }
        level = next;
    }
    Some(found)
}

impl Graph {
    fn next_op(&self, program: &Program, thread: usize) -> Option<(Op, u64)> {
        let events = &self.threads[thread];
        program.next(thread, events.len(), |i| events[i].seen)
    }

    fn grow(&self, program: &Program, model: Model, eager: bool, next: &mut BTreeSet<Self>) {
        let steps: Vec<_> = (0..self.threads.len())
            .filter_map(|t| self.next_op(program, t).map(|(op, last)| (t, op, last)))
            .collect();
        let first = steps.iter().find(|s| eager && is_local(s.1));
        for &(thread, op, last) in first.map_or(&steps[..], std::slice::from_ref) {
            for graph in self.extensions(program, thread, op, last) {
                if consistent(model, &graph) {
                    next.insert(graph);
                }
            }
        }
    }

    fn finish(&self, program: &Program, found: &mut Found) {
        let waiting: Vec<_> =
            (0..self.threads.len()).filter_map(|t| self.next_op(program, t)).collect();
        if !waiting.iter().all(|&(op, _)| self.blocks(program, op)) {
            return;
        }
        found.races.extend(races(self));
        let graphs = if waiting.is_empty() { &mut found.complete } else { &mut found.stuck };
        graphs.insert(self.clone());
    }

    /// Whether the newest value does not let `op` go on.
    fn blocks(&self, program: &Program, op: Op) -> bool {
        match op {
            Op::Await { loc, value, equal, .. } => (self.newest(loc) == value) != equal,
            Op::Lock(l) => self.newest(program.atomics() + l) != 0,
            _ => false,
        }
    }

    pub fn newest(&self, loc: usize) -> u64 {
        self.wrote(self.co[loc].last().copied())
    }

    pub fn event(&self, name: Name) -> &Event {
        &self.threads[usize::from(name.0)][usize::from(name.1)]
    }

    fn wrote(&self, write: Option<Name>) -> u64 {
        write.map_or(0, |name| self.event(name).wrote)
    }

    /// The graph with one more event, which if it writes comes at this place in coherence order.
    fn with(&self, thread: usize, event: Event, place: Option<usize>) -> Self {
        let mut graph = self.clone();
        let name = (thread as u8, graph.threads[thread].len() as u8);
        if let Some(place) = place {
            graph.co[usize::from(event.loc)].insert(place, name);
        }
        graph.threads[thread].push(event);
        graph
    }

    /// Every way to add `op`, consistent or not.
    fn extensions(&self, program: &Program, thread: usize, op: Op, last: u64) -> Vec<Self> {
        let plain = |kind, order, seen| {
            let (source, unord, loc) = (None, false, 0);
            vec![self.with(thread, Event { kind, loc, order, unord, source, seen, wrote: 0 }, None)]
        };
        match op {
            Op::Load(loc, order) => self.reads(thread, loc, order, &|_| true),
            Op::Await { loc, value, equal, order } => {
                self.reads(thread, loc, order, &|seen| (seen == value) == equal)
            }
            Op::Store(loc, val, order) => self.stores(thread, loc, val.given(last), order, false),
            Op::StoreUnord(loc, val) => {
                self.stores(thread, loc, val.given(last), Order::Relaxed, true)
            }
            Op::Add(loc, by, order) => {
                self.updates(thread, loc, order, &|seen| Some(seen.wrapping_add(by)))
            }
            Op::Swap(loc, new, order) => self.updates(thread, loc, order, &|_| Some(new)),
            Op::Cas { loc, expected, new, success, failure } => {
                let next = |seen| (seen == expected).then_some(new);
                let mut graphs = self.updates(thread, loc, success, &next);
                graphs.extend(self.reads(thread, loc, failure, &|seen| seen != expected));
                graphs
            }
            // What was unlocked and then taken is not the newest; so it is the newest or none.
            Op::Lock(l) if self.blocks(program, Op::Lock(l)) => Vec::new(),
            Op::Lock(l) => self.lock(thread, program.atomics() + l),
            Op::Unlock(l) => self.unlock(thread, program.atomics() + l),
            Op::Fence(order) => plain(Kind::Fence, order, 0),
            Op::Choose(n) => (0..n).flat_map(|c| plain(Kind::Choice, Order::Relaxed, c)).collect(),
            Op::PlainRead(cell) => vec![self.access(thread, cell, false)],
            Op::PlainWrite(cell) => vec![self.access(thread, cell, true)],
            Op::IfEq { .. } => unreachable!("no event"),
        }
    }

    fn access(&self, thread: usize, cell: usize, write: bool) -> Self {
        let (kind, loc, order) = (Kind::Plain(write), cell as u8, Order::Relaxed);
        let event = Event { kind, loc, order, unord: false, source: None, seen: 0, wrote: 0 };
        self.with(thread, event, None)
    }

    /// Writes of a location that a read can name, the initial one first.
    fn sources(&self, loc: usize) -> impl Iterator<Item = Option<Name>> + '_ {
        std::iter::once(None).chain(self.co[loc].iter().copied().map(Some))
    }

    fn reads(
        &self,
        thread: usize,
        loc: usize,
        order: Order,
        takes: &dyn Fn(u64) -> bool,
    ) -> Vec<Self> {
        let read = |source| {
            let seen = self.wrote(source);
            let (kind, loc) = (Kind::Read, loc as u8);
            let event = Event { kind, loc, order, unord: false, source, seen, wrote: 0 };
            takes(seen).then(|| self.with(thread, event, None))
        };
        self.sources(loc).filter_map(read).collect()
    }

    fn stores(
        &self,
        thread: usize,
        loc: usize,
        wrote: u64,
        order: Order,
        unord: bool,
    ) -> Vec<Self> {
        let (kind, places, loc) = (Kind::Write, 0..=self.co[loc].len(), loc as u8);
        let event = Event { kind, loc, order, unord, source: None, seen: 0, wrote };
        places.map(|place| self.with(thread, event.clone(), Some(place))).collect()
    }

    /// Atomicity puts an update right behind what it reads.
    fn updates(
        &self,
        thread: usize,
        loc: usize,
        order: Order,
        next: &dyn Fn(u64) -> Option<u64>,
    ) -> Vec<Self> {
        let update = |(place, source)| {
            let seen = self.wrote(source);
            let (kind, loc, wrote) = (Kind::Update, loc as u8, next(seen)?);
            let event = Event { kind, loc, order, unord: false, source, seen, wrote };
            Some(self.with(thread, event, Some(place)))
        };
        self.sources(loc).enumerate().filter_map(update).collect()
    }

    fn lock(&self, thread: usize, loc: usize) -> Vec<Self> {
        let mut graphs = self.updates(thread, loc, Order::Acquire, &|_| Some(1));
        graphs.pop().into_iter().collect()
    }

    fn unlock(&self, thread: usize, loc: usize) -> Vec<Self> {
        let holder = self.co[loc].last().map(|name| usize::from(name.0));
        let held = holder == Some(thread) && self.newest(loc) == 1;
        assert!(held, "T{thread} does not hold the lock");
        let mut graphs = self.stores(thread, loc, 0, Order::Release, false);
        graphs.pop().into_iter().collect()
    }

    pub fn outcome(&self, program: &Program) -> Outcome {
        let lock_from = program.atomics();
        let gives =
            |e: &&Event| e.kind == Kind::Choice || e.kind.reads() && usize::from(e.loc) < lock_from;
        let values = |t: &Vec<Event>| t.iter().filter(gives).map(|e| e.seen).collect();
        self.threads.iter().map(values).collect()
    }

    /// Whether all wishes are true of this graph.
    pub fn grants(&self, program: &Program, wishes: &[Wish]) -> bool {
        let outcome = self.outcome(program);
        wishes.iter().all(|wish| match *wish {
            Wish::Read { thread, nth, value } => outcome[thread].get(nth) == Some(&value),
            Wish::Final { loc, value } => self.newest(loc) == value,
        })
    }

    /// The graph as the engine tells it: events that access memory, named by their number among
    /// those of their thread, with sources and coherence orders; and the outcome.
    pub fn key(&self, program: &Program) -> String {
        let mut key = Key::new(self.threads.len());
        for (t, events) in self.threads.iter().enumerate() {
            for e in events.iter().filter(|e| e.kind.reads() || e.kind.writes()) {
                let source = e.kind.reads().then(|| e.source.map(|name| self.short(name)));
                key.event(t, usize::from(e.loc), source, e.kind.writes());
            }
        }
        let short = |loc: &Vec<Name>| loc.iter().map(|&name| self.short(name)).collect();
        let co: Vec<Vec<_>> = self.co[..program.atomics()].iter().map(short).collect();
        key.text(&co, &self.outcome(program))
    }

    fn short(&self, name: Name) -> (usize, usize) {
        let before = &self.threads[usize::from(name.0)][..usize::from(name.1)];
        let memory = before.iter().filter(|e| e.kind.reads() || e.kind.writes()).count();
        (usize::from(name.0), memory)
    }
}

/// Is a step that others can neither disable nor give another choice by what they do first.
fn is_local(op: Op) -> bool {
    use Op::*;
    !matches!(op, Load(..) | Add(..) | Swap(..) | Cas { .. } | Lock(_) | Await { .. })
}
