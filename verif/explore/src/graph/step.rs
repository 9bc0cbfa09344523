//! What each operation does to the graph when its event is there, and the replay of stored events.

use super::bits::Bits;
use super::item::{Kind, Packed, INIT};
use super::search::{Search, State};
use super::world::{Done, Want};
use super::Stop;
use crate::trace::{End, StepKind};
use std::sync::atomic::Ordering;

/// Whether an operation leaves everything as it was.
fn only_reads(done: &Done) -> bool {
    matches!(done.kind, StepKind::Load | StepKind::CasFailed | StepKind::UpdateRefused)
}

/// What a read does with a value.
pub(super) enum Verdict {
    /// It goes on.
    Seen,
    /// It waits for another one.
    Unsatisfied,
    /// It writes this one.
    Writes(u64),
}

impl<const W: usize> Search<'_, W> {
    fn mask(&self, loc: u16) -> u64 {
        self.world.objects.get(loc as usize).map_or(u64::MAX, |o| o.mask)
    }

    /// What the operation of a thread would do with a value.
    #[allow(unsafe_code)]
    pub(super) fn judge(&mut self, thread: usize, value: u64) -> Verdict {
        let slot = &self.world.slots[thread];
        let mask = self.mask(slot.loc);
        match slot.want {
            Want::Wait(ready, _) => {
                // SAFETY: the thread is parked in the call that owns the predicate.
                if unsafe { (*ready)(value) } {
                    Verdict::Seen
                } else {
                    Verdict::Unsatisfied
                }
            }
            // SAFETY: as above.
            Want::Rmw(next, ..) => match unsafe { (*next)(value) } {
                Some(new) => Verdict::Writes(new & mask),
                None => Verdict::Seen,
            },
            Want::Lock if value == 0 => Verdict::Writes(thread as u64 + 1),
            Want::Lock => Verdict::Unsatisfied,
            _ => Verdict::Seen,
        }
    }

    /// Order of the reading half, given what it does.
    pub(super) fn read_order(&self, thread: usize, writes: bool) -> Ordering {
        match self.world.slots[thread].want {
            Want::Load(order) | Want::Wait(_, order) => order,
            Want::Rmw(_, success, _, _) if writes => success,
            Want::Rmw(_, _, failure, _) => failure,
            _ => Ordering::Acquire,
        }
    }

    /// Enacts read `e` of what its `rf` says.
    pub(super) fn read(&mut self, thread: usize, e: usize) -> Result<(), Stop> {
        let Packed { loc, rf, .. } = self.g.packed[e];
        let value = self.value_of(loc, rf);
        self.g.value[e] = value;
        let verdict = self.judge(thread, value);
        let writes = matches!(verdict, Verdict::Writes(_));
        if matches!(verdict, Verdict::Unsatisfied) {
            self.g.enact_read(e, rf, Ordering::Relaxed, false, self.closed);
            self.states[thread] = State::Unsatisfied(e as u16);
            return Ok(());
        }
        let order = self.read_order(thread, writes);
        self.g.enact_read(e, rf, order, writes, self.closed);
        self.note_psc(e);
        let sync = if rf == INIT { Default::default() } else { self.g.sync[rf as usize] };
        let slot = &mut self.world.slots[thread];
        slot.view.load(&sync, order);
        if let Verdict::Writes(new) = verdict {
            self.states[thread] = State::Half(new);
            return Ok(());
        }
        let kind = match slot.want {
            Want::Wait(..) => StepKind::Wait,
            Want::Rmw(_, _, _, name) => name.step(false),
            _ => StepKind::Load,
        };
        self.finish(thread, kind, Some(e), (value, value, value))
    }

    fn note_psc(&mut self, e: usize) {
        if self.closed {
            self.g.note_psc(e);
        }
    }

    /// Enacts write `e`, which has its place.
    pub(super) fn write(&mut self, thread: usize, e: usize) -> Result<(), Stop> {
        let Packed { loc, pos, kind, .. } = self.g.packed[e];
        let (value, order, unordered) = match (self.world.slots[thread].want, self.states[thread]) {
            (Want::Store(value, order, unordered), _) => (value & self.mask(loc), order, unordered),
            (Want::Rmw(_, order, _, _), State::Half(value)) => (value, order, false),
            (Want::Lock, State::Half(value)) => (value, Ordering::Acquire, false),
            (Want::Unlock, _) => (0, Ordering::Release, false),
            _ => return Err(self.diverged()),
        };
        self.g.enact_write(e, value, order, unordered, self.closed);
        self.note_psc(e);
        let before = self.value_of(loc, self.g.write_at(loc, pos as usize - 1));
        let slot = &mut self.world.slots[thread];
        let mut sync = slot.view.store(order);
        if kind == Kind::RmwWrite {
            let source = self.g.packed[self.g.read_of(e)].rf;
            if source != INIT {
                sync.join(&self.g.sync[source as usize]);
            }
        }
        self.g.sync[e] = sync;
        let kind = match slot.want {
            Want::Rmw(_, _, _, name) => name.step(true),
            Want::Lock => StepKind::Lock,
            Want::Unlock => StepKind::Unlock,
            _ => StepKind::Store,
        };
        self.finish(thread, kind, Some(e), (before, value, before))
    }

    /// Enacts the moment at which a lock is had.
    pub(super) fn grant(&mut self, thread: usize, e: usize, request: u16) -> Result<(), Stop> {
        let before = self.g.packed[request as usize].rf;
        let mut also = Bits::EMPTY;
        if before != INIT {
            let unlock = self.g.unlock[before as usize] as usize;
            also.set(unlock);
            let sync = self.g.sync[unlock];
            self.world.slots[thread].view.load(&sync, Ordering::Acquire);
        }
        self.g.enact_other(e, also, self.closed);
        let loc = self.g.packed[e].loc;
        self.g.fronts[thread].held.push((loc, request));
        self.finish(thread, StepKind::Lock, Some(e), (0, thread as u64 + 1, 0))
    }

    pub(super) fn unlock(&mut self, thread: usize, e: usize) -> Result<(), Stop> {
        let loc = self.g.packed[e].loc;
        let held = &mut self.g.fronts[thread].held;
        let Some(at) = held.iter().rposition(|h| h.0 == loc) else {
            let message = format!("T{thread} gives back a lock that it does not hold");
            return Err(Stop::End(End::Panicked { thread, message }));
        };
        let (_, request) = held.remove(at);
        self.g.unlock[request as usize] = e as u16;
        self.g.enact_other(e, Bits::EMPTY, self.closed);
        self.g.sync[e] = self.world.slots[thread].view.store(Ordering::Release);
        self.finish(thread, StepKind::Unlock, Some(e), (thread as u64 + 1, 0, 0))
    }

    /// A fence that is an event, under RA and RC11: psc asks what stands between two accesses.
    pub(super) fn fence(&mut self, thread: usize, e: usize) -> Result<(), Stop> {
        let Want::Fence(order) = self.world.slots[thread].want else { return Err(self.diverged()) };
        if order != Ordering::Release {
            self.g.fence(thread, Ordering::Acquire);
        }
        self.g.enact_other(e, Bits::EMPTY, self.closed);
        if order != Ordering::Acquire {
            self.g.fence(thread, Ordering::Release);
        }
        if order == Ordering::SeqCst {
            self.g.fences.set(e);
        }
        self.note_psc(e);
        self.finish(thread, StepKind::Fence, Some(e), (0, 0, 0))
    }

    /// All others have come to rest: what they did is before, what they will do is after.
    pub(super) fn rest(&mut self, thread: usize, e: usize) -> Result<(), Stop> {
        let also = self.g.done;
        self.g.enact_other(e, also, self.closed);
        self.g.rested(e);
        let mut all = self.world.slots[thread].view;
        for slot in self.world.slots.iter().filter(|s| s.born) {
            all.clock_join(&slot.view);
        }
        self.world.slots[thread].view = all;
        self.finish(thread, StepKind::Rest, Some(e), (0, 0, 0))
    }

    pub(super) fn choice(&mut self, thread: usize, e: usize) -> Result<(), Stop> {
        let value = u64::from(self.g.packed[e].rf);
        self.g.enact_read(e, INIT, Ordering::Relaxed, false, self.closed);
        self.world.slots[thread].loc = value as u16;
        self.finish(thread, StepKind::Choose, Some(e), (value, value, value))
    }

    /// Enacts a stored event, if what it needs is there.
    pub(super) fn replay_event(&mut self, thread: usize, e: usize) -> Result<bool, Stop> {
        let p = self.g.packed[e];
        let slot = &self.world.slots[thread];
        if slot.ended {
            return Err(self.diverged());
        }
        if !self.is_after_rests(e) {
            return Ok(false);
        }
        let plain_lock = self.config.plain_locks;
        let fits = match (p.kind, slot.want) {
            (Kind::Read, Want::Load(_) | Want::Rmw(..) | Want::Wait(..)) => true,
            (Kind::Read | Kind::RmwWrite, Want::Lock) | (Kind::Write, Want::Unlock) => plain_lock,
            (Kind::Write, Want::Store(..)) | (Kind::RmwWrite, Want::Rmw(..)) => true,
            (Kind::Request | Kind::Grant, Want::Lock) => !plain_lock,
            (Kind::Unlock, Want::Unlock) => !plain_lock,
            (Kind::Fence, Want::Fence(_)) | (Kind::Rest, Want::Rest) => true,
            (Kind::Choose, Want::Choose(n)) => usize::from(p.rf) < n,
            _ => false,
        };
        let placed = matches!(p.kind, Kind::Choose | Kind::Fence | Kind::Rest);
        if !fits || !placed && p.loc != slot.loc {
            // A thread in front of a join or a rest may only have to wait for another one.
            let waits = matches!(slot.want, Want::Join(_));
            return if waits { Ok(false) } else { Err(self.diverged()) };
        }
        let there = |rf: u16| rf == INIT || self.g.done.has(rf as usize);
        match p.kind {
            Kind::Read if there(p.rf) => self.read(thread, e)?,
            Kind::Write | Kind::RmwWrite => self.write(thread, e)?,
            Kind::Request if there(p.rf) => {
                self.g.enact_write(e, 0, Ordering::Relaxed, false, self.closed);
                self.states[thread] = State::Queued(e as u16);
            }
            Kind::Grant => {
                let State::Queued(request) = self.states[thread] else {
                    return Err(self.diverged());
                };
                if !self.is_granted(request) {
                    return Ok(false);
                }
                self.grant(thread, e, request)?;
            }
            Kind::Unlock => self.unlock(thread, e)?,
            Kind::Fence => self.fence(thread, e)?,
            Kind::Choose => self.choice(thread, e)?,
            // All that was added before it.
            Kind::Rest if self.rest_is_due(e) => self.rest(thread, e)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether all rests that come before the event are over.
    fn is_after_rests(&self, e: usize) -> bool {
        self.rests.iter().all(|&r| r as usize >= e || self.g.done.has(r as usize))
    }

    fn rest_is_due(&self, e: usize) -> bool {
        (Bits::below(e) & !self.g.done).is_empty()
    }

    pub(super) fn is_granted(&self, request: u16) -> bool {
        let before = self.g.packed[request as usize].rf;
        before == INIT || self.g.unlock[before as usize] != INIT
    }

    /// What is no event is passed as soon as it is met: some fences, and giving way. But a thread
    /// that gives way for the second time, and only read in between, waits for other values.
    pub(super) fn pass_by(&mut self, thread: usize) -> Result<(), Stop> {
        loop {
            let weak = self.g.model.is_weak();
            let slot = &mut self.world.slots[thread];
            match slot.want {
                _ if slot.ended => return Ok(()),
                Want::Fence(order) if !weak => self.g.fence(thread, order),
                Want::Yield => {
                    let now = slot.done.len();
                    let before = slot.yielded.replace(now).filter(|&from| from < now);
                    if let Some(from) = before.filter(|&f| slot.done[f..].iter().all(only_reads)) {
                        slot.yielded = Some(from);
                        self.states[thread] = State::Spins(from);
                        return Ok(());
                    }
                }
                _ => return Ok(()),
            }
            self.resume(thread)?;
        }
    }
}
