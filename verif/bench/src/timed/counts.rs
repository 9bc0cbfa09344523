//! What is counted on the way, without events: a run without rules counts the same.

use super::{Nic, Options};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

/// Costs in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct CostsPs {
    pub irq: u64,
    pub softirq: u64,
    pub poll: u64,
    pub packet: u64,
    pub mmio_write: u64,
}

/// Counts of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    pub interrupts: u64,
    pub polls: u64,
    pub full_polls: u64,
    pub packets: u64,
}

pub struct Counts {
    pub costs_ps: CostsPs,
    pub mmio_writes: u64,
    pub mmio_reads: u64,
    pub dma_reads: u64,
    pub dma_read_bytes: u64,
    pub dma_writes: u64,
    pub dma_write_bytes: u64,
    pub refills: u64,
    pub timers_fired: u64,
    pub queues: Vec<QueueCounts>,
    first_vector: u32,
    weight: u64,
    /// Queue that is polled, and packets so far.
    polled: Option<u32>,
    in_poll: u64,
    /// Buffers were allocated and not announced yet: the next marked store counts. A driver that
    /// has its memory mapped looks here.
    pub refilling: Arc<AtomicBool>,
}

impl Counts {
    pub fn new<N: Nic>(options: &Options<N>) -> Self {
        let shape = N::shape(&options.nic);
        let costs = options.costs;
        let ps = |ns: u64| ns.saturating_mul(1000);
        Self {
            costs_ps: CostsPs {
                irq: ps(costs.irq_ns),
                softirq: ps(costs.softirq_ns),
                poll: ps(costs.poll_ns),
                packet: ps(costs.packet_ns),
                mmio_write: ps(costs.mmio_write_ns),
            },
            mmio_writes: 0,
            mmio_reads: 0,
            dma_reads: 0,
            dma_read_bytes: 0,
            dma_writes: 0,
            dma_write_bytes: 0,
            refills: 0,
            timers_fired: 0,
            queues: vec![QueueCounts::default(); shape.queue_vectors.min(2048) as usize],
            first_vector: shape.first_vector,
            weight: u64::try_from(shape.weight).unwrap_or(0),
            polled: None,
            in_poll: 0,
            refilling: Arc::new(AtomicBool::new(false)),
        }
    }

    /// What opening took does not count.
    pub fn forget_opening(&mut self) {
        (self.mmio_writes, self.mmio_reads) = (0, 0);
        (self.dma_reads, self.dma_read_bytes) = (0, 0);
        (self.dma_writes, self.dma_write_bytes) = (0, 0);
        self.timers_fired = 0;
    }

    pub fn dma_write(&mut self, bytes: usize) {
        self.dma_writes += 1;
        self.dma_write_bytes += bytes as u64;
    }

    pub fn dma_read(&mut self, bytes: usize) {
        self.dma_reads += 1;
        self.dma_read_bytes += bytes as u64;
    }

    pub fn interrupt(&mut self, vector: u32) {
        let queue = vector.wrapping_sub(self.first_vector);
        if let Some(queue) = self.queues.get_mut(queue as usize) {
            queue.interrupts += 1;
        }
    }

    /// Contexts are numbered as queues are opened.
    pub fn poll_begins(&mut self, napi: u32) {
        self.poll_ends();
        self.polled = Some(napi);
        if let Some(queue) = self.queues.get_mut(napi as usize) {
            queue.polls += 1;
        }
    }

    /// The poll is over: when the next begins, or the CPU is done.
    pub fn poll_ends(&mut self) {
        let done = std::mem::take(&mut self.in_poll);
        let Some(napi) = self.polled.take() else { return };
        if let Some(queue) = self.queues.get_mut(napi as usize) {
            queue.packets += done;
            queue.full_polls += u64::from(done == self.weight);
        }
    }

    pub fn packet(&mut self) {
        self.in_poll += 1;
    }

    /// A refill allocates buffers, then announces them in the ring's record by one store.
    pub fn allocates(&mut self) {
        self.refilling.store(true, Relaxed);
    }

    #[inline]
    pub fn stores(&mut self) {
        self.refills += u64::from(self.refilling.load(Relaxed));
        self.refilling.store(false, Relaxed);
    }
}
