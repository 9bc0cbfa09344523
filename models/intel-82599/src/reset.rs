//! Reset of the function and of the link, power states (4.2.1, 5.2.5.3.2).
//!
//! A reset takes effect when it is written and shows its end after `Params::reset_ps`. Requests
//! that wait are not made, and completions of reads that are under way change nothing, so that no
//! DMA from before a reset lands after it, but for what `stuck.rs` tells of. Semaphores
//! belong to both ports and survive CTRL.RST.

use crate::mac::autoc;
use crate::params::Medium;
use crate::{Intel82599, Misuse};
use pollproof_regs::ixgbe::{ctrl, ctrl_ext, esdp, mcst};
use pollproof_regs::ixgbe_map as map;

impl Intel82599 {
    /// Power on, function level reset, or the way from D3 to D0 (No_Soft_Reset is 0, 9.3.7.1.4).
    pub fn hard_reset(&mut self) {
        self.msix = crate::device::msix(&self.params);
        self.soft_reset();
        self.csr.set(map::SWSM, 0);
        self.csr.set(map::SW_FW_SYNC, 0);
    }

    /// CTRL.RST.
    pub(crate) fn soft_reset(&mut self) {
        self.leftover = self.leftovers();
        let kept = [map::SWSM, map::SW_FW_SYNC].map(|at| (at, self.csr.get(at)));
        self.csr.reset();
        kept.iter().for_each(|&(at, value)| self.csr.set(at, value));
        self.out.abandon();
        self.reset_receive();
        self.reset_transmit();
        self.irq = crate::irq::Irq::of(&self.params);
        self.load_from_nvm();
        self.reset_done_ps = self.now_ps.saturating_add(self.params.reset_ps);
        self.link.ready_ps_from(self.reset_done_ps.saturating_add(self.params.link_up_ps));
        self.update_link();
    }

    /// What hardware reads from the EEPROM by itself: the address, the link mode (6.2).
    fn load_from_nvm(&mut self) {
        let word = |n: u16| self.nvm.word(n).unwrap_or(0);
        let [low, middle, high] = [word(0), word(1), word(2)].map(u32::from);
        self.csr.set(map::RAL, middle << 16 | low);
        self.csr.set(map::RAH, high | mcst::AV);
        self.csr.set(map::AUTOC, autoc(self.params.medium));
        self.csr.set(map::EEC, self.nvm.eec(1 << 4));
        self.csr.set(map::CTRL_EXT, ctrl_ext::PFRSTD);
        self.csr.set(map::EEMNGCTL, 1 << 18);
        if matches!(self.params.medium, Medium::Sfp { .. }) {
            self.csr.set(map::ESDP, esdp::SDP3 << 8);
        }
    }

    /// A write of CTRL.
    pub(crate) fn write_ctrl(&mut self, value: u32) {
        let resets = value & (ctrl::RST | ctrl::LNK_RST);
        if resets != 0 {
            // Both bits reset this function's data path, and the rest of CTRL (4.2.1.6.1).
            self.soft_reset();
        }
        self.csr.set(map::CTRL, if resets != 0 { resets } else { value });
    }

    /// CTRL: the reset bits are seen until the reset is over.
    pub(crate) fn read_ctrl(&mut self) -> u32 {
        if self.now_ps >= self.reset_done_ps {
            let value = self.csr.get(map::CTRL) & !(ctrl::RST | ctrl::LNK_RST);
            self.csr.set(map::CTRL, value);
        }
        self.csr.get(map::CTRL)
    }

    /// Whether new requests on PCIe are allowed.
    pub(crate) fn may_master(&self) -> bool {
        self.csr.get(map::CTRL) & ctrl::GIO_DIS == 0 && self.now_ps >= self.reset_done_ps
    }

    /// Whether reads are open or writes wait: bit 5 of the PCIe device status (9.3.11.6).
    pub fn transactions_pending(&self) -> bool {
        self.out.open() != 0 || self.out.len() != 0
    }

    /// A word of the EEPROM, for tests and boards of one's own. The checksum is left alone.
    pub fn set_nvm_word(&mut self, at: u16, value: u16) {
        if !self.nvm.set_word(at, value) {
            self.tell(Misuse::NvmAddress, u64::from(at));
        }
    }

    /// Makes the checksum of the EEPROM right.
    pub fn seal_nvm(&mut self) {
        self.nvm.seal();
    }
}
