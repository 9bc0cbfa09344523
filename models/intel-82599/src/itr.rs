//! Interrupt moderation of one vector: EITR (8.2.3.5.12, 7.3.2.1).
//!
//! The count starts when the interrupt is asserted. At 0 it stays there, so that the next cause
//! after a quiet time interrupts at once.

use pollproof_regs::ixgbe::eitr;
use pollproof_sync::switch::bug;

/// The counter of a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Itr {
    register: u32,
    zero_ps: u64,
}

impl Itr {
    /// ITR_INT in steps.
    pub fn interval(&self) -> u32 {
        self.register >> eitr::ITR_INT_SHIFT & eitr::ITR_INT_MASK
    }

    /// The interval in picoseconds.
    pub fn interval_ps(&self, step_ps: u64) -> u64 {
        u64::from(self.interval()).saturating_mul(step_ps)
    }

    /// Software writes EITR. Without CNT_WDIS the count is written too.
    pub fn write(&mut self, value: u32, now_ps: u64, step_ps: u64) {
        self.register = value & eitr::WRITABLE;
        if value & eitr::CNT_WDIS == 0 {
            let count = (value >> eitr::COUNTER_SHIFT & eitr::COUNTER_MASK) << 2;
            self.zero_ps = now_ps.saturating_add(u64::from(count).saturating_mul(step_ps));
        }
    }

    /// Software reads EITR: what it wrote, and the running count.
    pub fn read(&self, now_ps: u64, step_ps: u64) -> u32 {
        let left = self.zero_ps.saturating_sub(now_ps).div_ceil(step_ps.max(1));
        let count = (left as u32 >> 2).min(eitr::COUNTER_MASK);
        self.register & !(eitr::COUNTER_MASK << eitr::COUNTER_SHIFT) | count << eitr::COUNTER_SHIFT
    }

    /// When the count reaches 0.
    pub fn zero_ps(&self) -> u64 {
        self.zero_ps
    }

    /// Whether the count stands at 0.
    pub fn is_zero(&self, now_ps: u64) -> bool {
        self.zero_ps <= now_ps
    }

    /// Lets the count expire now, for runs without a clock.
    pub fn expire(&mut self, now_ps: u64) {
        self.zero_ps = self.zero_ps.min(now_ps);
    }

    /// The interrupt is asserted: the count starts.
    pub fn asserted(&mut self, now_ps: u64, step_ps: u64) {
        if bug("M-IRQ-RELOAD") {
            return;
        }
        self.zero_ps = now_ps.saturating_add(self.interval_ps(step_ps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    #[test]
    fn the_count_runs_from_the_assertion_and_stays_at_zero() {
        let mut itr = Itr::default();
        itr.write(40 | eitr::CNT_WDIS, 0, 2 * US); // 10 us as Linux means it
        assert_eq!(itr.interval_ps(2 * US), 10 * US);
        assert!(itr.is_zero(0), "a quiet vector adds no latency");
        itr.asserted(100 * US, 2 * US);
        assert!(!itr.is_zero(110 * US - 1));
        assert!(itr.is_zero(110 * US));
        assert!(itr.is_zero(500 * US));
    }

    #[test]
    fn a_write_leaves_the_count_alone_only_with_cnt_wdis() {
        let mut itr = Itr::default();
        itr.write(400 | eitr::CNT_WDIS, 0, 2 * US);
        itr.asserted(0, 2 * US);
        itr.write(40 | eitr::CNT_WDIS, 0, 2 * US);
        assert_eq!(itr.zero_ps(), 100 * US);
        itr.write(40, 0, 2 * US);
        assert!(itr.is_zero(0), "the count was written as 0");
        itr.write(40 | 3 << eitr::COUNTER_SHIFT, 0, 2 * US);
        assert_eq!(itr.zero_ps(), 24 * US);
        assert_eq!(itr.read(0, 2 * US), 40 | 3 << eitr::COUNTER_SHIFT);
    }
}
