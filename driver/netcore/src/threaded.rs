//! Threaded NAPI: `napi_threaded_poll` of `net/core/dev.c` (6.12).
//!
//! A kthread polls only what was scheduled for it: `SCHED_THREADED`, not `SCHED` alone, which a
//! busy poller or a disable may have set (fixed in cb038357937e). Left out: the repoll's quiescent
//! state for RCU. `kthread_stop` is a bit of the state word here.

use crate::napi::{Napi, NapiState};
use crate::Net;
use pollproof_sync::cpu;
use pollproof_sync::Ordering::{Acquire, Relaxed};
use std::sync::Arc;

impl Net {
    /// `dev_set_threaded`: from here on the kthread polls. Only while the context is disabled.
    pub fn set_threaded(&self, napi: &Napi) {
        napi.state.fetch_or(NapiState::THREADED.bits(), Relaxed);
    }

    /// The kthread of a context: polls until [`Net::stop_threaded`].
    pub fn napi_threaded_poll(&self, napi: &Arc<Napi>) {
        let (scheduled, stop) = (NapiState::SCHED_THREADED, NapiState::KTHREAD_STOP);
        loop {
            let wanted = (scheduled | stop).bits();
            let state = napi.state.wait(Acquire, |s| s & wanted != 0);
            if !NapiState::from_bits_retain(state).contains(scheduled) {
                return;
            }
            cpu::local_bh_disable();
            let rcu = self.rcu.read_lock();
            self.__napi_poll(napi);
            drop(rcu);
            cpu::local_bh_enable();
        }
    }

    /// Ends the kthread after what is scheduled.
    pub fn stop_threaded(&self, napi: &Napi) {
        napi.state.fetch_or(NapiState::KTHREAD_STOP.bits(), Relaxed);
    }
}
