//! What the order of the memory model forces: the oldest value that a read may see, the first place
//! that a write may take. Exact for SC, TSO and RA, and for RC11 without sequentially consistent
//! events, so that no inconsistent graph is ever built; those are left to [`super::psc`].

use super::bits::Bits;
use super::events::Graph;
use super::item::{Kind, INIT};

impl<const W: usize> Graph<W> {
    /// Place of the newest write that `base` already knows of: a read that comes after `base` may
    /// not see an older one, and a write must come after it.
    pub(crate) fn bound(&self, loc: u16, base: &Bits<W>) -> usize {
        let co = &self.locs[loc as usize].co;
        (0..co.len()).rev().find(|&i| self.knows(base, co[i] as usize)).map_or(0, |i| i + 1)
    }

    /// Whether `base` has the write or, where reads are ordered by what happens before alone, a
    /// reader of it.
    fn knows(&self, base: &Bits<W>, write: usize) -> bool {
        base.has(write) || self.model.is_weak() && self.readers[write].meets(base)
    }

    /// The same in the graph of the events in `keep`, counted there.
    pub(crate) fn bound_within(&self, loc: u16, base: &Bits<W>, keep: &Bits<W>) -> usize {
        let base = *base & *keep;
        let (mut bound, mut place) = (0, 0);
        for &write in &self.locs[loc as usize].co {
            if keep.has(write as usize) {
                place += 1;
                if self.knows(&base, write as usize) {
                    bound = place;
                }
            }
        }
        bound
    }

    /// Whether a read-modify-write already took what this place holds.
    pub(crate) fn is_taken(&self, loc: u16, pos: usize) -> bool {
        let next = self.locs[loc as usize].co.get(pos);
        next.is_some_and(|&w| self.packed[w as usize].kind != Kind::Write)
    }

    /// Whether the event could have been the last one added to what came before it and to what the
    /// new write depends on (`prev`): reads see the newest value, writes are the newest and unseen.
    pub(crate) fn is_maximal(&self, e: usize, prev: &Bits<W>) -> bool {
        let p = self.packed[e];
        let newest = |from: usize| {
            let co = &self.locs[p.loc as usize].co;
            co[from..].iter().all(|&w| w as usize == e || !prev.has(w as usize))
        };
        let source_there = p.rf == INIT || p.kind.reads() && prev.has(p.rf as usize);
        match p.kind {
            Kind::Read | Kind::Request => source_there && newest(self.pos_of(p.rf)),
            Kind::Write | Kind::RmwWrite => !self.readers[e].meets(prev) && newest(p.pos as usize),
            Kind::Choose => p.rf == 0,
            Kind::Grant | Kind::Unlock | Kind::Fence | Kind::Rest => true,
        }
    }
}
