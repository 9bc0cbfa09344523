//! The interrupt registers as software reads and writes them (8.2.3.5.1 to 8.2.3.5.12).

use crate::irq::Irq;
use pollproof_regs::ixgbe::{eicr, gpie};
use pollproof_sync::switch::bug;

impl Irq {
    /// IVAR row.
    pub fn ivar(&self, row: u32) -> u32 {
        self.ivar.get(row as usize).copied().unwrap_or(0)
    }

    /// Writes a row of IVAR.
    pub fn set_ivar(&mut self, row: u32, value: u32) {
        if let Some(entry) = self.ivar.get_mut(row as usize) {
            *entry = value & 0xbfbf_bfbf;
        }
    }

    /// IVAR_MISC.
    pub fn ivar_misc(&self) -> u32 {
        self.ivar_misc
    }

    /// Writes IVAR_MISC.
    pub fn set_ivar_misc(&mut self, value: u32) {
        self.ivar_misc = value & 0x0000_bfbf;
    }

    /// Software reads EICR, which clears (8.2.3.5.1) and without MSI-X masks by EIAM.
    pub fn read_eicr(&mut self) -> u32 {
        let value = self.causes();
        if self.gpie & gpie::OCD != 0 {
            let queues = if bug("M-IRQ-OCD") { u64::from(eicr::RTXQ) } else { 0 };
            self.clear(eicr::CLEARED_WITH_OCD, queues);
        } else {
            self.clear(eicr::ALL, u64::from(eicr::RTXQ));
        }
        self.automask_on_access();
        value
    }

    /// Software writes EICR: ones clear.
    pub fn write_eicr(&mut self, value: u32) {
        self.clear(value & !eicr::RTXQ, u64::from(value & eicr::RTXQ));
        self.automask_on_access();
    }

    /// Without MSI-X an access of EICR masks what EIAM names (8.2.3.5.6).
    fn automask_on_access(&mut self) {
        if !self.msix() {
            self.disable(self.eiam_other, self.eiam_vectors);
        }
    }

    /// Software writes EICS. Without MSI-X a bit that is in EIAM is enabled as well.
    pub fn write_eics(&mut self, value: u32) {
        self.write_eics_vectors(u64::from(value & eicr::RTXQ));
        self.raise_other(value);
        if !self.msix() {
            self.mask_other |= value & self.eiam_other;
            self.mask_vectors |= u64::from(value & eicr::RTXQ) & self.eiam_vectors;
        }
    }

    /// Software sets causes of vectors. With the erratum (`Params::eics_sticks`) such a cause may
    /// not be cleared by its message; then no later one of its vector sends a message.
    pub fn write_eics_vectors(&mut self, bits: u64) {
        self.stick(bits & !self.vectors);
        self.set_vectors(bits);
        if self.gpie & gpie::EIMEN != 0 {
            self.immediate |= bits;
        }
    }

    /// Causes by vector.
    pub fn vectors(&self) -> u64 {
        self.vectors
    }

    /// EIMS.
    pub fn eims(&self) -> u32 {
        self.mask_other | self.mask_vectors as u32 & eicr::RTXQ
    }

    /// Enabled vectors.
    pub fn eims_vectors(&self) -> u64 {
        self.mask_vectors
    }

    /// Writes EIMS.
    pub fn write_eims(&mut self, value: u32) {
        self.mask_other |= value & eicr::ALL & !eicr::RTXQ;
        self.mask_vectors |= u64::from(value & eicr::RTXQ);
    }

    /// Writes the extended EIMS.
    pub fn write_eims_vectors(&mut self, bits: u64) {
        self.mask_vectors |= bits;
    }

    /// Writes EIMC.
    pub fn write_eimc(&mut self, value: u32) {
        self.disable(value & !eicr::RTXQ, u64::from(value & eicr::RTXQ));
    }

    /// Writes the extended EIMC.
    pub fn write_eimc_vectors(&mut self, bits: u64) {
        self.disable(0, bits);
    }

    /// EIAC.
    pub fn eiac(&self) -> u32 {
        self.eiac
    }

    /// Writes EIAC: bits 15:0 and 30 (8.2.3.5.5).
    pub fn set_eiac(&mut self, value: u32) {
        self.eiac = value & (eicr::RTXQ | eicr::TCP_TIMER);
    }

    /// EIAM.
    pub fn eiam(&self) -> u32 {
        self.eiam_other | self.eiam_vectors as u32 & eicr::RTXQ
    }

    /// Writes EIAM.
    pub fn set_eiam(&mut self, value: u32) {
        self.eiam_other = value & eicr::ALL & !eicr::RTXQ;
        let low = u64::from(eicr::RTXQ);
        self.eiam_vectors = self.eiam_vectors & !low | u64::from(value) & low;
    }

    /// The extended EIAM.
    pub fn eiam_vectors(&self) -> u64 {
        self.eiam_vectors
    }

    /// Writes the extended EIAM.
    pub fn set_eiam_vectors(&mut self, bits: u64) {
        self.eiam_vectors = bits;
    }

    /// Writes EITR of a vector.
    pub fn write_eitr(&mut self, vector: u32, value: u32, now_ps: u64) {
        if let Some(itr) = self.itr.get_mut(vector as usize) {
            itr.write(value, now_ps, self.step_ps);
        }
    }

    /// Reads EITR of a vector.
    pub fn read_eitr(&self, vector: u32, now_ps: u64) -> u32 {
        self.itr(vector).map_or(0, |itr| itr.read(now_ps, self.step_ps))
    }
}
