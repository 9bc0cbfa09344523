//! The execution graph under construction: events, who reads from whom, coherence, and what comes
//! before each event in the order of the memory model.
//!
//! An event is enacted when its thread has reached it: while a stored graph is replayed, in an order
//! that follows program order and reads-from, and then one by one as new events are added. New events
//! are added at the end of every order, so that nothing changes for those already there.

use super::bits::Bits;
use super::item::{Item, Kind, Packed, INIT};
use super::Model;
use crate::clock::Clock;
use std::sync::atomic::Ordering;

/// What a location holds.
#[derive(Clone)]
pub(crate) struct Location<const W: usize> {
    /// Writes in coherence order; the initial value comes before them. Of a lock its queue.
    pub(crate) co: Vec<u16>,
    /// Reads of the initial value.
    pub(crate) init_readers: Bits<W>,
}

/// What has gathered before the next event of a thread.
#[derive(Clone)]
pub(crate) struct Front<const W: usize> {
    /// All that it depends on: program order and reads-from.
    pub(crate) porf: Bits<W>,
    /// Its own stores.
    pub(crate) stores: Bits<W>,
    /// Events that are ordered before its next load, and before its next store.
    pub(crate) before_load: Bits<W>,
    pub(crate) before_store: Bits<W>,
    /// The same with all that is ordered before those.
    pub(crate) anc_load: Bits<W>,
    pub(crate) anc_store: Bits<W>,
    /// Happens-before, what an acquire fence would add, and what the last release fence gives on.
    pub(crate) hb: Bits<W>,
    pub(crate) seen: Bits<W>,
    pub(crate) fenced: Bits<W>,
    /// Locks that it holds: location and request.
    pub(crate) held: Vec<(u16, u16)>,
}

impl<const W: usize> Front<W> {
    fn new() -> Self {
        let e = Bits::EMPTY;
        Self {
            porf: e,
            stores: e,
            before_load: e,
            before_store: e,
            anc_load: e,
            anc_store: e,
            hb: e,
            seen: e,
            fenced: e,
            held: Vec::new(),
        }
    }

    fn clear(&mut self) {
        let held = std::mem::take(&mut self.held);
        *self = Self::new();
        self.held = held;
        self.held.clear();
    }
}

/// The graph.
pub(crate) struct Graph<const W: usize> {
    pub(crate) model: Model,
    len: usize,
    pub(crate) packed: Vec<Packed>,
    pub(crate) value: Vec<u64>,
    pub(crate) porf: Vec<Bits<W>>,
    /// Readers of a write.
    pub(crate) readers: Vec<Bits<W>>,
    /// Events ordered before, under SC and TSO; under RA and RC11 what happens before, with itself.
    pub(crate) anc: Vec<Bits<W>>,
    /// Of reads, and of all events during a replay: what program order puts before.
    pub(crate) base: Vec<Bits<W>>,
    /// What a write gives on to who acquires it (RA, RC11). Under SC and TSO, of reads during a
    /// replay, what comes before any load in their place.
    pub(crate) rel: Vec<Bits<W>>,
    /// The same as a clock, for races.
    pub(crate) sync: Vec<Clock>,
    /// Unlock of a request, or `INIT`.
    pub(crate) unlock: Vec<u16>,
    /// Events that were enacted.
    pub(crate) done: Bits<W>,
    /// Sequentially consistent accesses and fences (RC11), and what psc puts before them.
    pub(crate) sc: Bits<W>,
    pub(crate) fences: Bits<W>,
    pub(crate) psc: Vec<Bits<W>>,
    pub(crate) locs: Vec<Location<W>>,
    touched: Vec<u16>,
    pub(crate) fronts: Vec<Front<W>>,
}

