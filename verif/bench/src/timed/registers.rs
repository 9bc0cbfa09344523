//! Registers and commands: what goes from a CPU to the device.

use super::world::{Sparse, World};
use super::{Device, Nic};
use pollproof_pcie::{PostedQueue, PostedWrite};

impl<N: Nic> World<N> {
    /// A CPU writes a register.
    pub fn post(&mut self, bar: u8, offset: u64, value: u64, bytes: u8) {
        self.counts.mmio_writes += 1;
        self.charge(self.counts.costs_ps.mmio_write);
        let (cpu, local_ps) = (self.running.unwrap_or(0), self.local_ps.max(self.now_ps));
        let Some(queue) = self.posted.get_mut(cpu as usize) else { return };
        let pushed_out = queue.post(local_ps, bar, offset, value, bytes);
        // The newest is due last.
        let due_ps = local_ps.saturating_add(self.link.params().latency_ps);
        self.push(due_ps, Sparse::Posted { cpu });
        if let Some(write) = pushed_out {
            self.deliver(write);
        }
    }

    pub fn deliver(&mut self, write: PostedWrite) {
        if self.removed {
            return;
        }
        self.device.set_time(self.now_ps);
        match write.bytes {
            8 => self.device.mmio_write64(write.bar, write.offset, write.value),
            _ => self.device.mmio_write32(write.bar, write.offset, write.value as u32),
        }
        self.drain();
    }

    /// A CPU reads a register: its earlier writes arrive first.
    pub fn read_register(&mut self, bar: u8, offset: u64) -> u32 {
        self.counts.mmio_reads += 1;
        self.deliver_due();
        self.flush(self.running.unwrap_or(0));
        self.charge(2 * self.link.params().latency_ps);
        if self.removed {
            return u32::MAX;
        }
        self.device.set_time(self.now_ps);
        let value = self.device.mmio_read32(bar, offset);
        self.drain();
        value
    }

    /// Writes of other CPUs that are older than the running CPU's time arrive, although the world
    /// may not come up to it yet: what this CPU reads and writes is behind them.
    fn deliver_due(&mut self) {
        let now_ps = self.local_ps.max(self.now_ps);
        loop {
            let due = |queue: &PostedQueue| queue.next_due_ps().filter(|&ps| ps <= now_ps);
            let oldest = self.posted.iter().enumerate().filter_map(|(n, q)| Some((due(q)?, n)));
            let Some((_, cpu)) = oldest.min() else { return };
            let write = self.posted.get_mut(cpu).and_then(PostedQueue::pop);
            if let Some(write) = write {
                self.deliver(write);
            }
        }
    }

    fn flush(&mut self, cpu: u32) {
        while let Some(write) = self.posted.get_mut(cpu as usize).and_then(PostedQueue::pop) {
            self.deliver(write);
        }
    }

    /// A firmware command: what was written before reaches the device first, and what it asks for
    /// is done when the command is.
    pub fn command<R>(&mut self, command: impl FnOnce(&mut N::Device) -> R) -> R {
        self.flush(self.running.unwrap_or(0));
        self.settle();
        let result = command(&mut self.device);
        self.settle();
        result
    }
}
