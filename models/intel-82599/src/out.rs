//! What waits for the bus, and which reads are under way.

use pollproof_events::What;
use pollproof_pcie::{Outbound, Payload, Ring};

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
    items: Ring<Outbound>,
    /// So many of them are on the bus.
    on_bus: usize,
    slots: Vec<Slot>,
    free: Vec<u16>,
    open: usize,
}

/// Most reads that may be open.
const READS_MAX: usize = 32_768;

impl Out {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.on_bus
    }

    /// Reads that were queued and are not answered.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Whether one more read may be opened.
    pub(crate) fn can_read(&self) -> bool {
        self.open < READS_MAX
    }

    /// Queues a write; its payload is made where it waits.
    #[inline(always)]
    pub(crate) fn write(&mut self, addr: u64, payload: impl FnOnce() -> Payload, what: What) {
        self.items.push_with(|| Outbound::DmaWrite { addr, payload: payload(), what });
    }

    pub(crate) fn msix(&mut self, vector: u32) {
        self.items.push_with(|| Outbound::Msix { vector });
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
        self.items.push_with(|| Outbound::DmaRead { tag, addr, len, what });
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

    /// The next request.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Outbound> {
        self.items.get(self.on_bus)
    }

    /// It was performed at once.
    #[inline]
    pub(crate) fn drop_front(&mut self) {
        if self.on_bus == 0 {
            self.items.drop_front();
        }
    }

    /// The next request leaves and stays where it is until it arrives; false when there is none.
    #[inline]
    pub(crate) fn depart(&mut self) -> bool {
        let is_there = self.on_bus < self.items.len();
        self.on_bus += usize::from(is_there);
        is_there
    }

    /// The request that left last.
    #[inline]
    pub(crate) fn departed(&self) -> Option<&Outbound> {
        self.items.get(self.on_bus.checked_sub(1)?)
    }

    /// The request that arrives next.
    #[inline]
    pub(crate) fn on_bus(&self) -> Option<&Outbound> {
        self.items.front().filter(|_| self.on_bus != 0)
    }

    /// It arrived.
    #[inline]
    pub(crate) fn arrived(&mut self) {
        if self.on_bus != 0 {
            self.on_bus -= 1;
            self.items.drop_front();
        }
    }

    /// Takes the next request out, when none is on the bus.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Outbound> {
        if self.on_bus != 0 {
            return None;
        }
        self.items.pop()
    }

    /// A reset: nothing that waits goes out, and nobody looks at what is under way.
    pub(crate) fn abandon(&mut self) {
        for n in self.on_bus..self.items.len() {
            if let Some(&Outbound::DmaRead { tag, .. }) = self.items.get(n) {
                self.take_read(tag);
            }
        }
        self.items.truncate(self.on_bus);
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

    #[test]
    fn what_is_on_the_bus_arrives_in_order_and_outlasts_a_reset() {
        let mut out = Out::default();
        (1..=3).for_each(|vector| out.msix(vector));
        let message = |vector| Some(&Outbound::Msix { vector }).cloned();
        assert!(out.depart() && out.depart());
        assert_eq!((out.len(), out.departed().cloned()), (1, message(2)));
        assert_eq!((out.on_bus().cloned(), out.front().cloned()), (message(1), message(3)));
        assert_eq!(out.pop(), None);
        out.abandon();
        out.msix(4);
        out.arrived();
        assert_eq!((out.on_bus().cloned(), out.front().cloned()), (message(2), message(4)));
        out.arrived();
        assert_eq!((out.on_bus(), out.len()), (None, 1));
        assert_eq!(out.pop(), message(4));
        assert!(!out.depart());
    }
}
