//! Cause logic: EICR, masks, auto-clear, auto-mask, and when a vector fires (7.3, 8.2.3.5).
//!
//! With GPIE.MSIX_MODE a queue's cause is the bit of its vector: vectors 15:0 are bits 15:0 of
//! EICR, all 64 are in the extended registers. Other causes keep their EICR bits and their own
//! mask; IVAR_MISC says which vector they use. Without MSIX_MODE all goes to vector 0.
//!
//! A bit that was in a message and is still set does not interrupt again until it is cleared or
//! masked in between (assumed; `Params::refire_while_set` is the other reading).

use crate::itr::Itr;
use crate::Params;
use pollproof_regs::ixgbe::{eicr, gpie, ivar, VECTORS};
use pollproof_sync::switch::bug;

/// Causes, masks and counters of all vectors.
#[derive(Clone, Debug)]
pub struct Irq {
    /// EICR bits 30:16.
    pub(crate) other: u32,
    /// Causes by vector.
    pub(crate) vectors: u64,
    pub(crate) mask_other: u32,
    pub(crate) mask_vectors: u64,
    /// Bits that were in a message and are still set and enabled.
    pub(crate) sent_other: u32,
    pub(crate) sent_vectors: u64,
    /// Vectors that fire whatever their count says (GPIE.EIMEN).
    pub(crate) immediate: u64,
    pub(crate) eiac: u32,
    pub(crate) eiam_other: u32,
    pub(crate) eiam_vectors: u64,
    pub(crate) gpie: u32,
    pub(crate) ivar: [u32; 64],
    pub(crate) ivar_misc: u32,
    pub(crate) itr: [Itr; VECTORS as usize],
    pub(crate) step_ps: u64,
    pub(crate) refire: bool,
    /// Specification update, erratum 1: see [`Irq::write_eics_vectors`].
    eics_sticks: bool,
    /// Causes that auto-clear will miss.
    sticking: u64,
}

impl Irq {
    /// All off. `step_ps` is a step of EITR.
    pub fn new(step_ps: u64, refire: bool) -> Self {
        Self {
            other: 0,
            vectors: 0,
            mask_other: 0,
            mask_vectors: 0,
            sent_other: 0,
            sent_vectors: 0,
            immediate: 0,
            eiac: 0,
            eiam_other: 0,
            eiam_vectors: 0,
            gpie: 0,
            ivar: [0; 64],
            ivar_misc: 0,
            itr: [Itr::default(); VECTORS as usize],
            step_ps,
            refire,
            eics_sticks: false,
            sticking: 0,
        }
    }

    /// All off, of a device with these parameters.
    pub(crate) fn of(params: &Params) -> Self {
        let eics_sticks = params.eics_sticks;
        Self { eics_sticks, ..Self::new(params.itr_step_ps, params.refire_while_set) }
    }

    /// Software set these causes just before their message: without PBA support, and when they are
    /// cleared but not masked by it, they outlive it.
    pub(crate) fn stick(&mut self, bits: u64) {
        let masks = self.gpie & gpie::EIAME != 0;
        if self.eics_sticks && self.msix() && self.gpie & gpie::PBA_SUPPORT == 0 {
            let masked = if masks { self.eiam_vectors } else { 0 };
            self.sticking |= bits & u64::from(self.eiac & eicr::RTXQ) & !masked;
        }
    }

    /// Causes that are set and enabled: (other bits, vectors).
    pub fn enabled_causes(&self) -> (u32, u64) {
        (self.other & self.mask_other, self.vectors & self.mask_vectors)
    }

    pub(crate) fn msix(&self) -> bool {
        self.gpie & gpie::MSIX_MODE != 0
    }

    /// GPIE.
    pub fn gpie(&self) -> u32 {
        self.gpie
    }

    /// Writes GPIE.
    pub fn set_gpie(&mut self, value: u32) {
        self.gpie = value;
    }

    /// From the interval's end back to where aggregates close: RSC_DELAY (8.2.3.5.18).
    pub fn rsc_delay_ps(&self) -> u64 {
        (u64::from(self.gpie >> gpie::RSC_DELAY_SHIFT & 7) + 1) * 4_000_000
    }

    fn entry(word: u32, byte: u32) -> Option<u32> {
        let entry = word >> (8 * (byte & 3)) & 0xff;
        (entry & ivar::VALID != 0).then_some(entry & ivar::VECTOR)
    }

    /// Vector of a queue, by IVAR.
    pub fn queue_vector(&self, queue: u32, is_tx: bool) -> Option<u32> {
        Self::entry(self.ivar(queue / 2), 2 * (queue % 2) + u32::from(is_tx))
    }

