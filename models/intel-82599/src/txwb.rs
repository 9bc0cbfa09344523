//! Transmit write-back of one queue: RS, WTHRESH, head write-back (7.2.3.4.2, 7.2.3.5).
//!
//! Only descriptors with RS are written back. WTHRESH 0 writes each at once; WTHRESH n writes when
//! n have come together, or when the vector's moderation lets it. With TDWBAL on, the head is
//! written instead and no descriptor is.

use pollproof_sync::switch::bug;
use std::collections::VecDeque;

/// A descriptor whose status was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Index in the ring.
    pub index: u32,
    /// What is written over it.
    pub bytes: [u8; 16],
}

/// Reports that wait for the threshold.
#[derive(Clone, Debug, Default)]
pub struct TxWriteBack {
    held: VecDeque<Report>,
    since_ps: u64,
}

impl TxWriteBack {
    /// A descriptor with RS is done; true when what is held is due.
    pub fn done(&mut self, report: Report, wthresh: u32, now_ps: u64) -> bool {
        if self.held.is_empty() {
            self.since_ps = now_ps;
        }
        self.held.push_back(report);
        let more = usize::from(bug("M-TX-WTHRESH"));
        self.held.len() >= wthresh.max(1) as usize + more
    }

    /// Takes all that is held, oldest first.
    pub fn flush(&mut self) -> VecDeque<Report> {
        std::mem::take(&mut self.held)
    }

    /// Since when the oldest is held.
    pub fn since_ps(&self) -> Option<u64> {
        (!self.held.is_empty()).then_some(self.since_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_wait_for_the_threshold() {
        let report = |index| Report { index, bytes: [0; 16] };
        let mut wb = TxWriteBack::default();
        assert!(wb.done(report(0), 0, 5));
        assert_eq!(wb.flush().len(), 1);
        assert!(!wb.done(report(1), 3, 6));
        assert!(!wb.done(report(2), 3, 7));
        assert_eq!(wb.since_ps(), Some(6));
        assert!(wb.done(report(3), 3, 8));
        let order: Vec<u32> = wb.flush().iter().map(|r| r.index).collect();
        assert_eq!((order, wb.since_ps()), (vec![1, 2, 3], None));
    }
}
