//! What can be chosen about a timed run.

use super::{Ixgbe, Mlx4, Nic, Sfc};
use pollproof_connectx_3::Params;
use pollproof_hostmem::{Config, FailPlan};
use pollproof_ixgbe::{IxgbeOptions, QvLockForm};
use pollproof_mlx4::Mlx4Options;
use pollproof_netcore::{GroOptions, Keep, NetOptions, L1};
use pollproof_pcie::{LinkParams, GEN2_X8, GEN3_X8};
use pollproof_sfc::SfcOptions;
use pollproof_wire::{FaultRates, Pacing, FORTY_GIGABIT};

/// What driver code costs, nanoseconds. A CPU's time moves by these alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCosts {
    /// From the message's arrival at a free CPU to the end of the handler. Assumed.
    pub irq_ns: u64,
    /// Entering and leaving a softirq. Assumed.
    pub softirq_ns: u64,
    /// Each call of a poll method, packets apart. Assumed.
    pub poll_ns: u64,
    /// Each packet, from completion to socket. 208 ns are the 4.8 million packets a second that a
    /// core of Linux drops in its raw table, Høiland-Jørgensen et al., "The eXpress Data Path"
    /// (CoNEXT 2018), recalled.
    pub packet_ns: u64,
    /// A register write, as the CPU sees it. Assumed: a store to an uncached line.
    pub mmio_write_ns: u64,
}

impl Default for CpuCosts {
    fn default() -> Self {
        Self { irq_ns: 500, softirq_ns: 100, poll_ns: 150, packet_ns: 208, mmio_write_ns: 40 }
    }
}

impl CpuCosts {
    /// Driver code takes no time.
    pub const fn zero() -> Self {
        Self { irq_ns: 0, softirq_ns: 0, poll_ns: 0, packet_ns: 0, mmio_write_ns: 0 }
    }
}

/// `/proc/irq/N/smp_affinity` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffinityMove {
    /// When, picoseconds.
    pub at_ps: u64,
    /// Vector.
    pub vector: u32,
    /// CPU that it goes to.
    pub cpu: u32,
}

/// What a timed run is made of. The vector of queue n is bound to CPU `n % cpus`.
#[derive(Clone, Debug)]
pub struct Options<N: Nic> {
    /// Port, as its driver is told.
    pub nic: N::Driver,
    /// Network core and number of CPUs.
    pub net: NetOptions,
    /// Device; what it must have in common with the port follows the port's options.
    pub device: N::Params,
    /// Bus.
    pub link: LinkParams,
    /// Register writes of a CPU that may be under way. Assumed; stands for posted credits.
    pub posted_limit: usize,
    /// When frames arrive.
    pub pacing: Pacing,
    /// Faults on the wire.
    pub faults: FaultRates,
    /// Seed of all random streams.
    pub seed: u64,
    /// What driver code costs.
    pub costs: CpuCosts,
    /// Host memory.
    pub memory: Config,
    /// Buffer allocations that fail, counted from the run's first.
    pub fail_allocs: Option<FailPlan>,
    /// Changes of affinity.
    pub affinity_moves: Vec<AffinityMove>,
    /// Sockets poll the queue that they got a packet from for so long, microseconds, before they
    /// sleep (`net.core.low_latency_poll`); 0 is not at all. The port must allow it.
    pub busy_poll_us: u64,
    /// The run stops before anything later than this, picoseconds.
    pub stop_at_ps: Option<u64>,
    /// The run is given up after so many steps of the event loop.
    pub max_events: u64,
}

/// A timed run of mlx4.
pub type TimedOptions = Options<Mlx4>;
/// A timed run of ixgbe.
pub type IxgbeTimedOptions = Options<Ixgbe>;
/// A timed run of sfc.
pub type SfcTimedOptions = Options<Sfc>;

impl Default for Options<Mlx4> {
    /// One queue of mlx4_en as it comes, at 40 Gb/s line rate, on one CPU.
    fn default() -> Self {
        Self {
            nic: Mlx4Options::default(),
            net: NetOptions::default(),
            device: Params::default(),
            link: GEN3_X8,
            posted_limit: 64,
            pacing: Pacing::LineRate { bits_per_s: FORTY_GIGABIT },
            faults: FaultRates::default(),
            seed: 1,
            costs: CpuCosts::default(),
            memory: Config::default(),
            fail_allocs: None,
            affinity_moves: Vec::new(),
            busy_poll_us: 0,
            stop_at_ps: None,
            max_events: 4_000_000_000,
        }
    }
}

