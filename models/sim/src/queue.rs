//! What happens next: a bounded queue of events in order of (time, component, sequence).
//!
//! Events at the same time run in the order of their component and then of their pushes, so that a
//! run does not depend on how the heap moves things about.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names a pushed event, to cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    slot: u32,
    sequence: u64,
}

/// The limit of a queue was hit; the event was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event queue holds its limit of {limit} events")]
pub struct QueueFull {
    /// The limit.
    pub limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time_ps: u64,
    component: u32,
    sequence: u64,
    slot: u32,
}

/// Events in order. A cancelled event leaves its key behind until it comes up or until such keys
/// outnumber the events.
#[derive(Clone, Debug)]
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Key>>,
    slots: Vec<Option<(u64, T)>>,
    free: Vec<u32>,
    sequence: u64,
    limit: usize,
    len: usize,
}

impl<T> EventQueue<T> {
    /// An empty queue for at most `limit` events.
    pub fn new(limit: usize) -> Self {
        let limit = limit.min(u32::MAX as usize / 4);
        let (heap, slots, free) = (BinaryHeap::new(), Vec::new(), Vec::new());
        Self { heap, slots, free, sequence: 0, limit, len: 0 }
    }

    /// Events in the queue.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Time of the next event.
    pub fn peek_time(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(key)| key.time_ps)
    }

    /// Adds an event of a component.
    pub fn push(&mut self, time_ps: u64, component: u32, event: T) -> Result<Handle, QueueFull> {
        if self.len >= self.limit {
            return Err(QueueFull { limit: self.limit });
        }
        let sequence = self.sequence;
        self.sequence += 1;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                (self.slots.len() - 1) as u32
            }
        };
        self.slots[slot as usize] = Some((sequence, event));
        self.heap.push(Reverse(Key { time_ps, component, sequence, slot }));
        self.len += 1;
        Ok(Handle { slot, sequence })
    }

    /// Takes the next event: `(time_ps, component, event)`.
    pub fn pop(&mut self) -> Option<(u64, u32, T)> {
        let Reverse(key) = self.heap.pop()?;
        let event = self.take(key.slot, key.sequence)?;
        self.drop_dead();
        Some((key.time_ps, key.component, event))
    }

    /// Takes an event out; none when it was popped or cancelled already.
    pub fn cancel(&mut self, handle: Handle) -> Option<T> {
        let event = self.take(handle.slot, handle.sequence)?;
        if self.heap.len() > 2 * self.len + 64 {
            let slots = &self.slots;
            self.heap.retain(|Reverse(key)| is_alive(slots, key));
        } else {
            self.drop_dead();
        }
        Some(event)
    }

    fn take(&mut self, slot: u32, sequence: u64) -> Option<T> {
        let entry = self.slots.get_mut(slot as usize)?;
        if entry.as_ref()?.0 != sequence {
            return None;
        }
        let (_, event) = entry.take()?;
        self.free.push(slot);
        self.len -= 1;
        Some(event)
    }

    /// Keeps the top of the heap alive, so that it can be peeked at.
    fn drop_dead(&mut self) {
        while let Some(Reverse(key)) = self.heap.peek() {
            if is_alive(&self.slots, key) {
                break;
            }
            self.heap.pop();
        }
    }
}

fn is_alive<T>(slots: &[Option<(u64, T)>], key: &Key) -> bool {
    slots.get(key.slot as usize).and_then(Option::as_ref).is_some_and(|(s, _)| *s == key.sequence)
}
