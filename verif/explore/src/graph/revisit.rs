//! Backward revisits: an earlier read sees a write that was added after it.
//!
//! What was added since and is not what the write depends on is deleted. That is done only when all
//! of it, and the read, were maximal: of all the graphs that lead to the same result exactly one
//! has that property, so no graph is reached twice (TruSt: Kokologiannakis, Marmanis, Gladstein,
//! Vafeiadis, POPL 2022).

use super::bits::Bits;
use super::events::Graph;
use super::item::{Item, Kind, Packed, INIT};

impl<const W: usize> Graph<W> {
    /// Reads of the location, or places in its queue, that do not come before the new write `w`.
    pub(crate) fn revisitable(&self, w: usize) -> Bits<W> {
        let Packed { loc, kind, .. } = self.packed[w];
        let l = &self.locs[loc as usize];
        let mut reads = Bits::EMPTY;
        if kind == Kind::Request {
            l.co.iter().for_each(|&r| reads.set(r as usize));
        } else {
            reads = l.init_readers;
            l.co.iter().for_each(|&c| reads |= self.readers[c as usize]);
        }
        reads & !self.porf[w]
    }

    /// The graphs in which `r` reads from `w`, the newest event, which has no place yet: one for
    /// each place that `w` may take. `base` is what comes before `w`.
    pub(crate) fn revisit(&self, r: usize, w: usize, base: &Bits<W>, found: &mut dyn FnMut(Item)) {
        let keep = Bits::below(r + 1) | self.porf[w];
        let gone = Bits::below(w) & !keep;
        let maximal = |e: usize| self.is_maximal(e, &(Bits::below(e + 1) | self.porf[w]));
        if !maximal(r) || !gone.iter().all(maximal) {
            return;
        }
        let Packed { loc, kind, rf, .. } = self.packed[w];
        let mut kept = self.scratch.borrow_mut();
        kept.clear();
        let co = &self.locs[loc as usize].co;
        kept.extend(co.iter().filter(|&&c| keep.has(c as usize) && c as usize != r));
        let lowest = self.bound_within(loc, &self.base[r], &keep);
        let taken = |place: usize| {
            kept.get(place - 1).is_some_and(|&c| self.packed[c as usize].kind != Kind::Write)
        };
        let places = match kind {
            Kind::Write => {
                let lowest = lowest.max(self.bound_within(loc, base, &keep));
                lowest + 1..=kept.len() + 1
            }
            // Directly after what it replaces.
            _ => {
                let source =
                    if kind == Kind::Request { rf } else { self.packed[self.read_of(w)].rf };
                let place = match source {
                    INIT => 1,
                    s => kept.iter().position(|&c| c == s).map_or(usize::MAX, |i| i + 2),
                };
                if kind == Kind::RmwWrite && place <= lowest || place > kept.len() + 1 {
                    return;
                }
                place..=place
            }
        };
        for place in places {
            if !taken(place) {
                found(self.restricted(&keep, r, w, place, &kept));
            }
        }
    }

    /// The graph of the events in `keep`, where `w` takes `place` and `r` reads from it.
    fn restricted(&self, keep: &Bits<W>, r: usize, w: usize, place: usize, kept: &[u16]) -> Item {
        let mut item = Item(self.list());
        for e in keep.iter() {
            let mut p = self.packed[e];
            if e == r {
                p.rf = keep.rank(w) as u16;
            } else if p.kind.reads() && p.rf != INIT {
                p.rf = keep.rank(p.rf as usize) as u16;
            }
            item.0.push(p);
        }
        let mut put = |e: usize, pos: usize| item.0[keep.rank(e)].pos = pos as u16;
        let loc = self.packed[w].loc;
        for &other in self.touched() {
            let co = &self.locs[other as usize].co;
            if other != loc {
                let here = co.iter().filter(|&&c| keep.has(c as usize));
                here.enumerate().for_each(|(i, &c)| put(c as usize, i + 1));
            }
        }
        let shift = if self.packed[r].kind == Kind::Request { 2 } else { 1 };
        for (i, &c) in kept.iter().enumerate() {
            put(c as usize, if i + 1 < place { i + 1 } else { i + 1 + shift });
        }
        put(w, place);
        if shift == 2 {
            put(r, place + 1);
        }
        item
    }
}
