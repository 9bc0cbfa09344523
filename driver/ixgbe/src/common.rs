//! Reset and start of the hardware: `ixgbe_common.c`, `ixgbe_82599.c` (6.12), as far as a CX4
//! port needs them: semaphores, EEPROM, stop, reset, address, statistics.
//!
//! Left out: PHYs and SFP+ modules, link modes (the port has one), firmware, LED, wake up.

use crate::hw::{Hw, FAILED_READ};
use crate::OpenError;
use pollproof_kapi::Below;
use pollproof_regs::ixgbe::QUEUES;
use pollproof_regs::ixgbe::{
    ctrl, ctrl_ext, eec, eerd, eicr, gcr_ext, hlreg0, mcst, nvm, queue, rdma, status, swsm,
};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use pollproof_sync::bug;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// The EEPROM's bit of SW_FW_SYNC, software's and firmware's.
const EEPROM_SYNC: (u32, u32) = (1, 1 << 5);
/// Receive addresses of the part.
const RAR_ENTRIES: u32 = 128;

impl Hw {
    /// `ixgbe_get_eeprom_semaphore`, `ixgbe_acquire_swfw_sync`: first the semaphore among drivers,
    /// then the one against firmware, then the bit.
    fn acquire_swfw_sync(&self) -> Result<(), OpenError> {
        if !self.poll(map::SWSM, swsm::SMBI, 0, 2000, 50 * US) {
            return Err(OpenError::Hardware("the driver semaphore is never free"));
        }
        self.update(map::SWSM, swsm::SWESMBI, swsm::SWESMBI);
        if !self.poll(map::SWSM, swsm::SWESMBI, swsm::SWESMBI, 2000, 50 * US) {
            self.release_semaphore();
            return Err(OpenError::Hardware("firmware keeps its semaphore"));
        }
        let held = self.read(map::SW_FW_SYNC);
        let free = held & (EEPROM_SYNC.0 | EEPROM_SYNC.1) == 0;
        if free {
            self.write(map::SW_FW_SYNC, held | EEPROM_SYNC.0);
        }
        self.release_semaphore();
        free.then_some(()).ok_or(OpenError::Hardware("the EEPROM is somebody else's"))
    }

    fn release_swfw_sync(&self) {
        let _ = self.poll(map::SWSM, swsm::SMBI, 0, 2000, 50 * US);
        self.update(map::SWSM, swsm::SWESMBI, swsm::SWESMBI);
        self.update(map::SW_FW_SYNC, EEPROM_SYNC.0, 0);
        self.release_semaphore();
    }

    fn release_semaphore(&self) {
        self.update(map::SWSM, swsm::SWESMBI | swsm::SMBI, 0);
        self.flush();
    }

    /// `ixgbe_read_eerd_generic`.
    fn read_eeprom(&self, word: u16) -> Result<u16, OpenError> {
        self.write(map::EERD, u32::from(word) << eerd::ADDR_SHIFT | eerd::START);
        if !self.poll(map::EERD, eerd::DONE, eerd::DONE, 100_000, 5 * US) {
            return Err(OpenError::Hardware("the EEPROM does not answer"));
        }
        Ok((self.read(map::EERD) >> eerd::DATA_SHIFT) as u16)
    }

    /// `ixgbe_validate_eeprom_checksum`: the words and the sections that they point to add up.
    pub fn validate_eeprom_checksum(&self) -> Result<(), OpenError> {
        if self.read(map::EEC) & eec::PRES == 0 {
            return Err(OpenError::Hardware("there is no EEPROM"));
        }
        self.acquire_swfw_sync()?;
        let sum = self.eeprom_sum();
        self.release_swfw_sync();
        if sum? == nvm::SUM {
            Ok(())
        } else {
            Err(OpenError::Hardware("the EEPROM's checksum is wrong"))
        }
    }

    fn eeprom_sum(&self) -> Result<u16, OpenError> {
        let mut sum = 0u16;
        for word in 0..=nvm::CHECKSUM {
            sum = sum.wrapping_add(self.read_eeprom(word)?);
        }
        for word in nvm::POINTERS {
            let section = self.read_eeprom(word)?;
            if section == 0 || section == nvm::NONE {
                continue;
            }
            let len = self.read_eeprom(section)?;
            if len == 0 || len == nvm::NONE {
                continue;
            }
            for at in 1..=len {
                sum = sum.wrapping_add(self.read_eeprom(section.wrapping_add(at))?);
            }
        }
        Ok(sum)
    }

