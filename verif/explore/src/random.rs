//! Random walks from a seed, and the walk that follows a schedule.

use crate::schedule::{Pick, Schedule};
use crate::session::{bits, Strategy, Turn, View};

/// SplitMix64: small, and its whole state is one number that a report can give.
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

impl Strategy for SplitMix {
    fn pick(&mut self, view: &View) -> Turn {
        let nth = self.below(view.enabled.count_ones() as usize);
        Turn::Run(bits(view.enabled).nth(nth).unwrap_or(0))
    }

    fn choose(&mut self, n: usize) -> Result<usize, String> {
        Ok(self.below(n))
    }
}

/// Follows a schedule; after its end the thread that ran, else the lowest, and choices of 0.
pub(crate) struct Follow<'a> {
    picks: &'a [Pick],
    at: usize,
}

impl<'a> Follow<'a> {
    pub(crate) fn new(schedule: &'a Schedule) -> Self {
        Self { picks: &schedule.0, at: 0 }
    }

    fn next(&mut self) -> Option<Pick> {
        let pick = self.picks.get(self.at).copied();
        self.at += 1;
        pick
    }

    /// Picks of the schedule that the program ended before.
    pub(crate) fn left(&self) -> usize {
        self.picks.len().saturating_sub(self.at)
    }
}

impl Strategy for Follow<'_> {
    fn pick(&mut self, view: &View) -> Turn {
        match self.next() {
            None => Turn::Run(view.default_of(view.enabled)),
            Some(Pick::Thread(t)) if t < 16 && view.enabled >> t & 1 == 1 => Turn::Run(t.into()),
            Some(pick) => Turn::Diverged(format!(
                "pick {} is {pick:?}, enabled are the threads {:?}",
                self.at,
                bits(view.enabled).collect::<Vec<_>>()
            )),
        }
    }

    fn choose(&mut self, n: usize) -> Result<usize, String> {
        match self.next() {
            None => Ok(0),
            Some(Pick::Choice(value)) if usize::from(value) < n => Ok(value.into()),
            Some(pick) => Err(format!("pick {} is {pick:?}, asked is a choice below {n}", self.at)),
        }
    }
}
