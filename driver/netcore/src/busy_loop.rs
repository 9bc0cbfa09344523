//! Busy polling through the poll method itself: `napi_busy_loop` and `busy_poll_stop` of
//! `net/core/dev.c` (6.12).
//!
//! A busy poller owns the context as the softirq would, and says so (`IN_BUSY_POLL`): completing
//! does nothing meanwhile, so the interrupt stays off. When it leaves it polls once more, so that
//! the driver completes and gets its interrupt enabled; an application that will be back
//! (`PREFER_BUSY_POLL`) leaves a timer instead. Left out: GRO's lists, `END_ON_RESCHED`; the
//! glance at the state before the compare-exchange is part of it.

use crate::napi::{Napi, NapiState};
use crate::Net;
use pollproof_events::{emit, NapiStep};
use pollproof_sync::Ordering::{Acquire, Relaxed};
use pollproof_sync::{bug, cpu};
use std::sync::atomic::Ordering as StdOrdering;
use std::sync::Arc;

/// `BUSY_POLL_BUDGET`.
pub const BUSY_POLL_BUDGET: i32 = 8;

/// How a busy poller polls.
#[derive(Clone, Copy, Debug)]
pub struct BusyPoll {
    /// `SO_PREFER_BUSY_POLL`.
    pub prefer: bool,
    /// `SO_BUSY_POLL_BUDGET`.
    pub budget: i32,
}

impl Default for BusyPoll {
    fn default() -> Self {
        Self { prefer: false, budget: BUSY_POLL_BUDGET }
    }
}

impl Net {
    /// `napi_busy_loop`: polls the context with an id, if there is one, until `loop_end` says so;
    /// once without it.
    pub fn napi_busy_loop(&self, napi_id: u32, loop_end: Option<&dyn Fn() -> bool>, how: BusyPoll) {
        loop {
            let rcu = self.rcu.read_lock();
            let Some(napi) = self.napi_by_id(napi_id) else { return };
            if !self.busy_rounds(&napi, loop_end, how) {
                return;
            }
            // The id is looked up again: nothing holds the context while others run.
            drop(rcu);
            self.cond_resched();
            if loop_end.is_none_or(|ended| ended()) {
                return;
            }
        }
    }

    /// Polls until the end, or until the CPU is wanted: true.
    fn busy_rounds(
        &self,
        napi: &Arc<Napi>,
        loop_end: Option<&dyn Fn() -> bool>,
        how: BusyPoll,
    ) -> bool {
        cpu::preempt_disable();
        let mut owner = None;
        let wanted = loop {
            cpu::local_bh_disable();
            if owner.is_none() && self.busy_take(napi, how.prefer) {
                owner = Some(self.netpoll_poll_lock(napi));
            }
            if owner.is_some() {
                let work = self.call_poll(napi, how.budget, false);
                self.count_busy_packets(work);
                self.gro_normal_list(napi);
            }
            self.local_bh_enable();
            self.below.clock.spin_round();
            if loop_end.is_none_or(|ended| ended()) {
                break false;
            }
            if self.need_resched() {
                break true;
            }
        };
        if let Some(have) = owner {
            self.busy_poll_stop(napi, have, how);
        }
        cpu::preempt_enable();
        wanted
    }

    /// Takes the context if nobody has it and nobody wants it gone.
    fn busy_take(&self, napi: &Napi, prefer: bool) -> bool {
        napi.lifetime.used();
        let own = (NapiState::IN_BUSY_POLL | NapiState::SCHED).bits();
        let others = own | NapiState::DISABLE.bits();
        let is_free = |s: u32| s & others == 0 || bug("C-19");
        let taken = napi.state.update(Acquire, |s| is_free(s).then_some(s | own)).is_ok();
        if taken {
            emit(napi.step(NapiStep::BusyTaken));
        } else if prefer {
            napi.state.fetch_or(NapiState::PREFER_BUSY_POLL.bits(), Relaxed);
        }
        taken
    }

    /// `busy_poll_stop`: the busy poller becomes an ordinary owner and polls once more.
    fn busy_poll_stop(&self, napi: &Arc<Napi>, have: bool, how: BusyPoll) {
        // Who was refused until now is served by the poll below. That may be too early to see the
        // cause on another CPU; the interrupt that its end enables is not.
        napi.state.fetch_and(!NapiState::MISSED.bits(), Relaxed);
        napi.state.fetch_and(!NapiState::IN_BUSY_POLL.bits(), Relaxed);
        emit(napi.step(NapiStep::BusyLeft));
        cpu::local_bh_disable();
        let is_deferred = how.prefer && self.defer(napi);
        let work = self.call_poll(napi, how.budget, false);
        self.netpoll_poll_unlock(napi, have);
        if work == how.budget {
            // Still ours. The timer brings it back, or else the softirq goes on with it.
            if is_deferred {
                self.give_up(napi);
            } else {
                self.__napi_schedule(napi);
            }
        }
        self.local_bh_enable();
    }

    /// Starts the timer that stands in for the interrupt, if the device has one.
    fn defer(&self, napi: &Napi) -> bool {
        let (times, delay_ns) =
            (self.options.napi_defer_hard_irqs, self.options.gro_flush_timeout_ns);
        napi.defer_count.store(times, StdOrdering::Relaxed);
        let defers = times > 0 && delay_ns > 0;
        if defers {
            self.start_timer(napi, delay_ns);
        }
        defers
    }
}
