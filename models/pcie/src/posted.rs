//! Posted MMIO writes on their way from the CPU to the device.
//!
//! PCIe Base Specification 3.0, 2.4.1: posted requests do not pass each other, and a read request
//! does not pass a posted write, which is why a register read flushes.

use std::collections::VecDeque;

/// A register write in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostedWrite {
    /// When it reaches the device.
    pub due_ps: u64,
    /// BAR.
    pub bar: u8,
    /// Offset.
    pub offset: u64,
    /// Value.
    pub value: u64,
    /// 4 or 8 bytes.
    pub bytes: u8,
}

/// Posted writes in order.
#[derive(Clone, Debug)]
pub struct PostedQueue {
    queue: VecDeque<PostedWrite>,
    latency_ps: u64,
    limit: usize,
}

impl PostedQueue {
    /// An empty queue for at most `limit` writes; the limit stands for posted credits.
    pub fn new(latency_ps: u64, limit: usize) -> Self {
        let limit = limit.max(1);
        Self { queue: VecDeque::with_capacity(limit.min(1024)), latency_ps, limit }
    }

    /// Posts a write at `now_ps`. When there is no room the CPU stalls until the oldest write has
    /// reached the device: that one is given back and must be delivered now.
    #[must_use = "the write that was pushed out must be delivered"]
    pub fn post(
        &mut self,
        now_ps: u64,
        bar: u8,
        offset: u64,
        value: u64,
        bytes: u8,
    ) -> Option<PostedWrite> {
        let out = if self.queue.len() >= self.limit { self.queue.pop_front() } else { None };
        let due_ps = now_ps.saturating_add(self.latency_ps);
        let after_ps = self.queue.back().map_or(0, |last| last.due_ps);
        let due_ps = due_ps.max(after_ps);
        self.queue.push_back(PostedWrite { due_ps, bar, offset, value, bytes });
        out
    }

    /// When the next write reaches the device.
    pub fn next_due_ps(&self) -> Option<u64> {
        self.queue.front().map(|w| w.due_ps)
    }

    /// The next write, if it has reached the device by `now_ps`.
    pub fn pop_due(&mut self, now_ps: u64) -> Option<PostedWrite> {
        if self.next_due_ps()? <= now_ps {
            self.queue.pop_front()
        } else {
            None
        }
    }

    /// The next write whatever the time: a read flushes, an explored run has no time.
    pub fn pop(&mut self) -> Option<PostedWrite> {
        self.queue.pop_front()
    }

    /// Writes in flight.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no write is in flight.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_arrive_in_order_after_the_latency() {
        let mut q = PostedQueue::new(100, 8);
        assert!(q.post(0, 2, 0x20, 1, 8).is_none());
        assert!(q.post(10, 2, 0x24, 2, 4).is_none());
        assert_eq!(q.next_due_ps(), Some(100));
        assert!(q.pop_due(99).is_none());
        assert_eq!(q.pop_due(100).map(|w| w.value), Some(1));
        assert!(q.pop_due(109).is_none());
        assert_eq!(q.pop().map(|w| w.value), Some(2));
        assert!(q.is_empty());
    }

    #[test]
    fn a_full_queue_pushes_the_oldest_write_through() {
        let mut q = PostedQueue::new(100, 2);
        assert!(q.post(0, 0, 0, 1, 4).is_none());
        assert!(q.post(0, 0, 0, 2, 4).is_none());
        assert_eq!(q.post(0, 0, 0, 3, 4).map(|w| w.value), Some(1));
        assert_eq!(q.len(), 2);
    }
}
