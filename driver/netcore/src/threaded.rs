//! Threaded NAPI: `napi_threaded_poll`, `napi_stop_kthread` of `net/core/dev.c` (6.12, and
//! 689883de94dd for the stop).
//!
//! A kthread polls only what was scheduled for it: `SCHED_THREADED`, not `SCHED` alone, which a
//! busy poller or a disable may have set (fixed in cb038357937e). Left out: the repoll's quiescent
//! state for RCU. `kthread_stop` is a bit of the state word here.

use crate::napi::{Napi, NapiState};
use crate::Net;
use pollproof_sync::Ordering::{Acquire, Relaxed};
use pollproof_sync::{bug, cpu};
use std::sync::atomic::Ordering as StdOrdering;
use std::sync::Arc;

impl Net {
    /// `napi_set_threaded`: from here on the kthread polls. Only while the context is disabled.
    pub fn set_threaded(&self, napi: &Napi) {
        napi.has_kthread.store(true, StdOrdering::Relaxed);
        napi.state.fetch_or(NapiState::THREADED.bits(), Relaxed);
    }

    /// The kthread of a context: polls until [`Net::stop_threaded`].
    pub fn napi_threaded_poll(&self, napi: &Arc<Napi>) {
        let is_mine = if bug("B-7") { NapiState::SCHED } else { NapiState::SCHED_THREADED };
        let wanted = (is_mine | NapiState::KTHREAD_STOP).bits();
        loop {
            let state = napi.state.wait(Acquire, |s| s & wanted != 0);
            let state = NapiState::from_bits_retain(state);
            // A disable that is pending is no reason to leave: it waits for the owner to poll.
            let leaves = bug("B-8") && state.contains(NapiState::DISABLE);
            if leaves || state.contains(NapiState::KTHREAD_STOP) {
                return;
            }
            cpu::local_bh_disable();
            let rcu = self.rcu.read_lock();
            let have = self.netpoll_poll_lock(napi);
            self.__napi_poll(napi);
            self.netpoll_poll_unlock(napi, have);
            drop(rcu);
            self.local_bh_enable();
        }
    }

    /// `kthread_stop`: the kthread ends, whatever is scheduled for it.
    pub fn stop_threaded(&self, napi: &Napi) {
        napi.state.fetch_or(NapiState::KTHREAD_STOP.bits(), Relaxed);
    }

    /// `napi_stop_kthread`: the softirq polls from here on, also while the context is in use. The
    /// kthread ends when it owns nothing and will get nothing. Sleeps.
    pub fn napi_stop_kthread(&self, napi: &Napi) {
        cpu::might_sleep("napi_stop_kthread");
        let (sched, mine) = (NapiState::SCHED.bits(), NapiState::SCHED_THREADED.bits());
        let softirq = |s: u32| s & !NapiState::THREADED.bits();
        napi.has_kthread.store(false, StdOrdering::Relaxed);
        // Whoever was granted a schedule may have seen THREADED already and be about to leave the
        // context to the kthread; then it is neither idle nor the kthread's.
        let settled = |s: u32| s & mine != 0 || s & sched == 0 || bug("B-20");
        while napi.state.update(Relaxed, |s| settled(s).then_some(softirq(s))).is_err() {
            napi.state.wait(Relaxed, settled);
        }
        if !bug("B-20") {
            napi.state.wait(Relaxed, |s| s & mine == 0);
        }
        self.stop_threaded(napi);
    }
}
