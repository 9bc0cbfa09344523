//! Where stimulus comes from: numbers by seed, or a list that a property test made and shrinks.
//!
//! 0 always means "nothing happens": a list that has ended is a quiet bus.

use pollproof_sim::{Stream, Streams};

/// A source of choices.
// There is one at a time, and it is asked every cycle.
#[allow(clippy::large_enum_variant)]
pub enum Tape {
    /// Random, without end.
    Random {
        /// Stream of the case.
        stream: Stream,
        /// Half of the last number that was drawn.
        spare: Option<u32>,
    },
    /// A list; then zeros.
    Fixed {
        /// Choices.
        words: Vec<u32>,
        /// How many were taken.
        at: usize,
    },
}

impl Tape {
    /// The tape of a case by seed.
    pub fn of_case(seed: u64, block: &str, case: u64) -> Self {
        let stream = Streams::new(seed).stream(&format!("lockstep.{block}.{case}"));
        Self::Random { stream, spare: None }
    }

    /// A list of choices.
    pub fn fixed(words: Vec<u32>) -> Self {
        Self::Fixed { words, at: 0 }
    }

    /// The next choice.
    #[inline]
    pub fn word(&mut self) -> u32 {
        match self {
            Self::Random { stream, spare } => match spare.take() {
                Some(word) => word,
                None => {
                    let both = stream.next_u64();
                    *spare = Some((both >> 32) as u32);
                    both as u32
                }
            },
            Self::Fixed { words, at } => {
                let word = words.get(*at).copied().unwrap_or(0);
                *at += 1;
                word
            }
        }
    }

    /// A choice below `n`, which is not 0.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(n)) >> 32) as u32
    }

    /// True about `num` times out of `den`; never on a tape that has ended.
    #[inline]
    pub fn chance(&mut self, num: u32, den: u32) -> bool {
        self.below(den) >= den - num.min(den)
    }

    /// One of several; the first on a tape that has ended.
    #[inline]
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize]
    }
}
