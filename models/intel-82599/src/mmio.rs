//! Register accesses from the bus: sizes, aliases, and registers that do something (8.1, 8.2).

use crate::csr::{index, rx_queue, tx_queue};
use crate::{Intel82599, Misuse};
use pollproof_regs::ixgbe::{
    eec, eerd, eicr, fdir, link, mrqc, pci, rdma, sec, CSR_BYTES, VECTORS,
};
use pollproof_regs::ixgbe_map as map;

impl Intel82599 {
    /// A read of `bytes` bytes. What is not an aligned dword or pair of dwords is told; it reads
    /// the bytes of the dwords that it touches.
    pub fn mmio_read(&mut self, bar: u8, offset: u64, bytes: u32) -> u64 {
        match bytes {
            4 if offset.is_multiple_of(4) => return u64::from(self.mmio_read32(bar, offset)),
            8 if offset.is_multiple_of(4) => {
                let low = self.mmio_read32(bar, offset);
                let high = self.mmio_read32(bar, offset.wrapping_add(4));
                return u64::from(high) << 32 | u64::from(low);
            }
            _ => self.tell(Misuse::Access, offset),
        }
        if bytes == 0 {
            return 0;
        }
        let value = self.mmio_read32(bar, offset & !3) >> (8 * (offset % 4));
        let kept = bytes.min(4 - (offset % 4) as u32);
        u64::from(value) & ((1u64 << (8 * kept)) - 1)
    }

    /// A write of `bytes` bytes. What is not an aligned dword or pair of dwords is told and
    /// ignored: registers have no byte enables (8.1.1).
    pub fn mmio_write(&mut self, bar: u8, offset: u64, value: u64, bytes: u32) {
        match bytes {
            4 if offset.is_multiple_of(4) => self.mmio_write32(bar, offset, value as u32),
            8 if offset.is_multiple_of(4) => {
                self.mmio_write32(bar, offset, value as u32);
                self.mmio_write32(bar, offset.wrapping_add(4), (value >> 32) as u32);
            }
            _ => self.tell(Misuse::Access, offset),
        }
    }

    /// A read of a dword.
    pub fn mmio_read32(&mut self, bar: u8, offset: u64) -> u32 {
        let Some(offset) = self.in_bar(bar, offset) else { return 0 };
        if bar == pci::BAR_MSIX {
            return self.msix.read(offset);
        }
        let offset = self.csr.canonical(offset);
        let value = self.read_function(offset);
        value.unwrap_or_else(|| self.csr.read(offset))
    }

    /// A write of a dword.
    pub fn mmio_write32(&mut self, bar: u8, offset: u64, value: u32) {
        let Some(offset) = self.in_bar(bar, offset) else { return };
        if bar == pci::BAR_MSIX {
            if let Some(vector) = self.msix.write(offset, value) {
                self.out.msix(vector);
            }
            return;
        }
        let offset = self.csr.canonical(offset);
        if !self.write_function(offset, value) && !self.csr.write(offset, value) {
            self.tell(Misuse::ReadOnly, u64::from(offset));
        }
        self.pump();
    }

    fn in_bar(&mut self, bar: u8, offset: u64) -> Option<u32> {
        let bytes = match bar {
            pci::BAR_CSR => CSR_BYTES,
            pci::BAR_MSIX => pci::MSIX_BYTES,
            _ => 0,
        };
        if offset >= u64::from(bytes) {
            self.tell(Misuse::OutsideBar, offset);
            return None;
        }
        if !offset.is_multiple_of(4) {
            self.tell(Misuse::Access, offset);
            return None;
        }
        Some(offset as u32)
    }

    /// Registers whose value is not just what is stored.
    fn read_function(&mut self, offset: u32) -> Option<u32> {
        if let Some((queue, register)) = rx_queue(offset) {
            return self.read_rx_register(queue, register);
        }
        if let Some((queue, register)) = tx_queue(offset) {
            return self.read_tx_register(queue, register);
        }
        if let Some(value) = self.read_interrupt(offset) {
            return Some(value);
        }
        Some(match offset {
            map::CTRL => self.read_ctrl(),
            map::STATUS => self.read_status(),
            map::ESDP => self.read_esdp(),
            map::I2CCTL => self.sfp.i2cctl(),
            map::SWSM => self.read_swsm(),
            map::LINKS => self.read_links(),
            map::SECRXSTAT | map::SECTXSTAT => {
                let control = self.csr.get(offset - 4);
                if control & sec::DIS != 0 && !self.receiving_or_sending(offset) {
                    sec::RDY
                } else {
                    0
                }
            }
            map::TFCS => u32::from(self.flow.is_paused(self.now_ps)),
            _ => return None,
        })
    }

