//! Rings as they can be watched from outside: what Linux does to a ring shows in its registers and
//! in memory alone, so that the events a driver of ours emits are made here.
//!
//! A ring begins with its queue's ENABLE; what the driver gave away is what lies between two writes
//! of its tail; what came back of a transmit ring is what the device's head has passed. A receive
//! buffer is the device's from the tail to the write-back of its descriptor. Not seen: whose it is
//! then, and when the driver takes a completed descriptor.

use crate::memory::SharedMemory;
use crate::nic::{Nic, RingView};
use pollproof_events::{emit, Event, Owner, TailRing};
use std::collections::BTreeMap;

const DESCRIPTOR_BYTES: u64 = 16;

#[derive(Clone, Debug)]
struct Ring {
    bar: u8,
    base: u64,
    entries: u32,
    tail: u32,
    head: u32,
    queue: Option<u32>,
    /// Buffer of each descriptor that the device has.
    buffers: BTreeMap<u32, u64>,
}

/// Rings by the offset of their tail.
#[derive(Debug, Default)]
pub(super) struct Watch {
    rings: BTreeMap<u64, Ring>,
}

impl Watch {
    /// The driver is about to write a register.
    pub(super) fn before_write<N: Nic>(
        &mut self,
        nic: &N,
        memory: &SharedMemory,
        bar: u8,
        offset: u64,
        value: u32,
    ) {
        if let Some(view) = nic.ring_of_tail(bar, offset) {
            self.tail_moves(memory, &view, value);
        }
    }

    /// A register write is about to reach the device.
    pub(super) fn before_delivery<N: Nic>(&mut self, nic: &N, bar: u8, offset: u64, value: u32) {
        if nic.is_reset_by(bar, offset, value) {
            self.end_all();
        } else if let Some(view) = nic.ring_disabled_by(bar, offset, value) {
            self.end(view.tail);
        } else if let Some(view) = nic.ring_enabled_by(bar, offset, value) {
            self.end(view.tail);
            self.begin(bar, &view);
        }
    }

    /// The device is about to write this place: a descriptor of a receive ring comes back.
    pub(super) fn before_write_back(&mut self, addr: u64) {
        for ring in self.rings.values_mut().filter(|ring| ring.queue.is_some()) {
            let Some(offset) = addr.checked_sub(ring.base) else { continue };
            let index = u32::try_from(offset / DESCRIPTOR_BYTES).unwrap_or(u32::MAX);
            if index < ring.entries {
                if let Some(buf) = ring.buffers.remove(&index) {
                    emit(Event::Own { buf, from: Owner::Device, to: Owner::Free });
                }
            }
        }
    }

    /// The device is reset, or gone: no queue is on.
    pub(super) fn end_all(&mut self) {
        let tails: Vec<u64> = self.rings.keys().copied().collect();
        tails.into_iter().for_each(|tail| self.end(tail));
    }

    fn begin(&mut self, bar: u8, view: &RingView) {
        if view.entries == 0 {
            return;
        }
        let (tail, entries) = (view.tail, view.entries);
        let (base, buffers, queue) = (view.base, BTreeMap::new(), view.receive_queue);
        let ring = Ring { bar, base, entries, tail: 0, head: 0, queue, buffers };
        self.rings.insert(tail, ring);
        emit(Event::TailRing(TailRing { bar, tail, entries, cq: queue }));
    }

    /// The queue is off: what it had is the driver's again, and its tail is no doorbell.
    fn end(&mut self, tail: u64) {
        let Some(ring) = self.rings.remove(&tail) else { return };
        let bar = ring.bar;
        for buf in ring.buffers.into_values() {
            emit(Event::Own { buf, from: Owner::Device, to: Owner::Free });
        }
        emit(Event::TailRing(TailRing { bar, tail, entries: ring.entries, cq: ring.queue }));
    }

    fn tail_moves(&mut self, memory: &SharedMemory, view: &RingView, to: u32) {
        let tail = view.tail;
        let Some(ring) = self.rings.get_mut(&tail) else { return };
        if ring.queue.is_none() && view.head < ring.entries {
            let count = (view.head + ring.entries - ring.head) % ring.entries;
            ring.head = view.head;
            if count != 0 {
                emit(Event::TxDone { tail, count });
            }
        }
        if to >= ring.entries {
            return;
        }
        while ring.tail != to {
            let index = ring.tail;
            let buf = if ring.queue.is_some() { ring.buffer(memory, index) } else { 0 };
            if buf != 0 {
                ring.buffers.insert(index, buf);
                emit(Event::Own { buf, from: Owner::Free, to: Owner::Device });
            }
            emit(Event::Descriptor { tail, index, buf });
            ring.tail = (index + 1) % ring.entries;
        }
    }
}

impl Ring {
    /// The buffer that the driver wrote into a descriptor; 0 when it can not be read.
    fn buffer(&self, memory: &SharedMemory, index: u32) -> u64 {
        let mut bytes = [0; 8];
        let at = self.base.wrapping_add(DESCRIPTOR_BYTES * u64::from(index));
        match memory.read(at, &mut bytes) {
            Ok(()) => u64::from_le_bytes(bytes),
            Err(_) => 0,
        }
    }
}
