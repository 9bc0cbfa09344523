//! Adaptive moderation: `efx_update_irq_mod` of `efx_channels.c`, `efx_init_irq_moderation` (6.12).

/// `irq_adapt_low_thresh`: below this score of a thousand polls the hold-off gets shorter.
const LOW: u64 = 8_000;
/// `irq_adapt_high_thresh`: above this one it gets longer.
const HIGH: u64 = 16_000;
/// Polls of a score.
const POLLS: u32 = 1_000;
/// `irq_mod_step_us`.
const STEP_US: u32 = 8;

/// How long interrupts are held off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moderation {
    us: u32,
    max_us: u32,
    polls: u32,
    /// Score when these polls began.
    before: u64,
}

impl Moderation {
    /// The longest at first, as it comes.
    pub fn new(max_us: u32) -> Self {
        Self { us: max_us, max_us, polls: 0, before: 0 }
    }

    /// Hold-off now, microseconds.
    pub fn us(&self) -> u32 {
        self.us
    }

    /// A poll is over, with this score in all; the new hold-off, if it changes.
    pub fn poll(&mut self, score: u64) -> Option<u32> {
        self.polls += 1;
        if self.polls < POLLS {
            return None;
        }
        let grown = score.wrapping_sub(self.before);
        (self.polls, self.before) = (0, score);
        let us = match grown {
            g if g < LOW && self.us > STEP_US => self.us - STEP_US,
            g if g > HIGH => self.us.saturating_add(STEP_US).min(self.max_us),
            _ => self.us,
        };
        let changed = us != self.us;
        self.us = us;
        changed.then_some(us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hold-offs after each thousand polls, with so much score in each.
    fn course(max_us: u32, scores: &[u64]) -> Vec<u32> {
        let mut moderation = Moderation::new(max_us);
        let mut total = 0;
        let thousand = |score: &u64| {
            total += score;
            (1..POLLS).for_each(|_| assert_eq!(moderation.poll(total), None));
            moderation.poll(total);
            moderation.us()
        };
        scores.iter().map(thousand).collect()
    }

    #[test]
    fn the_hold_off_follows_the_score_within_its_bounds() {
        assert_eq!(course(60, &[0, 0, 20_000, 20_000, 20_000]), [52, 44, 52, 60, 60]);
        assert_eq!(course(60, &[8_000, 16_000]), [60, 60], "between the thresholds");
        assert_eq!(course(20, &[0, 0, 0, 0]), [12, 4, 4, 4], "never to nothing");
        assert_eq!(course(0, &[0, 20_000]), [0, 0], "switched off");
    }
}