    /// Registers that do something; false when the write is plain storage.
    fn write_function(&mut self, offset: u32, value: u32) -> bool {
        if let Some((queue, register)) = rx_queue(offset) {
            return self.write_rx_register(queue, register, offset, value);
        }
        if let Some((queue, register)) = tx_queue(offset) {
            return self.write_tx_register(queue, register, offset, value);
        }
        if self.write_interrupt(offset, value) {
            return true;
        }
        match offset {
            map::CTRL => self.write_ctrl(value),
            map::GCR_EXT => self.write_gcr_ext(value),
            map::I2CCTL => self.sfp.write(value),
            map::SWSM => self.write_swsm(value),
            map::MSCA => self.write_msca(value),
            map::MSRWD => {
                let data = self.csr.get(map::MSRWD) & 0xffff_0000;
                self.csr.set(map::MSRWD, data | value & 0xffff);
            }
            map::EEC => self.write_eec(value),
            map::EERD => self.write_eerd(value),
            map::AUTOC => {
                self.csr.set(map::AUTOC, value & !link::AN_RESTART);
                if value & link::AN_RESTART != 0 {
                    self.link_restart();
                }
                self.update_link();
            }
            map::AUTOC2 => {
                self.csr.set(map::AUTOC2, value);
                self.update_link();
            }
            map::RDRXCTL => self.csr.set(map::RDRXCTL, value | rdma::DMAIDONE),
            map::RXCTRL => self.write_rxctrl(value),
            map::FDIRCTRL => self.csr.set(map::FDIRCTRL, value | fdir::INIT_DONE),
            map::FDIRCMD => {
                self.csr.not_modelled(map::FDIRCMD);
                self.csr.set(map::FDIRCMD, value & !fdir::CMD);
            }
            map::MRQC => {
                if value & mrqc::MODE > mrqc::MODE_RSS {
                    self.csr.not_modelled(map::MRQC);
                }
                self.csr.set(map::MRQC, value);
            }
            _ if index(offset, map::RSSRK, 10).is_some() => {
                self.csr.set(offset, value);
                self.toeplitz = None;
            }
            _ => return false,
        }
        true
    }

    fn write_eec(&mut self, value: u32) {
        let changed = (value ^ self.csr.get(map::EEC)) & eec::SK_CS_DI;
        if changed != 0 {
            self.csr.not_modelled(map::EEC);
        }
        let value = self.nvm.eec(value);
        self.csr.set(map::EEC, value);
    }

    fn write_eerd(&mut self, value: u32) {
        let done = self.nvm.eerd(value).unwrap_or_else(|| {
            self.tell(Misuse::NvmAddress, u64::from(value >> eerd::ADDR_SHIFT & eerd::ADDR_MASK));
            value & !eerd::START | eerd::DONE | 0xffff << eerd::DATA_SHIFT
        });
        self.csr.set(map::EERD, done);
    }

    fn read_interrupt(&mut self, offset: u32) -> Option<u32> {
        let half = |bits: u64, n: u32| (bits >> (32 * n)) as u32;
        let irq = &mut self.irq;
        Some(match offset {
            map::EICR => irq.read_eicr(),
            map::EICS => irq.causes(),
            map::EIMS => irq.eims(),
            map::EIMC => 0,
            map::EIAC => irq.eiac(),
            map::EIAM => irq.eiam(),
            map::GPIE => irq.gpie(),
            map::IVAR_MISC => irq.ivar_misc(),
            _ => {
                if let Some(n) = index(offset, map::IVAR, 64) {
                    irq.ivar(n)
                } else if let Some(vector) = eitr_vector(offset) {
                    self.irq.read_eitr(vector, self.now_ps)
                } else if let Some(n) = index(offset, map::EICR_EX, 2) {
                    half(irq.vectors(), n)
                } else if let Some(n) = index(offset, map::EICS_EX, 2) {
                    half(irq.vectors(), n)
                } else if let Some(n) = index(offset, map::EIMS_EX, 2) {
                    half(irq.eims_vectors(), n)
                } else if let Some(n) = index(offset, map::EIAM_EX, 2) {
                    half(irq.eiam_vectors(), n)
                } else {
                    return None;
                }
            }
        })
    }

    fn write_interrupt(&mut self, offset: u32, value: u32) -> bool {
        let irq = &mut self.irq;
        match offset {
            map::EICR => irq.write_eicr(value),
            map::EICS => irq.write_eics(value & eicr::ALL),
            map::EIMS => irq.write_eims(value),
            map::EIMC => irq.write_eimc(value),
            map::EIAC => irq.set_eiac(value),
            map::EIAM => irq.set_eiam(value),
            map::GPIE => irq.set_gpie(value),
            map::IVAR_MISC => irq.set_ivar_misc(value),
            _ => return self.write_interrupt_array(offset, value),
        }
        true
    }

    fn write_interrupt_array(&mut self, offset: u32, value: u32) -> bool {
        let at = |n: u32| u64::from(value) << (32 * n);
        let irq = &mut self.irq;
        if let Some(n) = index(offset, map::IVAR, 64) {
            irq.set_ivar(n, value);
        } else if let Some(vector) = eitr_vector(offset) {
            self.irq.write_eitr(vector, value, self.now_ps);
        } else if let Some(n) = index(offset, map::EICS_EX, 2) {
            irq.write_eics_vectors(at(n));
        } else if let Some(n) = index(offset, map::EIMS_EX, 2) {
            irq.write_eims_vectors(at(n));
        } else if let Some(n) = index(offset, map::EIMC_EX, 2) {
            irq.write_eimc_vectors(at(n));
        } else if let Some(n) = index(offset, map::EIAM_EX, 2) {
            let kept = irq.eiam_vectors() & !(0xffff_ffff << (32 * n));
            irq.set_eiam_vectors(kept | at(n));
        } else {
            return false;
        }
        true
    }
}

/// Vector that an EITR offset is about; those above 63 are plain storage (8.2.3.5.12).
fn eitr_vector(offset: u32) -> Option<u32> {
    let low = index(offset, map::EITR, 24);
    low.or_else(|| index(offset, map::EITR_HI, VECTORS - 24).map(|n| n + 24))
}
