//! The watchdog: `ixgbe_service_timer`, `ixgbe_service_task` and its parts (6.12): link, reset
//! requests, hang checks, and the kick by EICS that finds what an interrupt was lost for.
//!
//! Left out: SFP+, overheat, flow director, PTP, spoofed packets, and all statistics but the pause
//! frames received.

use crate::tx_ring::tx_state;
use crate::{state, Adapter, Core, SERVICE_TIMER};
use pollproof_regs::ixgbe::eicr;
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, cpu};
use std::sync::Arc;

/// Between two runs of the watchdog.
const PERIOD_NS: u64 = 2_000_000_000;
/// While the state of the link is not settled.
const SOON_NS: u64 = 100_000_000;

impl Core {
    /// `ixgbe_tx_timeout_reset`.
    pub(crate) fn tx_timeout_reset(&self) {
        if !self.has(state::DOWN) {
            self.set(state::RESET_REQUESTED);
            self.service_event_schedule();
        }
    }
}

impl Adapter {
    /// `ixgbe_service_timer`, in a softirq.
    pub fn service_timer(&self) {
        let soon = self.core.has(state::NEED_LINK_UPDATE);
        self.start_service_timer(if soon { SOON_NS } else { PERIOD_NS });
        self.core.service_event_schedule();
    }

    pub(crate) fn start_service_timer(&self, delay_ns: u64) {
        if !self.core.has(state::DOWN) {
            self.core.below.timer.start(SERVICE_TIMER, delay_ns);
        }
    }

    /// `ixgbe_service_task`: in process context, one at a time.
    pub fn service_task(self: &Arc<Self>) {
        cpu::might_sleep("ixgbe_service_task");
        self.core.clear(state::SERVICE_SCHED);
        if self.core.hw.is_removed() {
            if !self.core.has(state::DOWN) {
                self.down();
            }
            return;
        }
        self.reset_subtask();
        if !self.core.has(state::DOWN | state::RESETTING) {
            self.watchdog_update_link();
            self.update_xoff_received();
            self.watchdog_flush_tx();
            self.check_hang_subtask();
        }
    }

    fn reset_subtask(self: &Arc<Self>) {
        let asked = self.core.clear(state::RESET_REQUESTED);
        if asked && !self.core.has(state::DOWN | state::RESETTING) {
            self.hangs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.reinit_locked();
        }
    }

    /// `ixgbe_watchdog_update_link`, `..._link_is_up`, `..._link_is_down`.
    fn watchdog_update_link(&self) {
        let core = &self.core;
        if !core.has(state::NEED_LINK_UPDATE) {
            return;
        }
        let up = core.hw.link_up();
        if core.hw.is_removed() {
            return;
        }
        if up {
            core.clear(state::NEED_LINK_UPDATE);
            core.set(state::CARRIER);
        } else {
            core.clear(state::CARRIER);
        }
        core.hw.write(map::EIMS, eicr::LSC);
        core.hw.flush();
    }

    /// `ixgbe_update_xoff_received`: who was paused does not hang.
    fn update_xoff_received(&self) {
        let xoff = self.core.hw.read(stat::LXOFFRXCNT);
        if xoff != 0 && !self.core.hw.is_removed() && !bug("E-24") {
            for ring in self.tx_rings() {
                ring.state.fetch_and(!tx_state::ARMED, Relaxed);
            }
        }
    }

    /// `ixgbe_watchdog_flush_tx`: what waits to be sent while there is no link is thrown away.
    fn watchdog_flush_tx(&self) {
        if !self.core.has(state::CARRIER) && self.tx_rings().any(|r| r.pending() > 0) {
            self.core.tx_timeout_reset();
        }
    }

    /// `ixgbe_check_hang_subtask`: asks the cleaners to look, and kicks each vector.
    fn check_hang_subtask(&self) {
        if self.core.has(state::CARRIER) {
            for ring in self.tx_rings() {
                ring.state.fetch_or(tx_state::CHECK, Relaxed);
            }
        }
        if bug("E-19") {
            return;
        }
        let vectors = self.q_vectors().len() as u32;
        for half in 0..vectors.div_ceil(32) {
            let here = (vectors - 32 * half).min(32);
            let bits = if here == 32 { u32::MAX } else { (1 << here) - 1 };
            self.core.hw.write(map::EICS_EX + 4 * half, bits);
        }
    }
}
