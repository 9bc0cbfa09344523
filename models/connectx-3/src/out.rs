//! What waits for the bus, and which reads are under way.

use crate::hca::Purpose;
use pollproof_events::What;
use pollproof_pcie::{Outbound, Payload};
use pollproof_regs::mlx4::cqe;
use std::collections::VecDeque;

/// Why the device reads memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Producer counter of a ring; covers frames that arrived before number `covers`.
    RqRecord { rqn: u32, epoch: u32, covers: u64 },
    /// WQEs of a ring from counter `start` on.
    Wqe { rqn: u32, epoch: u32, start: u16, count: u16 },
    /// Consumer index of a CQ, for the frame that arrived as number `arrival`.
    CqRecord { cqn: u32, epoch: u32, arrival: u64 },
    /// Arm word of a CQ.
    CqArm { cqn: u32, epoch: u32 },
    /// Something that the function around the engines wants.
    Hca(Purpose),
}

enum Item {
    Out(Outbound),
    /// The completion of a frame: with it the frame has left the device.
    Completion(Outbound),
    /// Owner words of a new queue, made one by one when popped.
    Fill {
        addr: u64,
        stride_bytes: u32,
        left: u32,
        what: What,
    },
}

#[derive(Default)]
struct Slot {
    generation: u16,
    read: Option<Read>,
}

/// Requests in order, and open reads by tag.
#[derive(Default)]
pub(crate) struct Out {
    items: VecDeque<Item>,
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// Frames whose completion still waits for the bus.
    pub(crate) completions: u64,
    /// Messages that wait for the bus.
    messages: usize,
    /// Requests that came so far; an owner fill is one.
    pushed: u64,
}

impl Out {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Requests that came so far.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Requests that have left so far.
    pub(crate) fn popped(&self) -> u64 {
        self.pushed - self.items.len() as u64
    }

    fn push(&mut self, item: Item) {
        self.pushed += 1;
        self.items.push_back(item);
    }

    pub(crate) fn write(&mut self, addr: u64, payload: Payload, what: What) {
        self.push(Item::Out(Outbound::DmaWrite { addr, payload, what }));
    }

    pub(crate) fn complete(&mut self, addr: u64, payload: Payload) {
        self.completions += 1;
        let out = Outbound::DmaWrite { addr, payload, what: What::Cqe };
        self.push(Item::Completion(out));
    }

    pub(crate) fn msix(&mut self, vector: u32) {
        self.messages += 1;
        self.push(Item::Out(Outbound::Msix { vector }));
    }

    /// Sets the owner bit in the last word of each of `count` entries.
    pub(crate) fn fill_owner(&mut self, buf: u64, stride_bytes: u32, count: u32, what: What) {
        let addr = buf + u64::from(stride_bytes) - 4;
        self.push(Item::Fill { addr, stride_bytes, left: count, what });
    }

    /// Queues a read; false when too many are open.
    pub(crate) fn read(&mut self, addr: u64, len: u32, what: What, read: Read) -> bool {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() <= usize::from(u16::MAX) => {
                self.slots.push(Slot::default());
                (self.slots.len() - 1) as u16
            }
            None => return false,
        };
        let entry = &mut self.slots[usize::from(slot)];
        entry.generation = entry.generation.wrapping_add(1);
        entry.read = Some(read);
        // The uppermost bit is for parts of reads.
        let tag = u32::from(entry.generation & 0x7fff) << 16 | u32::from(slot);
        self.push(Item::Out(Outbound::DmaRead { tag, addr, len, what }));
        true
    }

    /// Closes the read of `tag`.
    pub(crate) fn take_read(&mut self, tag: u32) -> Option<Read> {
        let slot = tag as u16;
        let entry = self.slots.get_mut(usize::from(slot))?;
        if u32::from(entry.generation & 0x7fff) != tag >> 16 {
            return None;
        }
        let read = entry.read.take()?;
        self.free.push(slot);
        Some(read)
    }

    /// What the read of `tag` is for.
    pub(crate) fn peek_read(&self, tag: u32) -> Option<Read> {
        let entry = self.slots.get(usize::from(tag as u16))?;
        entry.read.filter(|_| u32::from(entry.generation & 0x7fff) == tag >> 16)
    }

    /// The next request where it waits; none when it is made as it is popped, or when a message is
    /// among those that wait: the table tells of it when it goes onto the bus.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Outbound> {
        match self.items.front().filter(|_| self.messages == 0)? {
            Item::Completion(out) | Item::Out(out) => Some(out),
            Item::Fill { .. } => None,
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Outbound> {
        if let Some(Item::Fill { addr, stride_bytes, left, what }) = self.items.front_mut() {
            let payload = Payload::copy(&cqe::OWNER.to_be_bytes());
            let out = Outbound::DmaWrite { addr: *addr, payload, what: *what };
            *addr += u64::from(*stride_bytes);
            *left -= 1;
            if *left == 0 {
                self.items.pop_front();
            }
            return Some(out);
        }
        match self.items.pop_front()? {
            Item::Completion(out) => {
                self.completions -= 1;
                Some(out)
            }
            Item::Out(out) => {
                self.messages -= usize::from(matches!(out, Outbound::Msix { .. }));
                Some(out)
            }
            Item::Fill { .. } => None,
        }
    }
}
