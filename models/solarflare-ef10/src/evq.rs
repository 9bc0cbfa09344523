//! Event queues: entries, read pointer, interrupt and its hold-off.

use crate::Ef10;
use pollproof_events::{emit, Event, What};
use pollproof_pcie::{Outbound, Payload};
use pollproof_regs::ef10::{EvqContext, McdiError, EVQ_RPTR_MASK, QWORD_BYTES};

/// A queue. Counters run on; entries are their low bits.
#[derive(Clone, Debug)]
pub(crate) struct Evq {
    pub context: EvqContext,
    pub written: u32,
    pub read: u32,
    /// The next event interrupts.
    pub armed: bool,
    /// Hold-off of interrupts, and when it ends.
    pub holdoff_ps: u64,
    pub quiet_until_ps: u64,
    /// An interrupt waits for that.
    pub pending: bool,
}

impl Evq {
    fn mask(&self) -> u32 {
        self.context.entries - 1
    }
}

impl Ef10 {
    /// `MC_CMD_INIT_EVQ`. The driver has filled the entries with ones.
    pub fn init_evq(&mut self, evq: u32, context: EvqContext) -> Result<(), McdiError> {
        let fits = context.entries.is_power_of_two() && (8..=32_768).contains(&context.entries);
        if !fits || evq >= Self::QUEUES_MAX {
            return Err(McdiError::Invalid);
        }
        let slot = Self::slot(&mut self.evqs, evq);
        if slot.is_some() {
            return Err(McdiError::Busy);
        }
        *slot = Some(Evq {
            context,
            written: 0,
            read: 0,
            armed: false,
            holdoff_ps: 0,
            quiet_until_ps: 0,
            pending: false,
        });
        Ok(())
    }

    /// `MC_CMD_FINI_EVQ`.
    pub fn fini_evq(&mut self, evq: u32) -> Result<(), McdiError> {
        Self::slot(&mut self.evqs, evq).take().map(|_| ()).ok_or(McdiError::NoQueue)
    }

    /// Whether an event has room.
    pub(crate) fn evq_has_room(&self, evq: u32) -> bool {
        let queue = self.evqs.get(evq as usize).and_then(Option::as_ref);
        queue.is_some_and(|q| q.written.wrapping_sub(q.read) < q.context.entries)
    }

    /// Writes an event; there is room.
    pub(crate) fn push_event(&mut self, evq: u32, event: u64) {
        let Some(queue) = self.evqs.get_mut(evq as usize).and_then(Option::as_mut) else { return };
        let at = u64::from(queue.written & queue.mask()) * u64::from(QWORD_BYTES);
        let addr = queue.context.buf + at;
        queue.written = queue.written.wrapping_add(1);
        let payload = Payload::copy(&event.to_le_bytes());
        self.out.push_back(Outbound::DmaWrite { addr, payload, what: What::Eqe });
        self.notify(evq);
    }

    /// `EVQ_RPTR`: what was read, and a request for the next interrupt, which comes at once if
    /// there is an event behind.
    pub(crate) fn write_rptr(&mut self, evq: u32, value: u32) {
        let Some(queue) = self.evqs.get_mut(evq as usize).and_then(Option::as_mut) else {
            return self.misuse("read pointer of an event queue that is not there", evq.into());
        };
        let value = value & EVQ_RPTR_MASK;
        let read = queue.read.wrapping_add(value.wrapping_sub(queue.read) & queue.mask());
        if queue.written.wrapping_sub(read) > queue.context.entries {
            return self.misuse("read pointer beyond what was written", value.into());
        }
        (queue.read, queue.armed) = (read, true);
        self.stats.arms += 1;
        emit(Event::CqArmed { cq: evq, consumer: read, sn: 0, accepted: true });
        self.notify(evq);
    }

    /// `EVQ_TMR`: how long interrupts are held off.
    pub(crate) fn write_tmr(&mut self, evq: u32, quanta: u32) {
        let holdoff_ps = u64::from(quanta).saturating_mul(self.params.quantum_ps);
        match self.evqs.get_mut(evq as usize).and_then(Option::as_mut) {
            Some(queue) => queue.holdoff_ps = holdoff_ps,
            None => self.misuse("timer of an event queue that is not there", evq.into()),
        }
    }

    /// Interrupts if it was asked to and there is something, unless that is held off.
    fn notify(&mut self, evq: u32) {
        let now_ps = self.now_ps;
        let Some(queue) = self.evqs.get_mut(evq as usize).and_then(Option::as_mut) else { return };
        if !queue.armed || queue.written == queue.read {
            return;
        }
        if queue.quiet_until_ps > now_ps {
            queue.pending = true;
            return;
        }
        (queue.armed, queue.pending) = (false, false);
        queue.quiet_until_ps = now_ps.saturating_add(queue.holdoff_ps);
        let (vector, producer) = (queue.context.vector, queue.written);
        self.stats.msix += 1;
        emit(Event::CqFired { cq: evq, producer });
        self.out.push_back(Outbound::Msix { vector });
    }

    /// Ends hold-offs that are over; with `any`, one of them whatever the time. Whether one ended.
    pub(crate) fn end_holdoffs(&mut self, any: bool) -> bool {
        let mut ended = false;
        for evq in 0..self.evqs.len() as u32 {
            let now_ps = self.now_ps;
            let queue = self.evqs.get_mut(evq as usize).and_then(Option::as_mut);
            let due = |q: &&mut Evq| q.pending && (any || q.quiet_until_ps <= now_ps);
            let Some(queue) = queue.filter(due) else { continue };
            queue.quiet_until_ps = 0;
            self.notify(evq);
            ended = true;
            if any {
                break;
            }
        }
        ended
    }

    /// Events that were written and that the device was not told to be read, and whether the next
    /// one interrupts.
    pub fn evq_view(&self, evq: u32) -> Option<(u32, bool)> {
        let queue = self.evqs.get(evq as usize)?.as_ref()?;
        Some((queue.written, queue.armed))
    }
}
