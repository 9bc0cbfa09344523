//! Faults on the wire, each from a stream of its own, so that one rate does not move the others.

use crate::Frame;
use pollproof_sim::{Stream, Streams};
use std::sync::Arc;

/// Rates are given in parts of this.
pub const PER_MILLION: u64 = 1_000_000;

/// How often each fault happens, in parts per million of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// The frame is lost.
    pub loss_ppm: u64,
    /// It comes twice.
    pub duplicate_ppm: u64,
    /// One bit of it is flipped.
    pub corrupt_ppm: u64,
    /// It comes after the frame behind it.
    pub reorder_ppm: u64,
    /// Its end is missing.
    pub truncate_ppm: u64,
}

/// Faults that happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Lost.
    pub lost: u64,
    /// Duplicated.
    pub duplicated: u64,
    /// Corrupted.
    pub corrupted: u64,
    /// Held back behind the next one.
    pub reordered: u64,
    /// Truncated.
    pub truncated: u64,
}

/// A wire with faults. It numbers the frames anew, in order of arrival.
#[derive(Clone, Debug)]
pub struct Faults {
    rates: FaultRates,
    loss: Stream,
    duplicate: Stream,
    corrupt: Stream,
    reorder: Stream,
    truncate: Stream,
    held: Option<Frame>,
    number: u64,
    counts: FaultCounts,
}

impl Faults {
    /// Faults at these rates; the streams are `wire.loss`, `wire.duplicate` and so on.
    pub fn new(rates: FaultRates, streams: &Streams) -> Self {
        Self {
            rates,
            loss: streams.stream("wire.loss"),
            duplicate: streams.stream("wire.duplicate"),
            corrupt: streams.stream("wire.corrupt"),
            reorder: streams.stream("wire.reorder"),
            truncate: streams.stream("wire.truncate"),
            held: None,
            number: 0,
            counts: FaultCounts::default(),
        }
    }

    /// Sends a frame; what arrives is added to `out`: none, one, or several.
    pub fn send(&mut self, frame: Frame, out: &mut Vec<Frame>) {
        let rates = self.rates;
        if self.loss.chance(rates.loss_ppm, PER_MILLION) {
            self.counts.lost += 1;
            return;
        }
        let frame = self.damage(frame);
        if self.held.is_none() && self.reorder.chance(rates.reorder_ppm, PER_MILLION) {
            self.counts.reordered += 1;
            self.held = Some(frame);
            return;
        }
        let twice = self.duplicate.chance(rates.duplicate_ppm, PER_MILLION);
        self.counts.duplicated += u64::from(twice);
        let copy = twice.then(|| frame.clone());
        let held = self.held.take();
        for mut frame in [Some(frame), copy, held].into_iter().flatten() {
            frame.number = self.number;
            self.number += 1;
            out.push(frame);
        }
    }

    /// Nothing follows: a frame that was held back arrives.
    pub fn flush(&mut self, out: &mut Vec<Frame>) {
        if let Some(mut frame) = self.held.take() {
            frame.number = self.number;
            self.number += 1;
            out.push(frame);
        }
    }

    /// Faults so far.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    fn damage(&mut self, frame: Frame) -> Frame {
        let corrupt = self.corrupt.chance(self.rates.corrupt_ppm, PER_MILLION);
        let truncate = self.truncate.chance(self.rates.truncate_ppm, PER_MILLION);
        if frame.bytes.is_empty() || !(corrupt || truncate) {
            return frame;
        }
        let mut bytes = frame.bytes.to_vec();
        if corrupt {
            self.counts.corrupted += 1;
            let bit = self.corrupt.below(8 * bytes.len() as u64) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if truncate {
            self.counts.truncated += 1;
            bytes.truncate(self.truncate.below(bytes.len() as u64) as usize);
        }
        Frame::new(frame.number, Arc::from(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rates: FaultRates, n: u64) -> (Vec<Frame>, FaultCounts) {
        let mut faults = Faults::new(rates, &Streams::new(5));
        let mut out = Vec::new();
        for number in 0..n {
            let mut bytes = [0; 60];
            bytes[20..28].copy_from_slice(&number.to_le_bytes());
            faults.send(Frame::new(number, Arc::from(bytes)), &mut out);
        }
        faults.flush(&mut out);
        (out, faults.counts())
    }

    #[test]
    fn a_wire_without_faults_changes_nothing() {
        let (out, counts) = run(FaultRates::default(), 100);
        assert_eq!(counts, FaultCounts::default());
        assert!(out.iter().zip(0..).all(|(f, n)| f.number == n && f.bytes[20] == n as u8));
    }

    #[test]
    fn every_fault_happens_and_the_sum_is_right() {
        let ppm = 100_000;
        let rates = FaultRates {
            loss_ppm: ppm,
            duplicate_ppm: ppm,
            corrupt_ppm: ppm,
            reorder_ppm: ppm,
            truncate_ppm: ppm,
        };
        let (out, counts) = run(rates, 2000);
        let all =
            [counts.lost, counts.duplicated, counts.corrupted, counts.reordered, counts.truncated];
        assert!(all.iter().all(|n| (120..280).contains(n)), "{counts:?}");
        assert_eq!(out.len() as u64, 2000 - counts.lost + counts.duplicated);
        assert!(out.iter().zip(0..).all(|(frame, n)| frame.number == n));
        assert_eq!(run(rates, 2000), (out, counts));
    }

    #[test]
    fn one_rate_does_not_move_the_faults_of_another() {
        let loss = FaultRates { loss_ppm: 50_000, ..FaultRates::default() };
        let both = FaultRates { duplicate_ppm: 50_000, ..loss };
        assert_eq!(run(loss, 1000).1.lost, run(both, 1000).1.lost);
    }
}
