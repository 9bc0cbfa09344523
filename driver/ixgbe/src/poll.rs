//! Queue vectors: `ixgbe_poll`, `ixgbe_msix_clean_rings`, `ixgbe_set_itr`,
//! `ixgbe_irq_enable_queues` (6.12), `ixgbe_low_latency_recv` (3.11).

use crate::itr::{self, Container, ItrSetting};
use crate::rx::clean_rx_irq;
use crate::tx_clean::clean_tx_irq;
use crate::{state, Core, QvLock, RxRing, TxRing};
use pollproof_events::{emit, Event};
use pollproof_netcore::{Napi, NapiPoll, LL_FLUSH_BUSY, LL_FLUSH_FAILED};
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, AtomicU32};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// Packets that a socket takes from a ring in one go.
const LL_BUDGET: u32 = 4;

/// Counters of a vector, for the bench.
#[derive(Debug, Default)]
pub struct QVectorStats {
    /// Polls, those of netpoll apart.
    pub polls: AtomicU64,
    /// Polls that kept the context.
    pub full_polls: AtomicU64,
    /// Times that the interrupt was enabled at the end of a poll.
    pub arms: AtomicU64,
}

/// A vector with its rings and its NAPI context (`struct ixgbe_q_vector`).
pub struct QVector {
    /// Number of the vector, in the device and in the MSI-X table.
    pub v_idx: u32,
    /// Its receive rings.
    pub rx: Vec<Arc<RxRing>>,
    /// Its transmit rings.
    pub tx: Vec<Arc<TxRing>>,
    /// Counters.
    pub stats: QVectorStats,
    pub(crate) core: Arc<Core>,
    pub(crate) napi: OnceLock<Arc<Napi>>,
    pub(crate) lock: Option<Box<dyn QvLock>>,
    /// EITR as it was written last.
    pub(crate) itr: AtomicU32,
    rx_load: Container,
    tx_load: Container,
}

impl QVector {
    pub(crate) fn new(
        core: Arc<Core>,
        v_idx: u32,
        rx: Vec<Arc<RxRing>>,
        tx: Vec<Arc<TxRing>>,
    ) -> Arc<Self> {
        let lock = core.options.busy_poll_lock.map(crate::QvLockForm::new_lock);
        let itr = AtomicU32::new(core.options.itr.start());
        Arc::new(Self {
            v_idx,
            rx,
            tx,
            stats: QVectorStats::default(),
            core,
            napi: OnceLock::new(),
            lock,
            itr,
            rx_load: Container::default(),
            tx_load: Container::default(),
        })
    }

    /// Waits until no socket polls the vector; see [`QvLock::wait_released`].
    pub fn wait_for_sockets(&self) {
        if let Some(lock) = &self.lock {
            lock.wait_released();
        }
    }

    /// The NAPI context; `None` before the port was probed.
    pub fn napi(&self) -> Option<&Arc<Napi>> {
        self.napi.get()
    }

    /// EITR as it was written last, without control bits.
    pub fn itr(&self) -> u32 {
        self.itr.load(Relaxed)
    }

    /// `ixgbe_msix_clean_rings`: the device masked the vector when it sent the message.
    pub(crate) fn msix_clean_rings(&self) {
        if let Some(napi) = self.napi.get() {
            self.core.net.napi_schedule(napi);
        }
    }

    /// Its causes are cleared by hand: whoever came since the rings were looked at is forgotten.
    fn forget_causes(&self) {
        self.core.hw.write(map::EICR, 1 << self.v_idx);
    }

    /// Transmit first, since netpoll wants that alone; true when nothing is left.
    fn clean_tx(&self) -> bool {
        let mut clean = true;
        for ring in &self.tx {
            let done = clean_tx_irq(&self.core, ring, self.core.options.tx_work_limit);
            self.tx_load.add(done.traffic);
            if done.hang {
                self.core.tx_timeout_reset();
            }
            clean &= done.clean || done.hang;
        }
        clean
    }

