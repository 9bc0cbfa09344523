//! What waits for the bus, and which reads are under way.

use pollproof_events::What;
use pollproof_pcie::{Outbound, Payload};
use std::collections::VecDeque;

/// Why the device reads memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Descriptors of a ring, by the id of the fetch.
    Descriptors { is_tx: bool, queue: u32, id: u64 },
    /// Data of a transmit packet.
    TxData { job: u64, part: u32 },
    /// The engine that asked was reset.
    Abandoned,
}

#[derive(Default)]
struct Slot {
    generation: u16,
    read: Option<Read>,
}

/// Requests in order, and open reads by tag.
#[derive(Default)]
pub(crate) struct Out {
    items: VecDeque<Outbound>,
    slots: Vec<Slot>,
    free: Vec<u16>,
    open: usize,
}

/// Most reads that may be open.
const READS_MAX: usize = 32_768;

impl Out {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Reads that were queued and are not answered.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Whether one more read may be opened.
    pub(crate) fn can_read(&self) -> bool {
        self.open < READS_MAX
    }

    #[inline(always)]
    pub(crate) fn write(&mut self, addr: u64, payload: Payload, what: What) {
        self.items.push_back(Outbound::DmaWrite { addr, payload, what });
    }

    pub(crate) fn msix(&mut self, vector: u32) {
        self.items.push_back(Outbound::Msix { vector });
    }

    /// Queues a read; ask [`Self::can_read`] first.
    pub(crate) fn read(&mut self, addr: u64, len: u32, what: What, read: Read) {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(Slot::default());
                (self.slots.len() - 1) as u16
            }
        };
        let Some(entry) = self.slots.get_mut(usize::from(slot)) else { return };
        entry.generation = entry.generation.wrapping_add(1);
        entry.read = Some(read);
        self.open += 1;
        let tag = u32::from(entry.generation) << 16 | u32::from(slot);
        self.items.push_back(Outbound::DmaRead { tag, addr, len, what });
    }

    /// Closes the read of `tag`.
    pub(crate) fn take_read(&mut self, tag: u32) -> Option<Read> {
        let slot = tag as u16;
        let entry = self.slots.get_mut(usize::from(slot))?;
        if u32::from(entry.generation) != tag >> 16 {
            return None;
        }
        let read = entry.read.take()?;
        self.free.push(slot);
        self.open -= 1;
        Some(read)
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Outbound> {
        self.items.front()
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Outbound> {
        self.items.pop_front()
    }

    /// A reset: nothing that waits goes out, and nobody looks at what is under way.
    pub(crate) fn abandon(&mut self) {
        for item in std::mem::take(&mut self.items) {
            if let Outbound::DmaRead { tag, .. } = item {
                self.take_read(tag);
            }
        }
        for slot in &mut self.slots {
            slot.read = slot.read.map(|_| Read::Abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_forgets_what_waits_and_answers_to_what_is_under_way() {
        let mut out = Out::default();
        let read = Read::TxData { job: 1, part: 0 };
        out.read(0x100, 16, What::Data, read);
        let Some(Outbound::DmaRead { tag, .. }) = out.pop() else { panic!("a read") };
        out.read(0x200, 16, What::Data, read);
        out.msix(3);
        assert_eq!(out.open(), 2);
        out.abandon();
        assert_eq!((out.len(), out.open()), (0, 1));
        assert_eq!(out.take_read(tag), Some(Read::Abandoned));
        assert_eq!(out.take_read(tag), None);
        assert_eq!(out.open(), 0);
    }
}
