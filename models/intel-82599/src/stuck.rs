//! What a reset leaves behind when the transmitter could not empty itself (5.2.5.3.2; specification
//! update, clarification "Master Disable Flow").
//!
//! Packets whose data was read wait in the packet buffer while the partner pauses or the link is
//! down. Until they are out, STATUS says that the function is still busy on the bus. A reset does
//! not reach them: their reports are written when the transmitter goes on, wherever the ring was.
//! Clearing the buffers under loopback drops them, and so does a second reset. That either is
//! enough is assumed; the specification update asks for both. Reports by head write-back are not
//! left behind.

use crate::Intel82599;
use pollproof_events::What;
use pollproof_pcie::Payload;
use pollproof_regs::ixgbe::gcr_ext;
use pollproof_regs::ixgbe_map as map;

/// A report that outlived a reset: bus address and bytes.
pub(crate) type Leftover = (u64, [u8; 16]);

impl Intel82599 {
    /// Whether packets wait for a partner that paused, or for the link.
    pub(crate) fn is_stuck(&self) -> bool {
        let quiet = self.flow.is_paused(self.now_ps) || !self.link.up;
        self.params.reset_leaves_reports && quiet && !self.tx.is_idle()
    }

    /// Reports that a reset does not reach now; those of the reset before are gone.
    pub(crate) fn leftovers(&self) -> Vec<Leftover> {
        let jobs = if self.is_stuck() { self.tx.jobs() } else { &Default::default() };
        let reports = jobs.iter().flat_map(|job| job.reports.iter().map(move |r| (job.queue, r)));
        let of_ring = |queue: u32| {
            let at = |register| u64::from(self.csr.get(register + 0x40 * queue));
            at(map::TDBAH) << 32 | at(map::TDBAL)
        };
        reports.map(|(n, r)| (of_ring(n) + 16 * u64::from(r.index), r.bytes)).collect()
    }

    /// When they land, as far as is known.
    pub(crate) fn leftover_deadline(&self) -> Option<u64> {
        if self.leftover.is_empty() || !self.link.up {
            return None;
        }
        Some(self.flow.resume_ps(self.now_ps).unwrap_or(self.now_ps))
    }

    /// The transmitter goes on: what was left behind lands.
    pub(crate) fn land_leftovers(&mut self) {
        let goes_on = self.link.up && !self.flow.is_paused(self.now_ps);
        if !goes_on || !self.may_master() {
            return;
        }
        for (addr, bytes) in std::mem::take(&mut self.leftover) {
            self.out.write(addr, || Payload::copy(&bytes), What::Cqe);
        }
    }

    /// GCR_EXT: the buffers are cleared while nothing can leave (5.2.5.3.2).
    pub(crate) fn write_gcr_ext(&mut self, value: u32) {
        if value & gcr_ext::BUFFERS_CLEAR != 0 && self.loops() {
            self.tx.drop_jobs();
            self.leftover.clear();
        }
        self.csr.set(map::GCR_EXT, value);
    }
}
