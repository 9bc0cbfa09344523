//! The axiom of RC11 for sequentially consistent events: psc is acyclic (Lahav, Vafeiadis, Kang,
//! Hur, Dreyer, PLDI 2017).
//!
//! For each such event the graph keeps those that psc puts before it. A new event at the end of all
//! orders only adds to what is before itself; one that reads an old value, or takes an earlier
//! place, also comes before what is newer there, and that must not lead back to it.

use super::bits::Bits;
use super::events::Graph;
use super::item::{Kind, INIT};
use super::Model;
use std::sync::atomic::Ordering;

/// An event as psc looks at it: one of the graph, or one that is about to be.
struct Node<const W: usize> {
    event: usize,
    loc: u16,
    /// What happens before it, with itself.
    hb: Bits<W>,
    /// The same without what it reads.
    base: Bits<W>,
    /// What comes before it in program order.
    po: Bits<W>,
    /// Place of a write.
    place: Option<usize>,
}

impl<const W: usize> Graph<W> {
    fn locates(&self, e: usize) -> Option<u16> {
        match self.packed[e].kind {
            Kind::Choose | Kind::Fence | Kind::Rest => None,
            _ => Some(self.packed[e].loc),
        }
    }

    fn node(&self, e: usize) -> Node<W> {
        let p = self.packed[e];
        let place = matches!(p.kind, Kind::Write | Kind::RmwWrite).then_some(p.pos as usize);
        let (hb, base, po) = (self.anc[e], self.base[e], self.po[e]);
        Node { event: e, loc: p.loc, hb, base, po, place }
    }

    /// The event if it is a sequentially consistent access, and the fences that happen before it.
    fn starts(&self, e: usize) -> Bits<W> {
        let mut starts = self.anc[e] & self.fences;
        if self.sc.has(e) {
            starts.set(e);
        }
        starts
    }

    /// What reaches a write at this place by coherence or from-reads.
    fn before_place(&self, loc: u16, place: usize) -> Bits<W> {
        let mut into = Bits::EMPTY;
        for at in 0..place {
            if at > 0 {
                into |= self.starts(self.write_at(loc, at) as usize);
            }
            (self.readers_at(loc, at) & self.done).iter().for_each(|r| into |= self.starts(r));
        }
        into
    }

    /// Fences from which a read of this place is reached by extended coherence.
    fn fences_into_read(&self, loc: u16, place: usize) -> Bits<W> {
        let mut into = Bits::EMPTY;
        for at in 0..=place {
            if at > 0 {
                into |= self.anc[self.write_at(loc, at) as usize];
            }
            if at < place {
                (self.readers_at(loc, at) & self.done).iter().for_each(|r| into |= self.anc[r]);
            }
        }
        into & self.fences
    }

    /// Sequentially consistent events directly before an access.
    fn before_access(&self, n: &Node<W>) -> Bits<W> {
        let mut into = n.base & self.fences | n.po & self.sc;
        // What happens before an event of its thread elsewhere, by way of which others come first.
        let elsewhere = n.po.iter().filter(|&z| self.locates(z) != Some(n.loc));
        let through = elsewhere.fold(Bits::EMPTY, |all, z| all | (self.anc[z] & !Bits::one(z)));
        for e in n.hb.iter().filter(|&e| e != n.event) {
            if self.locates(e) == Some(n.loc) {
                into |= self.starts(e);
            } else if self.sc.has(e) && !into.has(e) && self.leaves(e, &through) {
                into.set(e);
            }
        }
        if let Some(place) = n.place {
            into |= self.before_place(n.loc, place);
        }
        into.unset(n.event);
        into
    }

    /// Whether an event is followed in its thread, at another location, by one of these.
    fn leaves(&self, e: usize, these: &Bits<W>) -> bool {
        (*these & self.done)
            .iter()
            .any(|y| self.po[y].has(e) && self.locates(y) != Some(self.packed[e].loc))
    }

    /// Sequentially consistent events directly before a fence.
    fn before_fence(&self, f: usize) -> Bits<W> {
        let hb = self.anc[f];
        let mut into = hb & self.fences;
        for e in (hb & self.sc).iter() {
            let p = self.packed[e];
            let follows = (hb & self.done).iter().any(|y| {
                self.po[y].has(e) || self.locates(y) == Some(p.loc) && y != e && self.anc[y].has(e)
            });
            if follows {
                into.set(e);
            }
        }
        for &loc in self.touched() {
            let (mut write, mut read) = (0, None);
            for place in 0..=self.locs[loc as usize].co.len() {
                if place > 0 {
                    let w = self.write_at(loc, place) as usize;
                    if self.packed[w].kind == Kind::Request {
                        break;
                    }
                    if hb.has(w) {
                        write = place;
                    }
                }
                if self.readers_at(loc, place).meets(&hb) {
                    read = Some(place);
                }
            }
            into |= self.before_place(loc, write);
            if let Some(place) = read {
                into |= self.fences_into_read(loc, place);
            }
        }
        into.unset(f);
        into
    }