    /// Vector of other causes.
    fn misc_vector(&self, bit: u32) -> Option<u32> {
        Self::entry(self.ivar_misc, u32::from(bit != eicr::TCP_TIMER))
    }

    /// A queue has something to tell.
    #[inline]
    pub fn raise_queue(&mut self, queue: u32, is_tx: bool) {
        if let Some(vector) = self.queue_vector(queue, is_tx) {
            let vector = if self.msix() { vector } else { vector & 15 };
            self.set_vectors(1 << vector);
        }
    }

    /// Another cause.
    pub fn raise_other(&mut self, bits: u32) {
        self.other |= bits & eicr::ALL & !eicr::RTXQ;
        if self.refire {
            self.sent_other &= !bits;
        }
    }

    pub(crate) fn set_vectors(&mut self, bits: u64) {
        self.vectors |= bits;
        if self.refire {
            self.sent_vectors &= !bits;
        }
    }

    /// Clears causes.
    pub(crate) fn clear(&mut self, other: u32, vectors: u64) {
        self.other &= !other;
        self.vectors &= !vectors;
        self.sent_other &= self.other;
        self.sent_vectors &= self.vectors;
        self.immediate &= self.vectors;
    }

    pub(crate) fn disable(&mut self, other: u32, vectors: u64) {
        self.mask_other &= !other;
        self.mask_vectors &= !vectors;
        self.sent_other &= self.mask_other;
        self.sent_vectors &= self.mask_vectors;
    }

    /// EICR as it stands.
    pub fn causes(&self) -> u32 {
        self.other | self.vectors as u32 & eicr::RTXQ
    }

    /// The counter of a vector.
    pub fn itr(&self, vector: u32) -> Option<&Itr> {
        self.itr.get(vector as usize)
    }

    /// The interval of a vector.
    pub fn interval_ps(&self, vector: u32) -> u64 {
        self.itr(vector).map_or(0, |itr| itr.interval_ps(self.step_ps))
    }

    /// Causes that want a message: (other bits, vectors).
    #[inline]
    fn wanting(&self) -> (u32, u64) {
        let other = self.other & self.mask_other & !self.sent_other;
        (other, self.vectors & self.mask_vectors & !self.sent_vectors)
    }

    /// Whether any cause wants a message, whatever its vector.
    #[inline]
    pub(crate) fn wants(&self) -> bool {
        self.wanting() != (0, 0)
    }

