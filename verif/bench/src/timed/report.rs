//! What a timed run gives.

use super::world::World;
use pollproof_mlx4::Mlx4Port;
use pollproof_netcore::Net;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// What happened in a timed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedReport {
    /// How it ended.
    pub ended: Ended,
    /// Simulated time until the last thing happened, picoseconds.
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
    /// Frames inside the device, or completed and not consumed.
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

    pub(super) fn new(
        world: &World,
        net: &Net,
        port: &Mlx4Port,
        (offered, wire): (u64, FaultCounts),
    ) -> Self {
        let (stats, counts) = (world.device.stats(), &world.counts);
        let queues = queues(world, port);
        let sum = |of: fn(&QueueReport) -> u64| queues.iter().map(of).sum::<u64>();
        let (packets, memory) = (sum(|q| q.packets), world.mem.counters());
        let ledger = &net.ledger;
        let free_ps = world.cpus.iter().map(|c| c.free_ps).max().unwrap_or(0);
        Self {
            ended: if world.is_quiet() { Ended::Drained } else { Ended::Stopped },
            duration_ps: world.now_ps.max(free_ps),
            steps: world.steps,
            offered,
            wire,
            frames_in: stats.port_frames,
            delivered: ledger.packets(),
            delivered_bytes: ledger.bytes(),
            drops: drops(world, packets.saturating_sub(ledger.packets())),
            held: world.device.held() + sum(|q| q.cqes).saturating_sub(packets),
            polls: sum(|q| q.polls),
            full_polls: sum(|q| q.full_polls),
            interrupts: sum(|q| q.interrupts),
            msix: stats.msix,
            cq_events: stats.fired,
            arms: stats.arms,
            stale_arms: stats.stale_arms,
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
            queues,
        }
    }
}

fn queues(world: &World, port: &Mlx4Port) -> Vec<QueueReport> {
    let states = port.ring_states();
    let queue = |(state, counts): (&pollproof_mlx4::RingState, &super::counts::QueueCounts)| {
        let cq = world.device.cq_view(state.cqn);
        QueueReport {
            cqes: cq.map_or(0, |cq| u64::from(cq.producer)),
            packets: counts.packets,
            polls: counts.polls,
            full_polls: counts.full_polls,
            interrupts: counts.interrupts,
        }
    };
    states.iter().zip(&world.counts.queues).map(queue).collect()
}

/// Drops of the device by counter, and of the driver, which drops what completed with an error.
fn drops(world: &World, driver: u64) -> BTreeMap<&'static str, u64> {
    let stats = world.device.stats();
    let all = [
        ("rx_fifo_overflow", stats.rx_fifo_overflow),
        ("rx_runt", stats.rx_runt),
        ("rx_jabber", stats.rx_jabber),
        ("rx_no_ring", stats.rx_no_ring),
        ("rx_out_of_buffer", stats.rx_out_of_buffer),
        ("rx_cq_overrun", stats.rx_cq_overrun),
        ("rx_cq_error", stats.rx_cq_error),
        ("rx_cqe_error", driver),
    ];
    all.into_iter().filter(|(_, count)| *count != 0).collect()
}
