//! Threaded NAPI: `napi_threaded_poll` of `net/core/dev.c` (6.12).
//!
//! A kthread polls only what was scheduled for it: `SCHED_THREADED`, not `SCHED` alone, which a
//! busy poller or a disable may have set (fixed in cb038357937e). Left out: the repoll's quiescent
//! state for RCU.

use crate::napi::{Napi, NapiState};
use crate::Net;
use pollproof_sync::cpu;
use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use std::sync::Arc;

/// Value of `wake` that ends the kthread.
const STOP: u32 = 2;

impl Net {
    /// `dev_set_threaded`: from here on the kthread polls. Only while the context is disabled.
    pub fn set_threaded(&self, napi: &Napi) {
        napi.state.fetch_or(NapiState::THREADED.bits(), Relaxed);
    }

    /// The kthread of a context: polls until [`Net::stop_threaded`].
    pub fn napi_threaded_poll(&self, napi: &Arc<Napi>) {
        loop {
            napi.wake.wait(Acquire, |w| w != 0);
            let woken = napi.wake.swap(0, Acquire);
            let scheduled = |s: NapiState| s.contains(NapiState::SCHED_THREADED);
            while scheduled(NapiState::from_bits_retain(napi.state.load(Acquire))) {
                cpu::local_bh_disable();
                self.__napi_poll(napi);
                cpu::local_bh_enable();
            }
            if woken & STOP != 0 {
                return;
            }
        }
    }

    /// Ends the kthread after what is scheduled.
    pub fn stop_threaded(&self, napi: &Napi) {
        napi.wake.fetch_or(STOP, Release);
    }
}
