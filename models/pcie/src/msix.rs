//! MSI-X table and pending bits (PCI Local Bus Specification 3.0, 6.8.2).
//!
//! Not modelled: message address and data (a vector is its index), the function mask, and the
//! table as memory of a BAR.

use pollproof_events::{emit, Event};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    masked: bool,
    pending: bool,
}

/// The table of one function.
#[derive(Clone, Debug)]
pub struct MsixTable {
    entries: Vec<Entry>,
}

impl MsixTable {
    /// A table with all vectors unmasked, as the kernel leaves them after `request_irq`.
    pub fn new(vectors: u32) -> Self {
        Self { entries: vec![Entry::default(); vectors.min(2048) as usize] }
    }

    /// Number of vectors; at most 2048.
    pub fn vectors(&self) -> u32 {
        self.entries.len() as u32
    }

    fn entry(&mut self, vector: u32) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(vector as usize);
        if entry.is_none() {
            emit(Event::DeviceMisuse { why: "no such MSI-X vector", at: u64::from(vector) });
        }
        entry
    }

    /// Masks a vector: messages become pending.
    #[track_caller]
    pub fn mask(&mut self, vector: u32) {
        if let Some(entry) = self.entry(vector) {
            entry.masked = true;
        }
    }

    /// Unmasks a vector; true when a pending message is sent now.
    #[track_caller]
    pub fn unmask(&mut self, vector: u32) -> bool {
        let Some(entry) = self.entry(vector) else { return false };
        entry.masked = false;
        let sent = std::mem::take(&mut entry.pending);
        if sent {
            emit(Event::Msix { vector, delivered: true });
        }
        sent
    }

    /// The function sends a message; true when it reaches the CPU, false when it became pending.
    #[track_caller]
    pub fn send(&mut self, vector: u32) -> bool {
        let Some(entry) = self.entry(vector) else { return false };
        let delivered = !entry.masked;
        entry.pending |= entry.masked;
        emit(Event::Msix { vector, delivered });
        delivered
    }

    /// Whether a message waits for the vector to be unmasked.
    pub fn pending(&self, vector: u32) -> bool {
        self.entries.get(vector as usize).is_some_and(|e| e.pending)
    }

    /// Whether the vector is masked.
    pub fn masked(&self, vector: u32) -> bool {
        self.entries.get(vector as usize).is_some_and(|e| e.masked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_vector_keeps_one_message_pending() {
        let mut table = MsixTable::new(2);
        assert!(table.send(1));
        table.mask(1);
        assert!(!table.send(1));
        assert!(!table.send(1));
        assert!(table.pending(1) && table.masked(1));
        assert!(table.unmask(1));
        assert!(!table.unmask(1));
        assert!(table.send(0));
    }

    #[test]
    fn an_unknown_vector_is_reported_and_ignored() {
        let mut table = MsixTable::new(1);
        let (_, events) = pollproof_events::record(|| {
            table.mask(7);
            assert!(!table.unmask(7));
            assert!(!table.send(7));
        });
        assert_eq!(events.len(), 3);
        assert!(!table.pending(7));
    }
}
