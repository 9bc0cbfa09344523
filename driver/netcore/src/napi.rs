//! NAPI contexts and their transitions: `include/linux/netdevice.h`, `net/core/dev.c` (6.12).
//!
//! The state word says who owns the context: whoever set `SCHED` polls it, all others must leave it
//! alone. `MISSED` (since 4.12) remembers that somebody wanted to schedule it meanwhile.

use crate::gro::NapiGro;
use crate::{lock, Era, Net};
use bitflags::bitflags;
use pollproof_events::{emit, Event, List, NapiId, NapiStep};
use pollproof_sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use pollproof_sync::{bug, cpu, AtomicU32, Lifetime, PlainU32, Private, What};
use std::sync::atomic::{AtomicBool, AtomicU32 as StdAtomicU32, Ordering as StdOrdering};
use std::sync::{Arc, Weak};

/// `NAPI_POLL_WEIGHT`.
pub const POLL_WEIGHT: i32 = 64;

bitflags! {
    /// `NAPI_STATE_*` (6.12).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct NapiState: u32 {
        /// Somebody owns the context: it is polled or about to be.
        const SCHED = 1 << 0;
        /// A schedule was wanted while it was owned.
        const MISSED = 1 << 1;
        /// A disable is pending.
        const DISABLE = 1 << 2;
        /// netpoll is inside the poll method.
        const NPSVC = 1 << 3;
        /// It is in `napi_hash`.
        const HASHED = 1 << 4;
        /// A busy poller owns it: completing does nothing.
        const IN_BUSY_POLL = 1 << 6;
        /// An application would rather poll it itself than have it polled by the softirq.
        const PREFER_BUSY_POLL = 1 << 7;
        /// A kthread polls it instead of the softirq.
        const THREADED = 1 << 8;
        /// It is scheduled for the kthread.
        const SCHED_THREADED = 1 << 9;
        /// The kthread should end; not a bit of Linux, which has `kthread_stop` for it.
        const KTHREAD_STOP = 1 << 31;
    }
}

/// What a driver does for its NAPI context.
pub trait NapiPoll: Send + Sync {
    /// `napi->poll`: handles up to `budget` packets. Gives the number handled; exactly `budget`
    /// means that the context is still owned and must be polled again.
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32;

    /// `ndo_ll_poll` (3.11 to 4.11): a socket cranks the queue. Packets handled, or one of
    /// [`crate::LL_FLUSH_FAILED`], [`crate::LL_FLUSH_BUSY`].
    fn ll_poll(&self, _napi: &Arc<Napi>) -> i32 {
        crate::LL_FLUSH_FAILED
    }
}

/// `struct napi_struct`.
pub struct Napi {
    /// Which memory this is; not the `napi_id`.
    pub slot: NapiId,
    /// `weight`.
    pub weight: i32,
    /// Lifetime of the memory.
    pub lifetime: Lifetime,
    pub(crate) state: AtomicU32,
    /// `napi_id`: written before the context is published in the hash.
    pub(crate) id: PlainU32,
    /// `napi_hash_node.next`: slot plus one, 0 is the end.
    pub(crate) hash_next: AtomicU32,
    /// Lists that the node `poll_list` is on. Only the owner may touch it.
    pub(crate) on_lists: PlainU32,
    /// Only the owner may be inside the poll method.
    pub(crate) polling: PlainU32,
    /// `defer_hard_irqs_count`: the owner's.
    pub(crate) defer_count: StdAtomicU32,
    /// `poll_owner`: CPU plus one that is inside the poll method, 0 is none; see `netpoll.rs`.
    pub(crate) poll_owner: AtomicU32,
    /// The same as a plain word, which is its owner's alone.
    pub(crate) poll_owner_word: PlainU32,
    /// It has a kthread (`thread`, and `dev->threaded`).
    pub(crate) has_kthread: AtomicBool,
    /// What GRO holds: the owner's.
    pub(crate) gro: Private<Option<Box<NapiGro>>>,
    poll: Weak<dyn NapiPoll>,
}

impl Napi {
    /// The driver's methods; `None` when the driver is gone.
    pub(crate) fn driver(&self) -> Option<Arc<dyn NapiPoll>> {
        self.poll.upgrade()
    }

    pub(crate) fn step(&self, step: NapiStep) -> Event {
        Event::Napi { napi: self.slot, step }
    }

    /// The state as a hint; it may change at once.
    pub fn state(&self) -> NapiState {
        NapiState::from_bits_retain(self.state.load(Relaxed))
    }

    /// `napi_id`; only for code that is ordered after the publication of the context.
    pub fn napi_id(&self) -> u32 {
        self.id.get()
    }
}

