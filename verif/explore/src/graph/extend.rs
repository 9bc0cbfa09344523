//! One more event at the end of a graph: the next one is a function of the graph alone, it is added
//! as the newest of all orders, and every other way to add it is stored for later.

use super::bits::Bits;
use super::item::{Kind, Packed, INIT};
use super::search::{Search, State};
use super::step::Verdict;
use super::world::Want;
use super::Stop;
use crate::trace::{Blocked, End, StepKind};
use std::sync::atomic::Ordering;

impl<const W: usize> Search<'_, W> {
    /// Adds one event, or finds that nothing more can be added.
    pub(super) fn extend(&mut self) -> Result<(), Stop> {
        // A read-modify-write, which is two events, is never cut in half.
        if !self.g.has_room(2) {
            return Err(self.full());
        }
        let half = |s: &State| matches!(s, State::Half(_));
        if let Some(thread) = self.states.iter().position(half) {
            return self.add_rmw_write(thread);
        }
        let mut rests = None;
        let mut over = true;
        for thread in 0..self.states.len() {
            let slot = &self.world.slots[thread];
            if !slot.born || slot.ended {
                continue;
            }
            over = false;
            match (self.states[thread], slot.want) {
                (State::Queued(request), _) if self.is_granted(request) => {
                    let e = self.add(thread, Kind::Grant, INIT);
                    return self.grant(thread, e, request);
                }
                (State::Half(_) | State::Queued(_), _) => {}
                (State::Unsatisfied(_) | State::Spins(_), _) => {}
                (State::Ready, Want::Join(_)) => {
                    if self.join_if_over(thread)? {
                        return Ok(());
                    }
                }
                (State::Ready, Want::Wait(..)) => {
                    if self.is_satisfied(thread) {
                        return self.add_read(thread, true);
                    }
                }
                (State::Ready, Want::Lock) if self.config.plain_locks => {
                    if self.is_satisfied(thread) {
                        return self.add_read(thread, true);
                    }
                }
                (State::Ready, Want::Rest) => rests = rests.or(Some(thread)),
                (State::Ready, Want::Assume | Want::Stuck) => {}
                (State::Ready, want) => return self.add_operation(thread, want),
            }
        }
        if over {
            return Err(Stop::End(End::Complete));
        }
        self.at_rest(rests)
    }

    fn add_operation(&mut self, thread: usize, want: Want) -> Result<(), Stop> {
        match want {
            Want::Load(_) | Want::Rmw(..) => self.add_read(thread, true),
            Want::Store(..) => self.add_write(thread),
            Want::Unlock if self.config.plain_locks => self.add_write(thread),
            Want::Lock => self.add_request(thread),
            Want::Unlock => {
                let e = self.add(thread, Kind::Unlock, INIT);
                self.unlock(thread, e)
            }
            Want::Fence(_) if self.g.model.is_weak() => {
                let e = self.add(thread, Kind::Fence, INIT);
                self.fence(thread, e)
            }
            Want::Fence(_) | Want::Yield => self.pass_by(thread),
            Want::Choose(n) => {
                let e = self.g.len();
                for value in 1..n {
                    let p = self.packed(thread, Kind::Choose, value as u16);
                    self.store(e, p);
                }
                let e = self.add(thread, Kind::Choose, 0);
                self.choice(thread, e)
            }
            _ => Err(self.diverged()),
        }
    }

    fn packed(&self, thread: usize, kind: Kind, rf: u16) -> Packed {
        let loc = match kind {
            Kind::Choose | Kind::Fence | Kind::Rest => 0,
            _ => self.world.slots[thread].loc,
        };
        Packed { thread: thread as u8, kind, loc, rf, pos: 0 }
    }

    fn add(&mut self, thread: usize, kind: Kind, rf: u16) -> usize {
        let p = self.packed(thread, kind, rf);
        self.g.push(p)
    }

    fn is_satisfied(&mut self, thread: usize) -> bool {
        let value = self.newest_value(self.world.slots[thread].loc);
        !matches!(self.judge(thread, value), Verdict::Unsatisfied)
    }

    /// Adds a read: of the newest value if told, and stores the others that it may see.
    fn add_read(&mut self, thread: usize, newest: bool) -> Result<(), Stop> {
        let e = self.add(thread, Kind::Read, INIT);
        let loc = self.g.packed[e].loc;
        let places = self.g.locs[loc as usize].co.len();
        let free = self.g.base_of_load(thread, false);
        let locked = self.g.base_of_load(thread, true);
        let lowest = self.g.bound(loc, &free);
        let lowest_locked = self.g.bound(loc, &locked);
        for place in (lowest..places).rev() {
            let source = self.g.write_at(loc, place);
            let verdict = self.judge(thread, self.value_of(loc, source));
            let writes = matches!(verdict, Verdict::Writes(_));
            if matches!(verdict, Verdict::Unsatisfied) || writes && place < lowest_locked {
                continue;
            }
            let order = self.read_order(thread, writes);
            if !self.g.read_keeps_psc(thread, e, place, order) {
                continue;
            }
            self.g.packed[e].rf = source;
            if writes && self.g.is_taken(loc, place) {
                self.displace(thread, e);
            } else {
                let p = self.g.packed[e];
                self.store(e, p);
            }
        }
        if !newest {
            self.g.truncate(e);
            return Ok(());
        }
        self.g.packed[e].rf = self.g.write_at(loc, places);
        self.g.add_reader(loc, self.g.packed[e].rf, e);
        self.read(thread, e)
    }

    /// A read-modify-write reads what another one took: that other one, or an event before it, must
    /// see the new write instead.
    fn displace(&mut self, thread: usize, e: usize) {
        let rf = self.g.packed[e].rf;
        let mut porf = self.g.fronts[thread].porf | Bits::one(e);
        if rf != INIT {
            porf |= self.g.porf[rf as usize];
        }
        self.g.porf[e] = porf;
        let w = self.add(thread, Kind::RmwWrite, INIT);
        self.g.porf[w] = porf | Bits::one(w);
        self.revisit_all(w, &Bits::EMPTY);
        self.g.truncate(w);
    }

    fn revisit_all(&mut self, w: usize, base: &Bits<W>) {
        let found = &mut self.found;
        for r in self.g.revisitable(w).iter() {
            self.g.revisit(r, w, base, &mut |item| found.push(item));
        }
    }

    /// The other half of a read-modify-write.
    fn add_rmw_write(&mut self, thread: usize) -> Result<(), Stop> {
        let w = self.add(thread, Kind::RmwWrite, INIT);
        let loc = self.g.packed[w].loc;
        self.g.porf[w] = self.g.fronts[thread].porf | Bits::one(w);
        let place = self.g.pos_of(self.g.packed[self.g.read_of(w)].rf) + 1;
        self.revisit_all(w, &Bits::EMPTY);
        self.g.packed[w].pos = place as u16;
        if place <= self.g.locs[loc as usize].co.len() {
            // Not the newest: what is before what changes, so start again from here.
            let p = self.g.packed[w];
            self.store(w, p);
            return Err(Stop::Again);
        }
        self.g.locs[loc as usize].co.push(w as u16);
        self.write(thread, w)
    }

    /// Adds a store in the newest place, and stores the others that it may take.
    fn add_write(&mut self, thread: usize) -> Result<(), Stop> {
        let w = self.add(thread, Kind::Write, INIT);
        let loc = self.g.packed[w].loc;
        self.g.porf[w] = self.g.fronts[thread].porf | Bits::one(w);
        let unordered = matches!(self.world.slots[thread].want, Want::Store(_, _, true));
        let base = self.g.base_of_store(thread, unordered);
        self.revisit_all(w, &base);
        let newest = self.g.locs[loc as usize].co.len() + 1;
        for place in self.g.bound(loc, &base) + 1..newest {
            if !self.g.is_taken(loc, place - 1) && self.write_keeps_psc(thread, w, place) {
                self.g.packed[w].pos = place as u16;
                let p = self.g.packed[w];
                self.store(w, p);
            }
        }
        self.g.packed[w].pos = newest as u16;
        self.g.locs[loc as usize].co.push(w as u16);
        self.write(thread, w)
    }

    fn write_keeps_psc(&mut self, thread: usize, w: usize, place: usize) -> bool {
        let order = match self.world.slots[thread].want {
            Want::Store(_, order, _) => order,
            _ => Ordering::Release,
        };
        self.g.write_keeps_psc(thread, w, place, order)
    }

    /// Queues at a lock: behind all others, and in front of those that do not come before.
    fn add_request(&mut self, thread: usize) -> Result<(), Stop> {
        let e = self.add(thread, Kind::Request, INIT);
        let loc = self.g.packed[e].loc;
        let porf = self.g.fronts[thread].porf | Bits::one(e);
        let before = porf | self.g.base_of_store(thread, false);
        let places = self.g.locs[loc as usize].co.len();
        for place in (0..places).rev() {
            if before.has(self.g.locs[loc as usize].co[place] as usize) {
                break;
            }
            let source = self.g.write_at(loc, place);
            self.g.packed[e].rf = source;
            self.g.porf[e] = porf;
            if source != INIT {
                self.g.porf[e] = porf | self.g.porf[source as usize];
            }
            self.revisit_all(e, &Bits::EMPTY);
        }
        self.g.packed[e].rf = self.g.write_at(loc, places);
        self.g.packed[e].pos = places as u16 + 1;
        self.g.locs[loc as usize].co.push(e as u16);
        self.g.enact_write(e, 0, Ordering::Relaxed, false, self.closed);
        self.states[thread] = State::Queued(e as u16);
        Ok(())
    }

    /// Nobody can go on with the newest values. Threads that wait may have seen older ones; then
    /// somebody who waits for this moment goes on, or it is the end.
    fn at_rest(&mut self, rests: Option<usize>) -> Result<(), Stop> {
        let len = self.g.len();
        // Asked before anything is stored: what is run again would be stored again.
        if !self.g.has_room(2 + self.states.len()) {
            return Err(self.full());
        }
        for thread in 0..self.states.len() {
            let slot = &self.world.slots[thread];
            let waits = matches!(slot.want, Want::Wait(..))
                || matches!(slot.want, Want::Lock) && self.config.plain_locks;
            if !slot.born || slot.ended || self.states[thread] != State::Ready || !waits {
                continue;
            }
            self.add_read(thread, false)?;
            // In what follows this thread has seen the newest value and waits on.
            let e = self.add(thread, Kind::Read, INIT);
            let loc = self.g.packed[e].loc;
            let places = self.g.locs[loc as usize].co.len();
            self.g.packed[e].rf = self.g.write_at(loc, places);
        }
        self.g.truncate(len);
        let mut waiting = Bits::EMPTY;
        for thread in 0..self.states.len() {
            waiting |= self.waits_for(thread);
        }
        if waiting.iter().any(|e| !self.newer_than(e).is_empty()) {
            return Err(Stop::Dead);
        }
        let born = self.world.slots.iter().filter(|s| s.born && !s.ended);
        if born.clone().any(|s| matches!(s.want, Want::Assume)) {
            return Err(Stop::Dead);
        }
        let Some(thread) = rests else { return Err(Stop::End(self.deadlock())) };
        if !waiting.is_empty() {
            // Those reads are taken back: who waits now waits on after the rest.
            let keep = self.everything() & !waiting;
            let p = self.packed(thread, Kind::Rest, INIT);
            let mut item = self.g.without(&keep);
            item.0.push(p);
            self.found.push(item);
            return Err(Stop::Again);
        }
        let e = self.add(thread, Kind::Rest, INIT);
        self.rest(thread, e)
    }

    /// Threads that can never go on.
    fn deadlock(&self) -> End {
        let mut threads = Vec::new();
        for (thread, slot) in self.world.slots.iter().enumerate() {
            if !slot.born || slot.ended {
                continue;
            }
            let (kind, object) = match slot.want {
                Want::Lock => (StepKind::Lock, super::linear::number_of(slot.loc)),
                Want::Join(other) => (StepKind::Join, other as u32),
                // It read the same again and again; the last place that it looked at.
                Want::Yield => match slot.done.last() {
                    Some(last) => (StepKind::Load, super::linear::number_of(last.object)),
                    None => (StepKind::Load, 0),
                },
                _ => (StepKind::Wait, super::linear::number_of(slot.loc)),
            };
            threads.push(Blocked { thread, kind, object, at: slot.at });
        }
        End::Deadlock(threads)
    }
}
