//! Rings as they can be watched from outside: what Linux does to a ring shows in its registers and
//! in memory alone, so that the events a driver of ours emits are made here.
//!
//! A ring begins with its queue's ENABLE; what the driver gave away is what lies between two writes
//! of its tail; what came back of a transmit ring is what the device's head has passed. Not seen:
//! who owns a buffer, and when the driver takes a completed descriptor.

use crate::nic::{Nic, RingView};
use pollproof_events::{emit, Event, TailRing};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Ring {
    entries: u32,
    tail: u32,
    head: u32,
}

/// Rings by the offset of their tail.
#[derive(Debug, Default)]
pub(super) struct Watch {
    rings: BTreeMap<u64, Ring>,
}

impl Watch {
    /// The driver is about to write a register.
    pub(super) fn before_write<N: Nic>(&mut self, nic: &N, bar: u8, offset: u64, value: u32) {
        if let Some(view) = nic.ring_of_tail(bar, offset) {
            self.tail_moves(&view, value);
        }
    }

    /// A register write is about to reach the device.
    pub(super) fn before_delivery<N: Nic>(&mut self, nic: &N, bar: u8, offset: u64, value: u32) {
        if let Some(view) = nic.ring_enabled_by(bar, offset, value) {
            self.begin(bar, &view);
        }
    }

    fn begin(&mut self, bar: u8, view: &RingView) {
        if view.entries == 0 {
            return;
        }
        let ring = Ring { entries: view.entries, tail: 0, head: 0 };
        self.rings.insert(view.tail, ring);
        let (tail, entries) = (view.tail, view.entries);
        emit(Event::TailRing(TailRing { bar, tail, entries, cq: view.receive_queue }));
    }

    fn tail_moves(&mut self, view: &RingView, to: u32) {
        let tail = view.tail;
        let Some(ring) = self.rings.get_mut(&tail) else { return };
        if view.receive_queue.is_none() && view.head < ring.entries {
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
            emit(Event::Descriptor { tail, index: ring.tail, buf: 0 });
            ring.tail = (ring.tail + 1) % ring.entries;
        }
    }
}