impl Net {
    /// `netif_napi_add`: a context starts owned, so that nobody schedules it before it is enabled.
    /// The methods stay the driver's, who keeps them for as long as it lives.
    pub fn netif_napi_add(&self, poll: Arc<dyn NapiPoll>, weight: i32) -> Arc<Napi> {
        let napi = Arc::new(Napi {
            slot: self.contexts() as u32,
            weight,
            lifetime: Lifetime::new("napi"),
            state: AtomicU32::new((NapiState::SCHED | NapiState::NPSVC).bits()),
            id: PlainU32::new(0, What { rule: "PUBLISH-AFTER-INIT", name: "napi_id" }),
            hash_next: AtomicU32::new(0),
            on_lists: PlainU32::new(0, What { rule: "SCHED-ONE-LIST", name: "napi.poll_list" }),
            polling: PlainU32::new(0, What { rule: "SINGLE-CONSUMER", name: "napi->poll" }),
            defer_count: StdAtomicU32::new(0),
            poll_owner: AtomicU32::new(0),
            poll_owner_word: PlainU32::new(
                0,
                What { rule: "SINGLE-CONSUMER", name: "napi->poll_owner" },
            ),
            has_kthread: AtomicBool::new(false),
            gro: Private::new(self.options.gro.map(|gro| Box::new(NapiGro::new(&gro)))),
            poll: Arc::downgrade(&poll),
        });
        lock(&self.napis).push(napi.clone());
        emit(Event::NapiAdd { napi: napi.slot });
        napi
    }

    /// Frees the memory of a context; nobody may use it from here on.
    pub fn napi_free(&self, napi: &Napi) {
        emit(Event::NapiFreed { napi: napi.slot });
        napi.lifetime.free();
    }

    /// `napi_enable`: gives up the ownership that a new or disabled context starts with.
    pub fn napi_enable(&self, napi: &Napi) {
        let owned = (NapiState::SCHED | NapiState::NPSVC).bits();
        let kthread = napi.has_kthread.load(StdOrdering::Relaxed);
        let threaded = if kthread { NapiState::THREADED.bits() } else { 0 };
        let before = napi.state.update(Release, |s| Some(s & !owned | threaded));
        emit(Event::NapiEnabled { napi: napi.slot });
        if before.is_ok_and(|s| s & NapiState::SCHED.bits() == 0) {
            pollproof_sync::switch::fault(
                "NAPI-LIFECYCLE",
                "napi_enable of a context that is not disabled".into(),
                std::panic::Location::caller(),
            );
        }
    }

    /// `napi_disable`: waits until nobody owns the context, then owns it for good. Sleeps.
    pub fn napi_disable(&self, napi: &Napi) {
        cpu::might_sleep("napi_disable");
        napi.lifetime.used();
        let taken = (NapiState::SCHED | NapiState::NPSVC).bits();
        let dropped = (NapiState::THREADED | NapiState::PREFER_BUSY_POLL).bits();
        napi.state.fetch_or(NapiState::DISABLE.bits(), Relaxed);
        // From here on nobody new is let in.
        emit(napi.step(NapiStep::Disabling));
        let free = |s: u32| s & taken == 0;
        loop {
            napi.state.wait(Relaxed, free);
            let take = |s: u32| free(s).then_some(s & !dropped | taken);
            if napi.state.update(Acquire, take).is_ok() {
                break;
            }
        }
        self.below.timer.cancel(napi.slot);
        napi.state.fetch_and(!NapiState::DISABLE.bits(), Relaxed);
        emit(Event::NapiDisabled { napi: napi.slot });
    }

    /// `napi_schedule_prep`: true when the caller now owns the context and must schedule it.
    pub fn napi_schedule_prep(&self, napi: &Napi) -> bool {
        napi.lifetime.used();
        let sched = NapiState::SCHED.bits();
        let missed = match self.options.era {
            Era::V3_18 => 0,
            Era::V6_12 => NapiState::MISSED.bits(),
        };
        let before = napi.state.update(AcqRel, |s| {
            let again = if s & sched != 0 { missed } else { 0 };
            (s & NapiState::DISABLE.bits() == 0).then_some(s | sched | again)
        });
        let granted = before.is_ok_and(|s| s & sched == 0);
        emit(Event::NapiPrep { napi: napi.slot, granted });
        granted
    }

    /// `__napi_schedule`: puts an owned context on this CPU's poll list, or wakes its kthread.
    pub fn __napi_schedule(&self, napi: &Arc<Napi>) {
        if napi.state().contains(NapiState::THREADED) {
            // Goes on with the release of the schedule that was granted.
            napi.state.fetch_or(NapiState::SCHED_THREADED.bits(), Relaxed);
            emit(napi.step(NapiStep::ForKthread));
            return;
        }
        self.list_add(napi, List::Poll);
    }

    /// `napi_schedule`.
    pub fn napi_schedule(&self, napi: &Arc<Napi>) -> bool {
        let granted = self.napi_schedule_prep(napi);
        if granted {
            self.__napi_schedule(napi);
        }
        granted
    }