impl<const W: usize> Graph<W> {
    pub(crate) fn new(model: Model) -> Self {
        let none = Packed { thread: 0, kind: Kind::Read, loc: 0, rf: INIT, pos: 0 };
        let events = 64 * W;
        let sets = || vec![Bits::EMPTY; events];
        Self {
            model,
            len: 0,
            packed: vec![none; events],
            value: vec![0; events],
            porf: sets(),
            readers: sets(),
            anc: sets(),
            base: sets(),
            rel: sets(),
            sync: vec![Clock::ZERO; events],
            unlock: vec![INIT; events],
            done: Bits::EMPTY,
            sc: Bits::EMPTY,
            fences: Bits::EMPTY,
            psc: sets(),
            locs: Vec::new(),
            touched: Vec::new(),
            fronts: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All events.
    pub(crate) fn all(&self) -> &[Packed] {
        &self.packed[..self.len]
    }

    /// Whether two more events fit: a read-modify-write is never cut in half.
    pub(crate) fn has_room(&self) -> bool {
        self.len() + 2 <= 64 * W
    }

    /// Takes over a stored graph; its events wait to be enacted.
    pub(crate) fn load(&mut self, item: &Item) {
        for loc in self.touched.drain(..) {
            let l = &mut self.locs[loc as usize];
            l.co.clear();
            l.init_readers = Bits::EMPTY;
        }
        self.truncate(0);
        self.done = Bits::EMPTY;
        (self.sc, self.fences) = (Bits::EMPTY, Bits::EMPTY);
        self.fronts.iter_mut().for_each(Front::clear);
        for p in &item.0 {
            self.push(*p);
        }
        for (e, p) in item.0.iter().enumerate() {
            if p.kind.is_ordered() {
                let co = &mut self.locs[p.loc as usize].co;
                let at = p.pos as usize;
                co.resize(co.len().max(at), 0);
                co[at - 1] = e as u16;
            }
            if p.kind == Kind::Read {
                self.add_reader(p.loc, p.rf, e);
            }
        }
    }

    /// An event without its place among the others.
    pub(crate) fn push(&mut self, p: Packed) -> usize {
        self.touch(p.loc);
        let e = self.len;
        self.len += 1;
        self.packed[e] = p;
        self.readers[e] = Bits::EMPTY;
        self.unlock[e] = INIT;
        e
    }

    /// Takes back the newest events, which were not enacted.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = len;
    }

    fn touch(&mut self, loc: u16) {
        while self.locs.len() <= loc as usize {
            self.locs.push(Location { co: Vec::new(), init_readers: Bits::EMPTY });
        }
        if !self.touched.contains(&loc) {
            self.touched.push(loc);
        }
    }

    /// Locations that have events.
    pub(crate) fn touched(&self) -> &[u16] {
        &self.touched
    }

    pub(crate) fn front(&mut self, thread: usize) -> &mut Front<W> {
        while self.fronts.len() <= thread {
            self.fronts.push(Front::new());
        }
        &mut self.fronts[thread]
    }

    /// A thread begins: all that its parent did comes before.
    pub(crate) fn spawned(&mut self, parent: usize, child: usize) {
        self.front(child.max(parent));
        let from = &self.fronts[parent];
        let (porf, set, anc, hb) = (from.porf, from.before_store, from.anc_store, from.hb);
        let to = &mut self.fronts[child];
        (to.porf, to.hb) = (porf, hb);
        (to.before_load, to.before_store) = (set, set);
        (to.anc_load, to.anc_store) = (anc, anc);
    }

    /// `thread` has seen `other` end.
    pub(crate) fn joined(&mut self, thread: usize, other: usize) {
        self.front(thread.max(other));
        let from = &self.fronts[other];
        let (porf, set, anc, hb) = (from.porf, from.before_store, from.anc_store, from.hb);
        let to = &mut self.fronts[thread];
        to.porf |= porf;
        to.before_load |= set;
        to.before_store |= set;
        to.anc_load |= anc;
        to.anc_store |= anc;
        to.hb |= hb;
    }

    pub(crate) fn add_reader(&mut self, loc: u16, rf: u16, e: usize) {
        if rf == INIT {
            self.locs[loc as usize].init_readers.set(e);
        } else {
            self.readers[rf as usize].set(e);
        }
    }

    /// Readers of a place in coherence order; 0 is the initial value.
    pub(crate) fn readers_at(&self, loc: u16, pos: usize) -> Bits<W> {
        let l = &self.locs[loc as usize];
        match pos.checked_sub(1) {
            None => l.init_readers,
            Some(i) => self.readers[l.co[i] as usize],
        }
    }

    /// The write at a place in coherence order; `INIT` at 0.
    pub(crate) fn write_at(&self, loc: u16, pos: usize) -> u16 {
        pos.checked_sub(1).map_or(INIT, |i| self.locs[loc as usize].co[i])
    }

    /// Place of a write in coherence order, 0 of the initial value.
    pub(crate) fn pos_of(&self, write: u16) -> usize {
        if write == INIT {
            0
        } else {
            self.packed[write as usize].pos as usize
        }
    }

    /// Enacts a read of `rf`; also a choice, which reads nothing.
    pub(crate) fn enact_read(
        &mut self,
        e: usize,
        rf: u16,
        order: Ordering,
        locked: bool,
        closed: bool,
    ) {
        let Packed { thread, .. } = self.packed[e];
        let me = Bits::one(e);
        let mut porf = self.front(thread as usize).porf | me;
        if rf != INIT {
            porf |= self.porf[rf as usize];
        }
        self.porf[e] = porf;
        self.done.set(e);
        let f = &mut self.fronts[thread as usize];
        f.porf = porf;
        if self.model.is_weak() {
            self.base[e] = f.hb;
            f.hb |= me;
            if rf != INIT {
                let given = self.rel[rf as usize];
                if self.model.acquires(order) {
                    f.hb |= given;
                } else {
                    f.seen |= given;
                }
            }
            self.anc[e] = f.hb;
            if self.model.is_sc(order) {
                self.sc.set(e);
            }
            return;
        }
        // A locked instruction waits for the stores before it. With another value it may be none,
        // so what bounds the read is what comes before any load.
        let (free, anc_free) = (f.before_load, f.anc_load);
        let (set, anc) = if locked { (f.before_store, f.anc_store) } else { (free, anc_free) };
        f.before_load |= me;
        f.before_store |= me;
        if !closed {
            (self.base[e], self.rel[e]) = (set, free);
            return;
        }
        self.base[e] = anc_free | f.stores;
        let external =
            rf != INIT && (self.model == Model::Sc || self.packed[rf as usize].thread != thread);
        let mut anc = anc;
        if external {
            anc |= self.anc[rf as usize] | Bits::one(rf as usize);
        }
        self.anc[e] = anc;
        let f = &mut self.fronts[thread as usize];
        f.anc_load |= anc | me;
        f.anc_store |= anc | me;
    }

    /// Enacts a write, or a place in the queue of a lock.
    pub(crate) fn enact_write(
        &mut self,
        e: usize,
        value: u64,
        order: Ordering,
        unordered: bool,
        closed: bool,
    ) {
        let Packed { thread, kind, loc, pos, rf } = self.packed[e];
        let me = Bits::one(e);
        self.value[e] = value;
        self.done.set(e);
        let source = match rf {
            _ if kind != Kind::Request || rf == INIT => Bits::EMPTY,
            rf => self.porf[rf as usize],
        };
        self.front(thread as usize);
        let f = &mut self.fronts[thread as usize];
        f.porf |= me | source;
        self.porf[e] = f.porf;
        if self.model.is_weak() {
            self.base[e] = f.hb;
            f.hb |= me;
            self.anc[e] = f.hb;
            let releases = self.model.releases(order) && !unordered;
            let mut given = if releases { f.hb } else { f.fenced };
            if kind == Kind::RmwWrite {
                // The release sequence that it reads from goes on.
                let read = self.read_of(e);
                let source = self.packed[read].rf;
                if source != INIT {
                    given |= self.rel[source as usize];
                }
            }
            self.rel[e] = given;
            if self.model.is_sc(order) {
                self.sc.set(e);
            }
            return;
        }
        let (set, anc) =
            if unordered { (f.before_load, f.anc_load) } else { (f.before_store, f.anc_store) };
        f.before_store |= me;
        f.stores.set(e);
        let drains = self.model == Model::Sc || kind != Kind::Write || order == Ordering::SeqCst;
        if drains {
            f.before_load = f.before_store;
        }
        if !closed {
            self.base[e] = set;
            return;
        }
        self.base[e] = anc | f.stores;
        let mut anc = anc;
        if kind == Kind::Request {
            if rf != INIT {
                anc |= self.anc[rf as usize] | Bits::one(rf as usize);
            }
        } else if pos > 0 {
            self.join_ancestors(&mut anc, self.before_write(loc, pos as usize));
        }
        anc.unset(e);
        self.anc[e] = anc;
        let f = &mut self.fronts[thread as usize];
        f.anc_store |= anc | me;
        if drains {
            f.anc_load = f.anc_store;
        }
    }

    /// The reading half of a read-modify-write: the event of its thread just before.
    pub(crate) fn read_of(&self, write: usize) -> usize {
        let thread = self.packed[write].thread;
        let mut mine = self.porf[write];
        mine.unset(write);
        // Program order within a thread is the order of adding.
        loop {
            match mine.last() {
                Some(e) if self.packed[e].thread == thread => return e,
                Some(e) => mine.unset(e),
                None => unreachable!("a read-modify-write has a read"),
            }
        }
    }

    /// Events that coherence and from-reads put directly before a write at this place.
    pub(crate) fn before_write(&self, loc: u16, pos: usize) -> Bits<W> {
        let mut before = self.readers_at(loc, pos - 1);
        let previous = self.write_at(loc, pos - 1);
        if previous != INIT {
            before.set(previous as usize);
        }
        before
    }

    /// Adds `these` and all that is before them.
    pub(crate) fn join_ancestors(&self, anc: &mut Bits<W>, these: Bits<W>) {
        let mut left = these & !*anc;
        while let Some(e) = left.last() {
            *anc |= self.anc[e] | Bits::one(e);
            left = left & !*anc;
        }
    }

    /// Enacts an event that is ordered after all that its thread did, and after `also`: a lock had,
    /// a rest, a fence, a lock given back (which later loads may pass).
    pub(crate) fn enact_other(&mut self, e: usize, also: Bits<W>, closed: bool) {
        let Packed { thread, kind, .. } = self.packed[e];
        let me = Bits::one(e);
        let mut porf = self.front(thread as usize).porf | me;
        for other in also.iter() {
            porf |= self.porf[other] | Bits::one(other);
        }
        self.porf[e] = porf;
        self.done.set(e);
        let mut hb = Bits::EMPTY;
        for other in also.iter() {
            hb |= if kind == Kind::Grant { self.rel[other] } else { self.anc[other] };
        }
        let f = &mut self.fronts[thread as usize];
        f.porf = porf;
        if self.model.is_weak() {
            self.base[e] = f.hb;
            f.hb |= me | hb;
            self.anc[e] = f.hb;
            self.rel[e] = f.hb;
            return;
        }
        let (set, mut anc) = (f.before_store | also, f.anc_store);
        f.before_store |= me;
        let passes = kind == Kind::Unlock && self.model != Model::Sc;
        if !passes {
            f.before_load = f.before_store;
        }
        if !closed {
            self.base[e] = set;
            return;
        }
        self.join_ancestors(&mut anc, also);
        self.anc[e] = anc;
        let f = &mut self.fronts[thread as usize];
        f.anc_store |= anc | me;
        if !passes {
            f.anc_load = f.anc_store;
        }
    }

    /// What comes before a new load of a thread, or the load of a locked instruction.
    pub(crate) fn base_of_load(&mut self, thread: usize, locked: bool) -> Bits<W> {
        let weak = self.model.is_weak();
        let f = self.front(thread);
        match (weak, locked) {
            (true, _) => f.hb,
            (false, false) => f.anc_load | f.stores,
            (false, true) => f.anc_store | f.stores,
        }
    }

    /// What comes before a new store of a thread, or one that may pass earlier stores.
    pub(crate) fn base_of_store(&mut self, thread: usize, unordered: bool) -> Bits<W> {
        self.base_of_load(thread, !unordered)
    }

    /// All threads go on after this rest.
    pub(crate) fn rested(&mut self, e: usize) {
        let (porf, anc, me) = (self.porf[e], self.anc[e] | Bits::one(e), Bits::one(e));
        let weak = self.model.is_weak();
        for f in &mut self.fronts {
            f.porf |= porf;
            f.before_load |= me;
            f.before_store |= me;
            f.anc_load |= anc;
            f.anc_store |= anc;
            if weak {
                f.hb |= anc;
            }
        }
    }

    /// The graph of the events in `keep`, as it is.
    pub(crate) fn without(&self, keep: &Bits<W>) -> Item {
        let mut item = Item::default();
        for e in keep.iter() {
            let mut p = self.packed[e];
            if p.kind.reads() && p.rf != INIT {
                p.rf = keep.rank(p.rf as usize) as u16;
            }
            item.0.push(p);
        }
        item
    }

    /// Acquire and release fences, which are no events.
    pub(crate) fn fence(&mut self, thread: usize, order: Ordering) {
        let sc = order == Ordering::SeqCst;
        let model = self.model;
        let f = self.front(thread);
        if model.is_weak() {
            if sc || matches!(order, Ordering::Acquire | Ordering::AcqRel) {
                f.hb |= f.seen;
            }
            if sc || matches!(order, Ordering::Release | Ordering::AcqRel) {
                f.fenced = f.hb;
            }
        } else if sc {
            f.before_load = f.before_store;
            f.anc_load = f.anc_store;
        }
    }

    /// After a replay: works out what is before each event, now that all are there.
    pub(crate) fn close(&mut self) {
        if self.model.is_weak() {
            return;
        }
        let mut closed = Bits::EMPTY;
        for e in 0..self.len() {
            self.close_event(e, &mut closed);
        }
        for t in 0..self.fronts.len() {
            let (load, store) = (self.fronts[t].before_load, self.fronts[t].before_store);
            let (mut anc_load, mut anc_store) = (Bits::EMPTY, Bits::EMPTY);
            self.join_ancestors(&mut anc_load, load);
            self.join_ancestors(&mut anc_store, store);
            let f = &mut self.fronts[t];
            (f.anc_load, f.anc_store) = (anc_load, anc_store);
        }
    }

    fn close_event(&mut self, e: usize, closed: &mut Bits<W>) {
        if closed.has(e) {
            return;
        }
        closed.set(e);
        let mut anc = Bits::EMPTY;
        self.close_over(&mut anc, self.base[e], closed);
        let Packed { thread, kind, loc, rf, pos } = self.packed[e];
        let mine = self.fronts[thread as usize].stores & self.porf[e];
        let mut bounding = anc;
        if kind == Kind::Read {
            bounding = Bits::EMPTY;
            self.close_over(&mut bounding, self.rel[e], closed);
        }
        self.base[e] = bounding | mine;
        let reads = kind.reads() && rf != INIT;
        let external =
            reads && (self.model == Model::Sc || self.packed[rf as usize].thread != thread);
        match kind {
            Kind::Read if external => self.close_over(&mut anc, Bits::one(rf as usize), closed),
            Kind::Request if rf != INIT => {
                self.close_over(&mut anc, Bits::one(rf as usize), closed);
            }
            Kind::Write | Kind::RmwWrite => {
                let before = self.before_write(loc, pos as usize);
                self.close_over(&mut anc, before, closed);
            }
            _ => {}
        }
        anc.unset(e);
        self.anc[e] = anc;
    }

    fn close_over(&mut self, anc: &mut Bits<W>, these: Bits<W>, closed: &mut Bits<W>) {
        let mut left = these & !*anc;
        while let Some(p) = left.last() {
            self.close_event(p, closed);
            *anc |= self.anc[p] | Bits::one(p);
            left = left & !*anc;
        }
    }
}