impl Options<Mlx4> {
    /// `rings` rings of `1 << log_ring_size` entries on `cpus` CPUs.
    pub fn with_rings(mut self, rings: u32, log_ring_size: u32, cpus: u32) -> Self {
        self.nic.rings = rings;
        self.nic.log_ring_size = log_ring_size;
        self.net.cpus = cpus;
        self
    }

    /// No latency anywhere: device, bus and CPU take no time.
    pub fn without_latencies(mut self) -> Self {
        self.device.rx_latency_ps = 0;
        self.link = LinkParams::zero();
        self.costs = CpuCosts::zero();
        self
    }
}

impl<N: Nic> Options<N> {
    /// The cache lines of packets that layers touch are counted, with a cache of the usual size.
    pub fn counting_lines(mut self) -> Self {
        self.net.l1 = Some(L1::default());
        self
    }

    /// Packets go through GRO.
    pub fn with_gro(mut self, gro: Option<GroOptions>) -> Self {
        self.net.gro = gro;
        self
    }

    /// Sockets keep the bytes of what arrives.
    pub fn keeping_bytes(mut self) -> Self {
        self.net.keep = Keep::Bytes;
        self
    }
}

impl Default for Options<Ixgbe> {
    /// One queue of ixgbe as it comes, frames to any address and of any length, at 10 Gb/s line
    /// rate, on one CPU.
    fn default() -> Self {
        let base = TimedOptions::default();
        let device = pollproof_intel_82599::Params {
            msix_masked_at_reset: false,
            ..pollproof_intel_82599::Params::default()
        };
        Self {
            nic: IxgbeOptions { promiscuous: true, max_frame: 9728, ..IxgbeOptions::default() },
            net: base.net,
            device,
            link: GEN2_X8,
            posted_limit: base.posted_limit,
            pacing: Pacing::LineRate { bits_per_s: TEN_GIGABIT },
            faults: base.faults,
            seed: base.seed,
            costs: base.costs,
            memory: base.memory,
            fail_allocs: None,
            affinity_moves: Vec::new(),
            busy_poll_us: 0,
            stop_at_ps: None,
            max_events: base.max_events,
        }
    }
}

impl Options<Ixgbe> {
    /// `queues` pairs of rings, receive rings of `ring_count` descriptors, on `cpus` CPUs.
    pub fn with_queues(mut self, queues: u32, ring_count: u32, cpus: u32) -> Self {
        self.nic.queues = queues;
        self.nic.rx_ring_count = ring_count;
        self.net.cpus = cpus;
        self
    }

    /// Sockets poll for `us` microseconds before they sleep.
    pub fn busy_polling(mut self, us: u64) -> Self {
        self.busy_poll_us = us;
        self.nic.busy_poll_lock = (us > 0).then_some(QvLockForm::Cmpxchg);
        self
    }

    /// No latency anywhere: device, bus and CPU take no time.
    pub fn without_latencies(mut self) -> Self {
        self.device = pollproof_intel_82599::Params {
            pad_short: self.device.pad_short,
            ..pollproof_intel_82599::Params::zero()
        };
        self.link = LinkParams::zero();
        self.costs = CpuCosts::zero();
        self
    }
}

/// Bits of a second.
const TEN_GIGABIT: u64 = 10_000_000_000;

impl Default for Options<Sfc> {
    /// One channel of sfc as it comes, at 10 Gb/s line rate, on one CPU.
    fn default() -> Self {
        let base = TimedOptions::default();
        Self {
            nic: SfcOptions::default(),
            net: base.net,
            device: pollproof_solarflare_ef10::Params::default(),
            link: GEN3_X8,
            posted_limit: base.posted_limit,
            pacing: Pacing::LineRate { bits_per_s: TEN_GIGABIT },
            faults: base.faults,
            seed: base.seed,
            costs: base.costs,
            memory: base.memory,
            fail_allocs: None,
            affinity_moves: Vec::new(),
            busy_poll_us: 0,
            stop_at_ps: None,
            max_events: base.max_events,
        }
    }
}

impl Options<Sfc> {
    /// `channels` channels with receive rings of `entries` descriptors, on `cpus` CPUs.
    pub fn with_channels(mut self, channels: u32, entries: u32, cpus: u32) -> Self {
        self.nic.channels = channels;
        self.nic.rxq_entries = entries;
        self.net.cpus = cpus;
        self
    }
}
