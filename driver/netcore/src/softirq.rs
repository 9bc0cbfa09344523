//! `net_rx_action` and the per-CPU poll lists: `net/core/dev.c` (6.12, and 3.18 by option).
//!
//! In 6.12 the whole list is taken private, each context leaves it before it is polled, and those
//! that used their whole weight go to `repoll`. In 3.18 a context stays at the head of the CPU's
//! list while it is polled; completing takes it off, a full weight moves it to the tail.
//! Left out: RPS, `ksoftirqd`, the skb deferral lists.

use crate::napi::{Napi, NapiState};
use crate::{Era, Net};
use pollproof_events::{emit, Event, List};
use pollproof_sync::{cpu, Private};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// `struct softnet_data`: touched by its own CPU only, with interrupts off.
pub(crate) struct Softnet {
    poll_list: Private<VecDeque<Arc<Napi>>>,
    /// `local_softirq_pending() & NET_RX_SOFTIRQ`.
    raised: AtomicBool,
    /// `time_squeeze`, as `/proc/net/softnet_stat` shows it.
    time_squeeze: AtomicU64,
}

impl Default for Softnet {
    fn default() -> Self {
        Self {
            poll_list: Private::new(VecDeque::new()),
            raised: AtomicBool::new(false),
            time_squeeze: AtomicU64::new(0),
        }
    }
}

impl Softnet {
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Relaxed)
    }

    #[track_caller]
    fn squeezed(&self) {
        self.time_squeeze.fetch_add(1, Relaxed);
        emit(Event::TimeSqueeze { cpu: cpu::smp_processor_id() });
    }
}

/// `MAX_SOFTIRQ_RESTART`.
const MAX_SOFTIRQ_RESTART: u32 = 10;

impl Net {
    fn softnet(&self) -> Option<&Softnet> {
        self.softnet.get(cpu::smp_processor_id() as usize)
    }

    /// `local_bh_enable`: softirqs that were raised meanwhile run here.
    #[track_caller]
    pub fn local_bh_enable(&self) {
        cpu::local_bh_enable();
        self.do_softirq();
    }

    /// `list_add_tail(&napi->poll_list, ...)` on this CPU.
    pub(crate) fn list_add(&self, napi: &Arc<Napi>, list: List) {
        let Some(softnet) = self.softnet() else { return };
        self.node_added(napi, list);
        softnet.poll_list.with(|list| list.push_back(napi.clone()));
        softnet.raised.store(true, Relaxed);
    }

    fn node_added(&self, napi: &Napi, list: List) {
        let lists = napi.on_lists.get() + 1;
        napi.on_lists.set(lists);
        let cpu = cpu::smp_processor_id();
        emit(Event::ListAdd { napi: napi.slot, list, cpu, lists });
    }

    fn node_removed(&self, napi: &Napi, list: List) {
        napi.on_lists.set(napi.on_lists.get().saturating_sub(1));
        let cpu = cpu::smp_processor_id();
        emit(Event::ListDel { napi: napi.slot, list, cpu });
    }

    /// 3.18: completing takes the context off the list it is polled from.
    pub(crate) fn list_del_in_place(&self, napi: &Arc<Napi>) {
        let Some(softnet) = self.softnet() else { return };
        let removed = softnet.poll_list.with(|list| {
            let at = list.iter().position(|n| Arc::ptr_eq(n, napi))?;
            list.remove(at)
        });
        if removed.flatten().is_some() {
            self.node_removed(napi, List::Poll);
        }
    }

    /// How often `net_rx_action` stopped with work left, on all CPUs.
    pub fn time_squeezes(&self) -> u64 {
        self.softnet.iter().map(|s| s.time_squeeze.load(Relaxed)).sum()
    }

    /// Whether this CPU has a softirq to run.
    pub fn softirq_pending(&self) -> bool {
        self.softnet().is_some_and(|s| s.raised.load(Relaxed))
    }

    /// `irq_exit`, `local_bh_enable`: runs what was raised, unless the context forbids it.
    ///
    /// Gives true when work is left for `ksoftirqd`: the caller comes back.
    pub fn do_softirq(&self) -> bool {
        if !cpu::context().takes_softirqs() {
            return self.softirq_pending();
        }
        let mut restarts = 0;
        while self.softirq_pending() && restarts < MAX_SOFTIRQ_RESTART {
            cpu::in_softirq(|| {
                // A softirq is a read-side section: a grace period outlasts the poll that is under
                // way, also what it does after giving its context up.
                let _rcu = self.rcu.read_lock();
                self.net_rx_action();
            });
            restarts += 1;
        }
        self.softirq_pending()
    }

