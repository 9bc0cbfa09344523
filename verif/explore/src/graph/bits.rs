//! Sets of events: `W` words of 64 bits, so that one source serves graphs of 64 to 1,024 events.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// A set of numbers below `64 * W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    pub(crate) const EMPTY: Self = Self([0; W]);

    #[inline]
    pub(crate) fn one(i: usize) -> Self {
        let mut bits = Self::EMPTY;
        bits.set(i);
        bits
    }

    /// All numbers below `n`.
    #[inline]
    pub(crate) fn below(n: usize) -> Self {
        let mut bits = Self::EMPTY;
        for (i, word) in bits.0.iter_mut().enumerate() {
            let left = n.saturating_sub(i * 64);
            *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
        }
        bits
    }

    #[inline]
    pub(crate) fn set(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    #[inline]
    pub(crate) fn unset(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }

    #[inline]
    pub(crate) fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&w| w == 0)
    }

    #[inline]
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// How many members are below `i`.
    #[inline]
    pub(crate) fn rank(&self, i: usize) -> usize {
        let mut count = 0;
        for (k, word) in self.0.iter().enumerate() {
            let left = i.saturating_sub(k * 64);
            let mask = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
            count += (word & mask).count_ones() as usize;
        }
        count
    }

    /// The highest member.
    #[inline]
    pub(crate) fn last(&self) -> Option<usize> {
        let k = self.0.iter().rposition(|&w| w != 0)?;
        Some(k * 64 + 63 - self.0[k].leading_zeros() as usize)
    }

    /// The members, lowest first.
    #[inline]
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let mut words = self.0;
        let mut k = 0;
        std::iter::from_fn(move || {
            while k < W && words[k] == 0 {
                k += 1;
            }
            let word = words.get_mut(k)?;
            let bit = word.trailing_zeros() as usize;
            *word &= *word - 1;
            Some(k * 64 + bit)
        })
    }
}

impl<const W: usize> BitOr for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitor(mut self, other: Self) -> Self {
        self |= other;
        self
    }
}

impl<const W: usize> BitOrAssign for Bits<W> {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

impl<const W: usize> BitAnd for Bits<W> {
    type Output = Self;
    #[inline]
    fn bitand(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
        self
    }
}

impl<const W: usize> Not for Bits<W> {
    type Output = Self;
    #[inline]
    fn not(mut self) -> Self {
        self.0.iter_mut().for_each(|w| *w = !*w);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order_across_words() {
        let mut bits = Bits::<2>::one(3);
        bits.set(64);
        bits.set(127);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 64, 127]);
        assert_eq!((bits.rank(64), bits.rank(127), bits.last()), (1, 2, Some(127)));
        assert_eq!(bits & Bits::below(65), Bits::one(3) | Bits::one(64));
        bits.unset(127);
        assert!(!bits.has(127) && bits.last() == Some(64));
        assert_eq!(bits & !bits, Bits::EMPTY);
    }
}