    /// `napi_complete_done`: the owner is done for now. True when it may arm its interrupt.
    ///
    /// Nothing of the context may be touched by the caller after a true answer, except to arm.
    pub fn napi_complete_done(&self, napi: &Arc<Napi>, work_done: i32) -> bool {
        let state = napi.state();
        if state.intersects(NapiState::NPSVC | NapiState::IN_BUSY_POLL) {
            // netpoll owns nothing, and a busy poller goes on.
            emit(Event::NapiComplete { napi: napi.slot, work: work_done, done: false });
            return false;
        }
        if !state.contains(NapiState::SCHED) {
            emit(Event::NapiCompleteUnowned { napi: napi.slot });
        }
        let done = match self.options.era {
            Era::V3_18 => {
                self.gro_at_end_3_18(napi, work_done);
                self.list_del_in_place(napi);
                self.give_up(napi);
                true
            }
            Era::V6_12 => self.complete_done_6_12(napi, work_done),
        };
        emit(Event::NapiComplete { napi: napi.slot, work: work_done, done });
        done
    }

    /// `SCHED` is cleared and nothing else: whoever owns it next must see all that was done.
    pub(crate) fn give_up(&self, napi: &Napi) {
        napi.state.fetch_and(!NapiState::SCHED.bits(), Release);
        emit(napi.step(NapiStep::Released));
    }

    /// Held packets wait for the timer if there is one and the poll found something; else they go
    /// up (`napi_complete_done` of November 2014).
    fn gro_at_end_3_18(&self, napi: &Napi, work_done: i32) {
        if !self.gro_holds(napi) {
            return;
        }
        let timeout_ns = self.options.gro_flush_timeout_ns;
        if work_done > 0 && timeout_ns > 0 {
            self.start_timer(napi, timeout_ns);
        } else {
            self.napi_gro_flush(napi, false);
        }
    }

    /// The timer may keep the interrupt off (`napi_defer_hard_irqs`, 5.8); `MISSED` keeps the
    /// context owned and comes back at once.
    fn complete_done_6_12(&self, napi: &Arc<Napi>, work_done: i32) -> bool {
        let defers = self.options.napi_defer_hard_irqs;
        if work_done > 0 {
            napi.defer_count.store(defers, StdOrdering::Relaxed);
        }
        let mut timeout_ns = 0;
        let holds = self.gro_holds(napi);
        if holds && work_done > 0 {
            timeout_ns = self.options.gro_flush_timeout_ns;
        }
        let mut done = true;
        let count = napi.defer_count.load(StdOrdering::Relaxed);
        if count > 0 {
            napi.defer_count.store(count - 1, StdOrdering::Relaxed);
            timeout_ns = self.options.gro_flush_timeout_ns;
            done = timeout_ns == 0;
        }
        if holds {
            // With a timer, what is not old may wait for more.
            self.napi_gro_flush(napi, timeout_ns > 0);
        }
        self.gro_normal_list(napi);
        let missed = NapiState::MISSED.bits();
        let sched = NapiState::SCHED.bits();
        let given_up = (NapiState::SCHED_THREADED | NapiState::PREFER_BUSY_POLL).bits();
        let given_up = missed | sched | given_up;
        // Whoever owns it next must see everything that this poll did: release. A missed schedule
        // must make its cause visible to the next poll: acquire.
        let before = napi.state.update(AcqRel, |s| {
            let kept = if s & missed != 0 && !bug("B-6") { sched } else { 0 };
            Some(s & !given_up | kept)
        });
        if before.is_ok_and(|s| s & missed != 0) && !bug("B-6") {
            self.__napi_schedule(napi);
            return false;
        }
        emit(napi.step(NapiStep::Released));
        if timeout_ns > 0 {
            self.start_timer(napi, timeout_ns);
        }
        done
    }

    pub(crate) fn start_timer(&self, napi: &Napi, delay_ns: u64) {
        emit(Event::TimerStart { napi: napi.slot, delay_ns });
        self.below.timer.start(napi.slot, delay_ns);
    }

    /// `napi_watchdog`: the timer of a context fired. Does not set `MISSED`.
    pub fn napi_watchdog(&self, slot: u32) {
        let Some(napi) = self.napi(slot) else { return };
        emit(Event::TimerFired { napi: slot });
        let busy = (NapiState::SCHED | NapiState::DISABLE).bits();
        let prefer = NapiState::PREFER_BUSY_POLL.bits();
        let take = |s: u32| (s & busy == 0).then_some(s & !prefer | NapiState::SCHED.bits());
        if napi.state.update(Acquire, take).is_ok() {
            emit(Event::NapiPrep { napi: slot, granted: true });
            self.__napi_schedule(&napi);
        }
    }
}