    /// Each ring gets its share of the budget, at least 1. Gives packets, and whether nothing is
    /// left.
    fn clean_rx(&self, napi: &Napi, budget: u32) -> (u32, bool) {
        let share = (budget / self.rx.len().max(1) as u32).max(1);
        let (mut work, mut clean) = (0, true);
        for ring in &self.rx {
            let done = clean_rx_irq(&self.core, ring, napi, share);
            self.rx_load.add(done);
            work += done.packets;
            clean &= done.packets < share;
        }
        (work, clean)
    }

    /// `ixgbe_set_itr`.
    fn set_itr(&self) {
        let (old, now_ns) = (self.itr(), self.core.below.clock.now_ns());
        self.rx_load.update_itr(old, now_ns);
        self.tx_load.update_itr(old, now_ns);
        let new = itr::wanted(&self.rx_load, &self.tx_load);
        if new != old {
            self.itr.store(new, Relaxed);
            self.write_eitr();
        }
    }

    /// `ixgbe_write_eitr`.
    pub(crate) fn write_eitr(&self) {
        let register = match self.v_idx {
            v @ 0..24 => map::EITR + 4 * v,
            v => map::EITR_HI + 4 * (v - 24),
        };
        self.core.hw.write(register, itr::register(self.itr()));
    }

    /// `ixgbe_irq_enable_queues` for this vector, by who gave its context up.
    pub(crate) fn irq_enable(&self) {
        if let (Some(napi), Some(ring)) = (self.napi.get(), self.rx.first()) {
            emit(Event::ArmCq { cq: ring.index, napi: napi.slot, consumer: 0, sn: 0 });
        }
        self.unmask();
    }

    /// Enables the vector's causes.
    pub(crate) fn unmask(&self) {
        self.core.hw.write(map::EIMS_EX + 4 * (self.v_idx / 32), 1 << (self.v_idx % 32));
    }

    /// The context is given up: moderation, then the interrupt.
    fn end_of_poll(&self) {
        if self.core.options.itr == ItrSetting::Adaptive {
            self.set_itr();
        }
        if !self.core.has(state::DOWN) {
            self.stats.arms.fetch_add(1, Relaxed);
            if bug("C-17") {
                self.forget_causes();
            }
            self.irq_enable();
        }
    }
}

impl NapiPoll for QVector {
    /// `ixgbe_poll`.
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        let mut clean = self.clean_tx();
        let Some(limit) = u32::try_from(budget).ok().filter(|b| *b > 0) else {
            // netpoll has no business with receive rings.
            return 0;
        };
        self.stats.polls.fetch_add(1, Relaxed);
        if self.lock.as_ref().is_some_and(|l| !l.lock_napi()) {
            // A socket is at it; the context stays scheduled.
            if let Some(ring) = self.tx.first() {
                ring.stats.yields.fetch_add(1, Relaxed);
            }
            self.stats.full_polls.fetch_add(1, Relaxed);
            return budget;
        }
        let (work, rx_clean) = self.clean_rx(napi, limit);
        if let Some(lock) = &self.lock {
            lock.unlock_napi();
        }
        clean &= rx_clean;
        if !clean && !bug("C-1-IXGBE") {
            self.stats.full_polls.fetch_add(1, Relaxed);
            return budget;
        }
        if self.core.net.napi_complete_done(napi, work as i32) {
            self.end_of_poll();
        }
        // Not the budget, even if a ring had more: that would say that the context is still owned.
        (work as i32).min(budget - 1)
    }

    /// `ixgbe_low_latency_recv`: the first ring that has something.
    fn ll_poll(&self, napi: &Arc<Napi>) -> i32 {
        let Some(lock) = &self.lock else { return LL_FLUSH_FAILED };
        if self.core.has(state::DOWN) {
            return LL_FLUSH_FAILED;
        }
        if !lock.lock_poll() {
            if let Some(ring) = self.rx.first() {
                ring.stats.yields.fetch_add(1, Relaxed);
            }
            return LL_FLUSH_BUSY;
        }
        let mut found = 0;
        for ring in &self.rx {
            found = clean_rx_irq(&self.core, ring, napi, LL_BUDGET).packets;
            if found > 0 {
                ring.stats.cleaned.fetch_add(found.into(), Relaxed);
                break;
            }
            ring.stats.misses.fetch_add(1, Relaxed);
        }
        lock.unlock_poll();
        found as i32
    }
}