    /// `ixgbe_stop_adapter`: no interrupts, no queues, and nothing on the bus; false when something
    /// is still under way there.
    fn stop_adapter(&self, below: &Below) -> bool {
        self.update(map::RXCTRL, rdma::RXEN, 0);
        self.write(map::EIMC, eicr::ALL);
        self.read(map::EICR);
        self.fill(map::TXDCTL, 0x40, QUEUES, queue::SWFLSH);
        for half in [rxdctl(0), rxdctl(64)] {
            self.update_block(half, 0x40, 64, queue::ENABLE | queue::SWFLSH, queue::SWFLSH);
        }
        self.flush();
        below.clock.sleep_ns(MS);
        self.disable_pcie_master()
    }

    /// `ixgbe_disable_pcie_master`: what the function has asked for on the bus comes to an end. It
    /// need not while the partner pauses or the link is down (5.2.5.3.2).
    fn disable_pcie_master(&self) -> bool {
        self.write(map::CTRL, ctrl::GIO_DIS);
        self.poll(map::STATUS, status::GIO_MASTER, 0, 800, 100 * US) || self.is_removed()
    }

    /// `ixgbe_clear_tx_pending`: drops what waits in the buffers, and lets nothing out meanwhile.
    fn clear_tx_pending(&self, below: &Below) {
        self.update(map::HLREG0, hlreg0::LPBK, hlreg0::LPBK);
        self.flush();
        self.update(map::GCR_EXT, gcr_ext::BUFFERS_CLEAR, gcr_ext::BUFFERS_CLEAR);
        self.flush();
        below.clock.sleep_ns(20 * US);
        self.update(map::GCR_EXT, gcr_ext::BUFFERS_CLEAR, 0);
        self.update(map::HLREG0, hlreg0::LPBK, 0);
    }

    /// `ixgbe_reset_hw_82599`: where the bus does not come to rest, one reset is not enough.
    pub fn reset_hw(&self, below: &Below, mac: Option<[u8; 6]>) -> Result<(), OpenError> {
        let at_rest = self.stop_adapter(below);
        if !at_rest && !bug("E-40") {
            self.clear_tx_pending(below);
            self.reset_mac(below)?;
        }
        self.reset_mac(below)?;
        self.init_rx_addrs(mac);
        Ok(())
    }

    /// CTRL.RST, and the time that it takes.
    fn reset_mac(&self, below: &Below) -> Result<(), OpenError> {
        self.update(map::CTRL, ctrl::RST, ctrl::RST);
        self.flush();
        below.clock.sleep_ns(MS);
        if !self.poll(map::CTRL, ctrl::RST | ctrl::LNK_RST, 0, 10, US) {
            return Err(OpenError::Hardware("the reset does not end"));
        }
        below.clock.sleep_ns(50 * MS);
        Ok(())
    }

    /// `ixgbe_get_mac_addr`: what the device read from its EEPROM.
    pub fn mac_addr(&self) -> [u8; 6] {
        let [a, b, c, d] = self.read(map::RAL).to_le_bytes();
        let [e, f, ..] = self.read(map::RAH).to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// `ixgbe_init_rx_addrs`: our address first, all others off; no multicast.
    fn init_rx_addrs(&self, mac: Option<[u8; 6]>) {
        if let Some([a, b, c, d, e, f]) = mac {
            self.write(map::RAL, u32::from_le_bytes([a, b, c, d]));
            self.write(map::RAH, u32::from_le_bytes([e, f, 0, 0]) | mcst::AV);
        }
        // Low and high words lie in turn.
        self.fill(map::RAL + 8, 4, 2 * (RAR_ENTRIES - 1), 0);
        self.write(map::MCSTCTRL, 0);
        self.fill(map::MTA, 4, 128, 0);
    }

    /// `ixgbe_start_hw_82599`: filters, counters and rate limits from scratch.
    pub fn start_hw(&self) {
        self.fill(map::VFTA, 4, 128, 0);
        self.clear_hw_cntrs();
        self.update(map::CTRL_EXT, ctrl_ext::PFRSTD, 0);
        if !self.is_removed() {
            for n in 0..QUEUES {
                self.raw_write(map::RTTDQSEL, n);
                self.raw_write(map::RTTBCNRC, 0);
            }
        }
        self.flush();
    }

    /// `ixgbe_clear_hw_cntrs`: reading clears.
    fn clear_hw_cntrs(&self) {
        for counter in stat::MAP.iter().filter(|r| r.access != map::Access::Rw) {
            self.discard(counter.offset, counter.stride, counter.count);
        }
    }

    /// `hw->mac.ops.check_link`: the state is latched low, so that a loss is seen once.
    pub fn link_up(&self) -> bool {
        self.read(map::LINKS);
        let links = self.read(map::LINKS);
        links != FAILED_READ && links & pollproof_regs::ixgbe::link::UP != 0
    }
}

/// RXDCTL of a queue.
pub(crate) fn rxdctl(n: u32) -> u32 {
    match n {
        0..64 => map::RXDCTL + 0x40 * n,
        _ => map::RXDCTL_HI + 0x40 * (n - 64),
    }
}
