//! After a replay: what is before each event in the order of SC and TSO, now that all are there.

use super::bits::Bits;
use super::events::Graph;
use super::item::{Kind, Packed, INIT};
use super::Model;

impl<const W: usize> Graph<W> {
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
