//! What an event does when its thread has reached it: what it depends on, what is ordered before
//! it, what it gives on to others.

use super::bits::Bits;
use super::events::Graph;
use super::item::{Kind, Packed, INIT};
use super::Model;
use std::sync::atomic::Ordering;

impl<const W: usize> Graph<W> {
    /// The event is there, after those of its thread.
    fn note_po(&mut self, thread: usize, e: usize) {
        self.done.set(e);
        let front = self.front(thread);
        let before = front.po;
        front.po.set(e);
        self.po[e] = before;
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
        self.note_po(thread as usize, e);
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
        self.note_po(thread as usize, e);
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
        self.note_po(thread as usize, e);
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
}
