//! Interrupts of the port: `ixgbe_setup_gpie`, `ixgbe_configure_msix`,
//! `ixgbe_configure_msi_and_legacy`, `ixgbe_irq_enable`, `ixgbe_irq_disable`, `ixgbe_msix_other`,
//! `ixgbe_intr`, `ixgbe_check_lsc` (6.12).
//!
//! One vector for each queue vector, and the next for all other causes. A message of a queue vector
//! clears its cause and masks it; the end of its poll unmasks. The legacy interrupt is the first
//! queue vector: reading the causes clears and masks them.

use crate::hw::FAILED_READ;
use crate::{itr, state, Adapter, Interrupts};
use pollproof_kapi::Irq;
use pollproof_regs::ixgbe::{eicr, gpie, ivar};
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::bug;
use std::sync::Arc;

/// EITR of the other vector (`1950`): 487 us.
const OTHER_ITR: u32 = 1950;
/// Other causes that are handled; those that cannot occur here are left out.
const OTHER: u32 = eicr::LSC;

impl Adapter {
    /// Vector of the other causes.
    pub(crate) fn other_vector(&self) -> u32 {
        self.q_vectors().len() as u32
    }

    fn is_msix(&self) -> bool {
        self.core.options.interrupts == Interrupts::Msix
    }

    /// Vectors of the function that are in use.
    fn vectors(&self) -> u32 {
        if self.is_msix() {
            self.other_vector() + 1
        } else {
            1
        }
    }

    /// `ixgbe_request_irq`.
    pub(crate) fn request_irqs(self: &Arc<Self>) {
        let irq = &self.core.below.irq;
        if !self.is_msix() {
            let adapter = Arc::downgrade(self);
            let handler = move || {
                if let Some(adapter) = adapter.upgrade() {
                    adapter.intr();
                }
            };
            return irq.request(0, Arc::new(handler));
        }
        for q_vector in self.q_vectors() {
            let handled = Arc::downgrade(q_vector);
            let handler = move || {
                if let Some(q_vector) = handled.upgrade() {
                    q_vector.msix_clean_rings();
                }
            };
            irq.request(q_vector.v_idx, Arc::new(handler));
        }
        let adapter = Arc::downgrade(self);
        let handler = move || {
            if let Some(adapter) = adapter.upgrade() {
                adapter.msix_other();
            }
        };
        irq.request(self.other_vector(), Arc::new(handler));
    }

    /// `ixgbe_free_irq`.
    pub(crate) fn free_irqs(&self) {
        let irq: &dyn Irq = &*self.core.below.irq;
        (0..self.vectors()).for_each(|vector| irq.free(vector));
    }

    /// Which cause interrupts by which vector.
    pub(crate) fn configure_irqs(&self) {
        if self.is_msix() {
            self.configure_msix();
        } else {
            self.configure_legacy();
        }
    }

    /// `ixgbe_setup_gpie`, `ixgbe_configure_msi_and_legacy`: a read of the causes masks the queues.
    fn configure_legacy(&self) {
        let hw = &self.core.hw;
        hw.write(map::EIAM, eicr::RTXQ);
        hw.write(map::GPIE, 0);
        for q_vector in self.q_vectors() {
            q_vector.write_eitr();
        }
        self.set_ivar(0, 0, 0);
        self.set_ivar(0, 1, 0);
    }

    /// `ixgbe_setup_gpie`, `ixgbe_configure_msix`.
    fn configure_msix(&self) {
        let hw = &self.core.hw;
        let automask = if bug("E-18") || bug("E-21") { 0 } else { u32::MAX };
        for half in 0..2 {
            hw.write(map::EIAM_EX + 4 * half, automask);
        }
        let pba = if bug("E-18") { 0 } else { gpie::PBA_SUPPORT };
        hw.write(map::GPIE, gpie::MSIX_MODE | pba | gpie::OCD | gpie::EIAME);
        for q_vector in self.q_vectors() {
            q_vector.rx.iter().for_each(|r| self.set_ivar(r.index, 0, q_vector.v_idx));
            q_vector.tx.iter().for_each(|r| self.set_ivar(r.index, 1, q_vector.v_idx));
            q_vector.write_eitr();
        }
        let other = self.other_vector();
        hw.write(map::IVAR_MISC, (ivar::VALID | other) << 8);
        let eitr = if other < 24 { map::EITR + 4 * other } else { map::EITR_HI + 4 * (other - 24) };
        hw.write(eitr, itr::register(OTHER_ITR));
        // The causes of queues are cleared by their message; the others by their handler.
        hw.write(map::EIAC, eicr::RTXQ);
    }

    /// `ixgbe_set_ivar`.
    fn set_ivar(&self, queue: u32, direction: u32, vector: u32) {
        let shift = 16 * (queue & 1) + 8 * direction;
        let entry = (ivar::VALID | vector) << shift;
        self.core.hw.update(map::IVAR + 4 * (queue / 2), 0xff << shift, entry);
    }

    /// `ixgbe_irq_enable`: other causes, then the queues, whoever owns their contexts.
    pub(crate) fn irq_enable(&self) {
        self.core.hw.write(map::EIMS, OTHER);
        self.q_vectors().iter().for_each(|q| q.unmask());
        self.core.hw.flush();
    }

    /// `ixgbe_irq_disable`: no handler runs when it returns. Sleeps.
    pub(crate) fn irq_disable(&self) {
        let hw = &self.core.hw;
        hw.write(map::EIMC, 0xffff_0000);
        hw.write(map::EIMC_EX, u32::MAX);
        hw.write(map::EIMC_EX + 4, u32::MAX);
        hw.flush();
        (0..self.vectors()).for_each(|vector| self.core.below.irq.synchronize(vector));
    }

    /// `ixgbe_intr`: the line is shared, so it may be another device that interrupts.
    fn intr(&self) {
        let hw = &self.core.hw;
        let causes = hw.read(map::EICR);
        if causes == FAILED_READ {
            return;
        }
        let is_up = !self.core.has(state::DOWN);
        if causes == 0 {
            // Not ours; but the read has masked our queues, and nobody is coming to unmask them.
            if is_up && !bug("E-17") {
                self.irq_enable();
            }
            return;
        }
        if causes & eicr::LSC != 0 && is_up {
            self.core.set(state::NEED_LINK_UPDATE);
            hw.write(map::EIMC, eicr::LSC);
            hw.flush();
            self.core.service_event_schedule();
        }
        if let Some(q_vector) = self.q_vectors().first() {
            q_vector.msix_clean_rings();
        }
    }

    /// `ixgbe_msix_other`: EICS shows the causes without clearing those of queues.
    fn msix_other(&self) {
        let hw = &self.core.hw;
        let causes = hw.read(map::EICS);
        if causes == FAILED_READ {
            return;
        }
        hw.write(map::EICR, causes & !eicr::RTXQ);
        let is_up = !self.core.has(state::DOWN);
        if causes & eicr::LSC != 0 && is_up {
            // The service task enables it again, after it looked.
            self.core.set(state::NEED_LINK_UPDATE);
            hw.write(map::EIMC, eicr::LSC);
            hw.flush();
            self.core.service_event_schedule();
        } else if is_up {
            hw.write(map::EIMS, OTHER);
        }
    }
}
