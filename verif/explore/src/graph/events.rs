//! The execution graph under construction: events, who reads from whom, coherence, and what comes
//! before each event in the order of the memory model.
//!
//! An event is enacted when its thread has reached it: while a stored graph is replayed, in an
//! order that follows program order and reads-from, and then one by one as new events are added.
//! New events are added at the end of every order, so that nothing changes for those already there.

use super::bits::Bits;
use super::item::{Item, Kind, Packed, INIT};
use super::Model;
use crate::clock::Clock;
use std::cell::RefCell;

/// What a location holds.
#[derive(Clone)]
pub(crate) struct Location<const W: usize> {
    /// Writes in coherence order; the initial value comes before them. Of a lock its queue.
    pub(crate) co: Vec<u16>,
    /// Reads of the initial value.
    pub(crate) init_readers: Bits<W>,
    /// Whether it has events.
    touched: bool,
}

/// What has gathered before the next event of a thread.
#[derive(Clone)]
pub(crate) struct Front<const W: usize> {
    /// All that it depends on: program order and reads-from.
    pub(crate) porf: Bits<W>,
    /// Program order alone, through starts and joins of threads too.
    pub(crate) po: Bits<W>,
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
            po: e,
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
    pub(crate) po: Vec<Bits<W>>,
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
    /// Room of graphs that were run, for those that will be stored.
    spare: RefCell<Vec<Vec<Packed>>>,
    pub(crate) scratch: RefCell<Vec<u16>>,
}

/// Lists that are kept for later use.
const SPARE_MAX: usize = 256;

impl<const W: usize> Graph<W> {
    /// An empty list, with room if some is left.
    pub(crate) fn list(&self) -> Vec<Packed> {
        self.spare.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes a list back.
    pub(crate) fn recycle(&self, item: Item) {
        let mut list = item.0;
        list.clear();
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(list);
        }
    }

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
            po: sets(),
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
            spare: RefCell::default(),
            scratch: RefCell::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// All events.
    pub(crate) fn all(&self) -> &[Packed] {
        &self.packed[..self.len]
    }

    /// Whether so many more events fit.
    pub(crate) fn has_room(&self, events: usize) -> bool {
        self.len() + events <= 64 * W
    }

    /// Takes over a stored graph; its events wait to be enacted.
    pub(crate) fn load(&mut self, item: &Item) {
        for loc in self.touched.drain(..) {
            let l = &mut self.locs[loc as usize];
            l.co.clear();
            (l.init_readers, l.touched) = (Bits::EMPTY, false);
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
            let (co, init_readers) = (Vec::new(), Bits::EMPTY);
            self.locs.push(Location { co, init_readers, touched: false });
        }
        if !std::mem::replace(&mut self.locs[loc as usize].touched, true) {
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
        let po = from.po;
        let to = &mut self.fronts[child];
        (to.porf, to.po, to.hb) = (porf, po, hb);
        (to.before_load, to.before_store) = (set, set);
        (to.anc_load, to.anc_store) = (anc, anc);
    }

    /// `thread` has seen `other` end.
    pub(crate) fn joined(&mut self, thread: usize, other: usize) {
        self.front(thread.max(other));
        let from = &self.fronts[other];
        let (porf, set, anc, hb) = (from.porf, from.before_store, from.anc_store, from.hb);
        let po = from.po;
        let to = &mut self.fronts[thread];
        to.porf |= porf;
        to.po |= po;
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

    /// The graph of the events in `keep`, as it is.
    pub(crate) fn without(&self, keep: &Bits<W>) -> Item {
        let mut item = Item(self.list());
        for e in keep.iter() {
            let mut p = self.packed[e];
            if p.kind.reads() && p.rf != INIT {
                p.rf = keep.rank(p.rf as usize) as u16;
            }
            item.0.push(p);
        }
        item
    }
}
