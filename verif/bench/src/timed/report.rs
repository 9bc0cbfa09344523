//! What a timed run gives.

use super::world::World;
use super::{Device, Nic};
use pollproof_netcore::{Net, RxCosts};
use pollproof_wire::FaultCounts;
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing was left to do.
    Drained,
    /// At the time that the options give.
    Stopped,
}

/// Counts of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// Completions that the device wrote.
    pub cqes: u64,
    /// Packets that the driver took.
    pub packets: u64,
    /// Polls.
    pub polls: u64,
    /// Polls that used their whole weight.
    pub full_polls: u64,
    /// Interrupt handlers that ran.
    pub interrupts: u64,
    /// Packets that sockets took by themselves.
    pub cleaned: u64,
    /// Polls by sockets that found nothing.
    pub misses: u64,
    /// Polls that found the queue taken.
    pub yields: u64,
}

/// What happened in a timed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedReport {
    /// How it ended.
    pub ended: Ended,
    /// Simulated time from the opening of the port until the last thing happened, picoseconds.
    pub duration_ps: u64,
    /// Steps of the event loop.
    pub steps: u64,
    /// Frames that were sent, before faults.
    pub offered: u64,
    /// Faults on the wire.
    pub wire: FaultCounts,
    /// Frames that reached the port.
    pub frames_in: u64,
    /// Packets that reached a socket.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames that were dropped, by the name of the counter; none is 0.
    pub drops: BTreeMap<&'static str, u64>,
    /// Frames inside the device, completed and not consumed, or held by GRO.
    pub held: u64,
    /// Polls.
    pub polls: u64,
    /// Polls that used their whole weight.
    pub full_polls: u64,
    /// Interrupt handlers that ran.
    pub interrupts: u64,
    /// MSI-X messages.
    pub msix: u64,
    /// Completion events of CQs.
    pub cq_events: u64,
    /// Arm requests that the device accepted.
    pub arms: u64,
    /// Arm requests that were stale.
    pub stale_arms: u64,
    /// Register writes of the driver: doorbells, all of them.
    pub mmio_writes: u64,
    /// Register reads of the driver.
    pub mmio_reads: u64,
    /// DMA reads of the device.
    pub dma_reads: u64,
    /// Their bytes.
    pub dma_read_bytes: u64,
    /// DMA writes of the device.
    pub dma_writes: u64,
    /// Their bytes.
    pub dma_write_bytes: u64,
    /// Completions that the device wrote.
    pub cqes: u64,
    /// Refills that posted or tried to post.
    pub refills: u64,
    /// Packet buffers that were allocated.
    pub buf_allocs: u64,
    /// Allocations of packet buffers that failed.
    pub failed_allocs: u64,
    /// Times that `net_rx_action` stopped with work left.
    pub time_squeezes: u64,
    /// Timers that fired.
    pub timers_fired: u64,
    /// Packets that sockets took from queues by themselves (`LowLatencyRxPackets`).
    pub low_latency_packets: u64,
    /// Calls of the upper layer, each with one packet, merged or not.
    pub calls_up: u64,
    /// Packets that were merged into others.
    pub merged: u64,
    /// What it took to get packets up.
    pub costs: RxCosts,
    /// Each queue.
    pub queues: Vec<QueueReport>,
}

impl TimedReport {
    /// A count for each delivered packet; 0 without any.
    pub fn per_packet(&self, count: u64) -> f64 {
        if self.delivered == 0 {
            return 0.0;
        }
        count as f64 / self.delivered as f64
    }

    /// Frames that were dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }

    /// Delivered packets for each simulated second; 0 when no time passed.
    pub fn packets_per_s(&self) -> f64 {
        if self.duration_ps == 0 {
            return 0.0;
        }
        self.delivered as f64 * 1e12 / self.duration_ps as f64
    }

    /// Whether each frame that came in is delivered, dropped and counted, or still held.
    pub fn is_conserved(&self) -> bool {
        self.frames_in == self.delivered + self.dropped() + self.held
    }

    pub(super) fn new<N: Nic>(
        world: &World<N>,
        net: &Net,
        nic: &N,
        (offered, wire): (u64, FaultCounts),
    ) -> Self {
        let (parts, counts) = (nic.parts(world, net), &world.counts);
        let sum = |of: fn(&QueueReport) -> u64| parts.queues.iter().map(of).sum::<u64>();
        let memory = world.mem.counters();
        let ledger = &net.ledger;
        let free_ps = world.cpus.iter().map(|c| c.free_ps).max().unwrap_or(0);
        Self {
            ended: if world.is_quiet() { Ended::Drained } else { Ended::Stopped },
            duration_ps: world.now_ps.max(free_ps).saturating_sub(world.opened_ps),
            steps: world.steps,
            offered,
            wire,
            frames_in: parts.port_frames,
            delivered: ledger.packets(),
            delivered_bytes: ledger.bytes(),
            drops: parts.drops,
            held: world.device.held() + parts.queued + net.gro_held_all(),
            polls: parts.polls.0,
            full_polls: parts.polls.1,
            interrupts: counts.queues.iter().map(|q| q.interrupts).sum(),
            msix: parts.msix,
            cq_events: parts.cq_events,
            arms: parts.arms.0,
            stale_arms: parts.arms.1,
            mmio_writes: counts.mmio_writes,
            mmio_reads: counts.mmio_reads,
            dma_reads: counts.dma_reads,
            dma_read_bytes: counts.dma_read_bytes,
            dma_writes: counts.dma_writes,
            dma_write_bytes: counts.dma_write_bytes,
            cqes: sum(|q| q.cqes),
            refills: counts.refills,
            buf_allocs: memory.allocs,
            failed_allocs: memory.failed,
            time_squeezes: net.time_squeezes(),
            timers_fired: counts.timers_fired,
            low_latency_packets: net.low_latency_rx_packets(),
            calls_up: net.calls_up(),
            costs: net.rx_costs(),
            merged: ledger.packets().saturating_sub(net.calls_up()),
            queues: parts.queues,
        }
    }
}