    /// `net_rx_action`.
    pub fn net_rx_action(&self) {
        let Some(softnet) = self.softnet() else { return };
        softnet.raised.store(false, Relaxed);
        match self.options.era {
            Era::V3_18 => self.net_rx_action_3_18(softnet),
            Era::V6_12 => self.net_rx_action_6_12(softnet),
        }
    }

    fn net_rx_action_6_12(&self, softnet: &Softnet) {
        let limit = self.time_limit_ns();
        let mut budget = self.options.netdev_budget;
        let mut taken = softnet.poll_list.with(std::mem::take).unwrap_or_default();
        let mut repoll = VecDeque::new();
        while let Some(napi) = taken.pop_front() {
            self.node_removed(&napi, List::Taken);
            let have = self.netpoll_poll_lock(&napi);
            let (work, again) = self.__napi_poll(&napi);
            if again {
                self.node_added(&napi, List::Repoll);
                repoll.push_back(napi.clone());
            }
            self.netpoll_poll_unlock(&napi, have);
            budget -= work;
            if budget <= 0 || self.below.clock.now_ns() >= limit {
                softnet.squeezed();
                break;
            }
        }
        // Order at the end: what was not polled, what was scheduled meanwhile, what is repolled.
        let left = softnet.poll_list.with(|list| {
            taken.append(list);
            taken.append(&mut repoll);
            *list = taken;
            !list.is_empty()
        });
        if left == Some(true) {
            softnet.raised.store(true, Relaxed);
        }
    }

    /// `__napi_poll`: work done, and whether the context goes to the repoll list.
    pub(crate) fn __napi_poll(&self, napi: &Arc<Napi>) -> (i32, bool) {
        let work = self.poll_if_owned(napi);
        if work < napi.weight {
            return (work, false);
        }
        if napi.state().contains(NapiState::DISABLE) {
            self.napi_complete_done(napi, 0);
            return (work, false);
        }
        if napi.state().contains(NapiState::PREFER_BUSY_POLL) {
            // Given up early, for the application to poll; the timer or else a new schedule is
            // there in case it does not.
            if self.napi_complete_done(napi, work) {
                self.napi_schedule(napi);
            }
            return (work, false);
        }
        self.gro_after_full_poll(napi);
        // A driver that gave the context up and still claims the full weight: "Budget exhausted
        // after napi rescheduled". It is on somebody's list already.
        if napi.on_lists.get() > 0 {
            return (work, false);
        }
        (work, true)
    }

    fn poll_if_owned(&self, napi: &Arc<Napi>) -> i32 {
        if napi.state().contains(NapiState::SCHED) {
            self.call_poll(napi, napi.weight, false)
        } else {
            0
        }
    }

    /// Enters the driver's poll method, as its only owner.
    pub(crate) fn call_poll(&self, napi: &Arc<Napi>, budget: i32, netpoll: bool) -> i32 {
        napi.lifetime.used();
        let Some(driver) = napi.driver() else { return 0 };
        emit(Event::PollEnter { napi: napi.slot, budget, netpoll });
        self.below.clock.poll_begins(napi.slot);
        napi.polling.set(1);
        let work = cpu::balanced("napi->poll", || driver.poll(napi, budget));
        emit(Event::PollExit { napi: napi.slot, work, budget });
        work
    }

    fn net_rx_action_3_18(&self, softnet: &Softnet) {
        let limit = self.time_limit_ns();
        let mut budget = self.options.netdev_budget;
        loop {
            let first = softnet.poll_list.with(|list| list.front().cloned());
            let Some(napi) = first.flatten() else { return };
            if budget <= 0 || self.below.clock.now_ns() >= limit {
                softnet.squeezed();
                softnet.raised.store(true, Relaxed);
                return;
            }
            let work = self.poll_if_owned(&napi);
            // A context that nobody owns stays on the list and is looked at for ever; one tick of
            // the budget keeps that bounded here.
            budget -= work.max(1);
            if work == napi.weight {
                if napi.state().contains(NapiState::DISABLE) {
                    self.napi_complete_done(&napi, 0);
                } else {
                    self.list_move_tail(softnet, &napi);
                }
            }
        }
    }

    /// 3.18: `list_move_tail` takes the node off whatever list it is on and adds it here.
    fn list_move_tail(&self, softnet: &Softnet, napi: &Arc<Napi>) {
        self.node_removed(napi, List::Poll);
        self.node_added(napi, List::Poll);
        softnet.poll_list.with(|list| {
            list.retain(|n| !Arc::ptr_eq(n, napi));
            list.push_back(napi.clone());
        });
    }

    fn time_limit_ns(&self) -> u64 {
        self.below.clock.now_ns() + self.options.netdev_budget_usecs * 1_000
    }
}