    /// Other bits that go to a vector.
    fn other_of(&self, vector: u32, bits: u32) -> u32 {
        let mut mine = 0;
        let mut left = bits;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left &= !bit;
            if self.misc_vector(bit) == Some(vector) {
                mine |= bit;
            }
        }
        mine
    }

    /// Vectors that have something to tell, as bits.
    pub fn pending(&self) -> u64 {
        let (other, vectors) = self.wanting();
        if other == 0 && self.msix() {
            return vectors;
        }
        if !self.msix() {
            return u64::from(other != 0 || vectors & u64::from(eicr::RTXQ) != 0);
        }
        let timer = (other & eicr::TCP_TIMER != 0).then(|| self.misc_vector(eicr::TCP_TIMER));
        let rest = (other & !eicr::TCP_TIMER != 0).then(|| self.misc_vector(0));
        [timer, rest].into_iter().flatten().flatten().fold(vectors, |all, v| all | 1 << v)
    }

    /// The lowest vector that may fire now.
    pub fn due(&self, now_ps: u64) -> Option<u32> {
        let mut left = self.pending();
        while left != 0 {
            let vector = left.trailing_zeros();
            left &= left - 1;
            if self.is_open(vector, now_ps) {
                return Some(vector);
            }
        }
        None
    }

    /// Whether moderation lets a vector fire now.
    #[inline]
    fn is_open(&self, vector: u32, now_ps: u64) -> bool {
        let zero = self.itr(vector).is_some_and(|itr| itr.is_zero(now_ps));
        zero || self.immediate >> vector & 1 != 0
    }

    /// Whether a vector has something to tell and may fire now, for whoever does not take the
    /// lowest first.
    pub fn may_fire(&self, vector: u32, now_ps: u64) -> bool {
        vector < VECTORS && self.pending() >> vector & 1 != 0 && self.is_open(vector, now_ps)
    }

    /// When a vector that waits may fire.
    #[inline]
    pub fn next_deadline(&self, now_ps: u64) -> Option<u64> {
        let mut left = if self.wants() { self.pending() } else { 0 };
        let mut first = u64::MAX;
        while left != 0 {
            let vector = left.trailing_zeros();
            left &= left - 1;
            first = first.min(self.itr(vector).map_or(0, Itr::zero_ps).max(now_ps));
        }
        (first != u64::MAX).then_some(first)
    }

    /// Lets the count of a vector reach 0 now, for runs without a clock.
    pub fn expire(&mut self, vector: u32, now_ps: u64) {
        if let Some(itr) = self.itr.get_mut(vector as usize) {
            itr.expire(now_ps);
        }
    }

    /// The vector fires: its count starts, its causes are cleared and masked as configured
    /// (7.3.1.4, 7.3.1.5).
    pub fn fire(&mut self, vector: u32, now_ps: u64) {
        let (other, vectors) = self.wanting();
        if let Some(itr) = self.itr.get_mut(vector as usize) {
            itr.asserted(now_ps, self.step_ps);
        }
        if !self.msix() {
            self.sent_other |= other;
            self.sent_vectors |= vectors & u64::from(eicr::RTXQ);
            self.immediate = 0;
            return;
        }
        let mine = self.other_of(vector, other);
        let bit = 1u64 << (vector & 63) & vectors;
        self.sent_other |= mine;
        self.sent_vectors |= bit;
        self.immediate &= !bit;
        if self.gpie & gpie::EIAME != 0 && !bug("M-IRQ-AUTOMASK") {
            self.disable(mine & self.eiam_other, bit & self.eiam_vectors);
        }
        let always = bit & !u64::from(eicr::RTXQ);
        let stuck = std::mem::take(&mut self.sticking) & bit;
        let cleared = bit & u64::from(self.eiac & eicr::RTXQ) & !stuck;
        self.clear(mine & self.eiac, cleared | always);
    }

    /// Level of the legacy interrupt: without MSI-X, an enabled cause that was signalled.
    pub fn line(&self) -> bool {
        !self.msix() && (self.sent_other != 0 || self.sent_vectors != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pollproof_regs::ixgbe::eitr;

    const US: u64 = 1_000_000;

    /// As Linux programs it: queue 0 on vector 0, other causes on vector 1.
    fn linux() -> Irq {
        let mut irq = Irq::new(2 * US, false);
        irq.set_gpie(gpie::MSIX_MODE | gpie::OCD | gpie::EIAME | gpie::PBA_SUPPORT);
        irq.set_ivar(0, 0x8080);
        irq.set_ivar_misc(0x8100);
        irq.set_eiac(eicr::RTXQ);
        irq.set_eiam_vectors(u64::MAX);
        irq.write_eims(eicr::ALL & !eicr::RTXQ);
        irq.write_eims_vectors(u64::MAX);
        irq
    }

    #[test]
    fn a_queue_interrupt_clears_and_masks_itself() {
        let mut irq = linux();
        irq.raise_queue(0, false);
        assert_eq!((irq.causes(), irq.due(0)), (1, Some(0)));
        irq.fire(0, 0);
        assert_eq!((irq.causes(), irq.due(0)), (0, None));
        assert_eq!(irq.eims_vectors() & 1, 0);
        irq.raise_queue(0, true);
        assert_eq!((irq.causes(), irq.due(0)), (1, None), "it waits for the mask");
        irq.write_eims_vectors(1);
        assert_eq!(irq.due(0), Some(0));
    }

    #[test]
    fn moderation_spaces_interrupts_and_an_idle_vector_has_none() {
        let mut irq = linux();
        irq.write_eitr(0, 40 | eitr::CNT_WDIS, 0);
        irq.raise_queue(0, false);
        assert_eq!(irq.due(0), Some(0));
        irq.fire(0, 0);
        irq.write_eims_vectors(1);
        irq.raise_queue(0, false);
        assert_eq!((irq.due(9 * US), irq.next_deadline(9 * US)), (None, Some(10 * US)));
        assert_eq!(irq.due(10 * US), Some(0));
        irq.fire(0, 10 * US);
        irq.write_eims_vectors(1);
        assert_eq!(irq.next_deadline(500 * US), None);
        irq.raise_queue(0, false);
        assert_eq!(irq.due(500 * US), Some(0));
    }

    #[test]
    fn another_cause_stays_until_it_is_cleared_and_interrupts_once() {
        let mut irq = linux();
        irq.raise_other(eicr::LSC);
        assert_eq!(irq.due(0), Some(1));
        irq.fire(1, 0);
        assert_eq!((irq.causes(), irq.due(0)), (eicr::LSC, None));
        irq.raise_other(eicr::LSC);
        assert_eq!(irq.due(0), None, "its bit never fell");
        irq.raise_other(eicr::RX_MISS);
        assert_eq!(irq.due(0), Some(1), "another bit rose");
        irq.fire(1, 0);
        irq.write_eicr(eicr::LSC);
        assert_eq!(irq.causes(), eicr::RX_MISS);
        irq.raise_other(eicr::LSC);
        assert_eq!(irq.due(0), Some(1));
    }

    #[test]
    fn reading_eicr_clears_all_or_with_ocd_only_other_causes() {
        let mut irq = linux();
        irq.write_eics(eicr::LSC | 3);
        assert_eq!(irq.read_eicr(), eicr::LSC | 3);
        assert_eq!(irq.read_eicr(), 3);
        irq.set_gpie(gpie::MSIX_MODE);
        assert_eq!(irq.read_eicr(), 3);
        assert_eq!(irq.read_eicr(), 0);
    }

    #[test]
    fn vectors_above_15_always_clear_themselves() {
        let mut irq = linux();
        irq.set_eiac(0);
        irq.set_ivar(1, 0x94_92);
        irq.raise_queue(2, false);
        irq.raise_queue(0, false);
        assert_eq!(irq.vectors(), 1 << 18 | 1);
        irq.fire(18, 0);
        irq.fire(0, 0);
        assert_eq!(irq.vectors(), 1, "vector 0 is not in EIAC");
    }

    #[test]
    fn without_msix_a_read_masks_by_eiam_and_eics_enables_again() {
        let mut irq = Irq::new(2 * US, false);
        irq.set_ivar(0, 0x80);
        irq.set_eiam(eicr::RTXQ);
        irq.write_eims(1);
        irq.raise_queue(0, false);
        assert_eq!(irq.due(0), Some(0));
        irq.fire(0, 0);
        assert!(irq.line());
        assert_eq!(irq.read_eicr(), 1);
        assert!(!irq.line());
        assert_eq!(irq.eims(), 0);
        irq.write_eics(1);
        assert_eq!((irq.eims(), irq.due(0)), (1, Some(0)));
    }

    #[test]
    fn a_cause_while_its_bit_is_set_interrupts_again_only_by_choice() {
        for refire in [false, true] {
            let mut irq = Irq::new(2 * US, refire);
            irq.set_gpie(gpie::MSIX_MODE);
            irq.set_ivar(0, 0x80);
            irq.write_eims_vectors(1);
            irq.raise_queue(0, false);
            irq.fire(0, 0);
            irq.raise_queue(0, false);
            assert_eq!(irq.due(0).is_some(), refire);
        }
    }

    #[test]
    fn a_software_cause_sticks_when_its_message_clears_but_does_not_mask() {
        for (gpie, eiam, sticks) in [
            (gpie::MSIX_MODE | gpie::EIAME, 0, true),
            (gpie::MSIX_MODE | gpie::EIAME, u64::MAX, false),
            (gpie::MSIX_MODE | gpie::EIAME | gpie::PBA_SUPPORT, 0, false),
        ] {
            let mut irq = Irq { eics_sticks: true, ..Irq::new(2 * US, false) };
            irq.set_gpie(gpie);
            irq.set_ivar(0, 0x80);
            irq.set_eiac(eicr::RTXQ);
            irq.set_eiam_vectors(eiam);
            irq.write_eims_vectors(1);
            irq.write_eics_vectors(1);
            irq.fire(0, 0);
            irq.write_eims_vectors(1);
            irq.raise_queue(0, false);
            assert_eq!(irq.due(0).is_none(), sticks, "{gpie:#x} {eiam:#x}");
            assert_eq!(irq.enabled_causes().1, 1);
            irq.write_eicr(1);
            irq.raise_queue(0, false);
            assert_eq!(irq.due(0), Some(0), "clearing it by hand helps");
        }
    }

    #[test]
    fn eimen_lets_software_causes_pass_moderation() {
        let mut irq = linux();
        irq.write_eitr(0, 4000 & 0xff8 | eitr::CNT_WDIS, 0);
        irq.raise_queue(0, false);
        irq.fire(0, 0);
        irq.write_eims_vectors(1);
        irq.write_eics_vectors(1);
        assert_eq!(irq.due(0), None);
        irq.set_gpie(irq.gpie() | gpie::EIMEN);
        irq.write_eics_vectors(1);
        assert_eq!(irq.due(0), Some(0));
    }
}