    fn before_sc(&self, e: usize) -> Bits<W> {
        if self.fences.has(e) {
            self.before_fence(e)
        } else {
            self.before_access(&self.node(e))
        }
    }

    /// These and all that psc puts before them.
    fn psc_closure(&self, these: Bits<W>) -> Bits<W> {
        let mut all = these;
        these.iter().for_each(|e| all |= self.psc[e]);
        all
    }

    /// After a new event at the end of all orders.
    pub(crate) fn note_psc(&mut self, e: usize) {
        if self.sc.has(e) || self.fences.has(e) {
            self.psc[e] = self.psc_closure(self.before_sc(e));
        }
    }

    /// After a replay: works out psc; false when it is cyclic.
    pub(crate) fn close_psc(&mut self) -> bool {
        let nodes = self.sc | self.fences;
        let mut entered = Bits::EMPTY;
        let mut left = Bits::EMPTY;
        nodes.iter().all(|e| self.close_psc_of(e, &mut entered, &mut left))
    }

    fn close_psc_of(&mut self, e: usize, entered: &mut Bits<W>, left: &mut Bits<W>) -> bool {
        if entered.has(e) {
            return left.has(e);
        }
        entered.set(e);
        let before = self.before_sc(e);
        for p in before.iter() {
            if !self.close_psc_of(p, entered, left) {
                return false;
            }
        }
        self.psc[e] = self.psc_closure(before);
        left.set(e);
        true
    }

    /// What a new event comes before when it precedes all writes from `place` on: for accesses, and
    /// with what fences see through their readers.
    fn after_place(&self, loc: u16, place: usize) -> (Bits<W>, Bits<W>) {
        let co = &self.locs[loc as usize].co;
        let (mut writes, mut readers) = (Bits::EMPTY, Bits::EMPTY);
        for &w in &co[place - 1..] {
            writes.set(w as usize);
            readers |= self.readers[w as usize];
        }
        let reached = |by: &Bits<W>| {
            let fences = self.fences.iter().filter(|&f| self.anc[f].meets(by));
            fences.fold(Bits::EMPTY, |all, f| all | Bits::one(f))
        };
        let near = writes & self.sc | reached(&writes);
        (near, near | reached(&readers))
    }

    /// Whether psc stays acyclic when the new event comes before the writes from `place` on.
    fn keeps_psc(&self, n: &Node<W>, is_sc: bool, place: usize) -> bool {
        let (near, far) = self.after_place(n.loc, place);
        if far.is_empty() {
            return true;
        }
        if self.psc_closure(n.hb & self.fences).meets(&far) {
            return false;
        }
        !is_sc || !self.psc_closure(self.before_access(n)).meets(&near)
    }

    /// Whether read `e`, the newest event, may read this place.
    pub(crate) fn read_keeps_psc(
        &self,
        thread: usize,
        e: usize,
        place: usize,
        order: Ordering,
    ) -> bool {
        if (self.sc | self.fences).is_empty() {
            return true;
        }
        let loc = self.packed[e].loc;
        let base = self.fronts[thread].hb;
        let mut hb = base | Bits::one(e);
        let rf = self.write_at(loc, place);
        if rf != INIT && self.model.acquires(order) {
            hb |= self.rel[rf as usize];
        }
        let po = self.fronts[thread].po;
        let node = Node { event: e, loc, hb, base, po, place: None };
        self.keeps_psc(&node, self.model.is_sc(order), place + 1)
    }

    /// Whether write `w`, the newest event, may take this place.
    pub(crate) fn write_keeps_psc(
        &self,
        thread: usize,
        w: usize,
        place: usize,
        order: Ordering,
    ) -> bool {
        if !self.model.is_weak() || (self.sc | self.fences).is_empty() {
            return true;
        }
        let loc = self.packed[w].loc;
        let base = self.fronts[thread].hb;
        let (po, hb) = (self.fronts[thread].po, base | Bits::one(w));
        let node = Node { event: w, loc, hb, base, po, place: Some(place) };
        self.keeps_psc(&node, self.model.is_sc(order), place)
    }
}

impl Model {
    pub(crate) fn is_weak(self) -> bool {
        matches!(self, Self::Ra | Self::Rc11)
    }

    pub(crate) fn acquires(self, order: Ordering) -> bool {
        self == Self::Ra || matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
    }

    pub(crate) fn releases(self, order: Ordering) -> bool {
        self == Self::Ra || matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// Whether an access of this order takes part in psc.
    pub(crate) fn is_sc(self, order: Ordering) -> bool {
        self == Self::Rc11 && order == Ordering::SeqCst
    }
}
