//! What the datasheet leaves open about the 82599, or what differs between boards: parameters.
//!
//! A figure without a section is assumed. [`Params::zero`] is a device without time.

/// What is connected to the port, which decides the device id (9.3.2) and AUTOC (8.2.3.22.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Device 10F9: the link needs no help of the driver.
    Cx4,
    /// Device 10FB: an SFP+ cage, with a module in it or not.
    Sfp {
        /// Whether the module is there at power on.
        module: bool,
    },
}

/// When held transmit write-backs are flushed if the moderation count of the vector already stands
/// at 0 (7.2.3.4.2 speaks of expiry only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleWriteBack {
    /// At once.
    AtOnce,
    /// One interval after the first was held.
    OneInterval,
    /// With the next interrupt of the vector.
    Never,
}

/// Choices, sizes and times of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Connector.
    pub medium: Medium,
    /// Address that the EEPROM gives the port.
    pub mac: [u8; 6],
    /// Receive descriptors that a queue keeps on chip; at least 32.
    pub rx_cache: u32,
    /// Fetch ahead when fewer than this are on chip. The 82598 had a register for it.
    pub rx_pthresh: u32,
    /// Fetch ahead only when so many wait in memory.
    pub rx_hthresh: u32,
    /// Descriptors of one receive fetch.
    pub rx_fetch: u32,
    /// Transmit descriptors that a queue keeps on chip (Linux: PTHRESH + WTHRESH is at most 40).
    pub tx_cache: u32,
    /// Descriptors of one transmit fetch.
    pub tx_fetch: u32,
    /// Fetches of a queue that may be open at a time.
    pub fetches_in_flight: u32,
    /// Receive write-backs that wait for each other while frames are at hand; 1 is each alone.
    pub rx_wb_batch: u32,
    /// What becomes of held transmit write-backs when moderation is idle.
    pub tx_wb_idle: IdleWriteBack,
    /// Transmit packets whose data is being read at a time.
    pub tx_jobs: u32,
    /// Bytes of them.
    pub tx_job_bytes: u32,
    /// Sent frames that wait for whoever stands for the wire.
    pub wire_limit: usize,
    /// Requests that may wait for the bus before the engines stand.
    pub out_limit: usize,
    /// From the last bit of a frame to its first DMA write.
    pub rx_latency_ps: u64,
    /// A byte on the wire; 0 is a wire that takes no time.
    pub wire_byte_ps: u64,
    /// Bytes that a frame takes in the receive packet buffer beside its own.
    pub pb_overhead: u32,
    /// A step of EITR at 10G (8.2.3.5.12): 2 us, or 2.048 us as other sources have it.
    pub itr_step_ps: u64,
    /// Whether a cause that comes again while its bit is still set interrupts again.
    pub refire_while_set: bool,
    /// A cause that software sets can outlive its message (specification update, erratum 1, which
    /// says that it may; here it does whenever the mode allows it).
    pub eics_sticks: bool,
    /// Packets that wait for a paused partner or for the link keep the function busy on the bus,
    /// and their reports outlive a reset (specification update: it may be so).
    pub reset_leaves_reports: bool,
    /// From CTRL.RST or LNK_RST to its end (4.2.1.6.1); the driver waits 1 ms.
    pub reset_ps: u64,
    /// From the end of a reset, or from AN_RESTART, to link up.
    pub link_up_ps: u64,
    /// From ENABLE of a queue to reading it back as 1 (4.6.7, 4.6.8).
    pub queue_enable_ps: u64,
    /// Vectors are masked in the MSI-X table at reset (PCI 3.0, 6.8.2.9). A driver model without
    /// configuration space wants them open.
    pub msix_masked_at_reset: bool,
    /// Coalescing contexts on chip (7.11).
    pub rsc_contexts: u32,
    /// Most bytes of an aggregate, headers included (7.11.5).
    pub rsc_max_bytes: u32,
    /// An aggregate that begins while moderation is idle waits RSC_DELAY for more; else it closes
    /// with its first packet (7.3.2.1.1 does not say).
    pub rsc_idle_waits: bool,
    /// A change of the IPv4 type of service closes an aggregate.
    pub rsc_tos_closes: bool,
    /// A change of the time to live closes an aggregate.
    pub rsc_ttl_closes: bool,
    /// Pure acknowledgements may open or join an aggregate although RSCACKDIS is 0.
    pub rsc_merges_acks: bool,
    /// A UDP checksum of 0 is told as an error (specification update, 82599 erratum).
    pub udp_zero_is_error: bool,
    /// Frames shorter than 60 bytes are taken as if padded, as captures hold them; else they are
    /// runts (RUC).
    pub pad_short: bool,
    /// Longest frame without FCS that the packet path can hold (15.5 KB, 1.3).
    pub max_frame: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            medium: Medium::Cx4,
            mac: [0x02, 0x1b, 0x21, 0x00, 0x00, 0x01],
            rx_cache: 64,
            rx_pthresh: 32,
            rx_hthresh: 1,
            rx_fetch: 16,
            tx_cache: 40,
            tx_fetch: 16,
            fetches_in_flight: 4,
            rx_wb_batch: 1,
            tx_wb_idle: IdleWriteBack::OneInterval,
            tx_jobs: 64,
            tx_job_bytes: 128 << 10,
            wire_limit: 1024,
            out_limit: 256,
            rx_latency_ps: 300_000,
            wire_byte_ps: 800,
            pb_overhead: 0,
            itr_step_ps: 2_000_000,
            refire_while_set: false,
            eics_sticks: false,
            reset_leaves_reports: true,
            reset_ps: 10_000_000,
            link_up_ps: 1_000_000_000,
            queue_enable_ps: 10_000_000,
            msix_masked_at_reset: true,
            rsc_contexts: 32,
            rsc_max_bytes: 65_535,
            rsc_idle_waits: true,
            rsc_tos_closes: true,
            rsc_ttl_closes: true,
            rsc_merges_acks: false,
            udp_zero_is_error: true,
            pad_short: false,
            max_frame: 15_872,
        }
    }
}

impl Params {
    /// No time, vectors open, short frames taken: for explored runs and for tests.
    pub fn zero() -> Self {
        Self {
            rx_latency_ps: 0,
            wire_byte_ps: 0,
            reset_ps: 0,
            link_up_ps: 0,
            queue_enable_ps: 0,
            msix_masked_at_reset: false,
            pad_short: true,
            ..Self::default()
        }
    }
}

/// What the device did, beside its own statistics registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames that came from the wire.
    pub port_frames: u64,
    /// Frames that were written to memory.
    pub rx_packets: u64,
    /// Dropped: bad on the wire, too short or too long.
    pub rx_bad: u64,
    /// Dropped: the receiver is off or the link is down.
    pub rx_off: u64,
    /// Dropped: pause frames that are not passed on.
    pub rx_pause: u64,
    /// Dropped by address or VLAN filters.
    pub rx_filtered: u64,
    /// Dropped: no room in the packet buffer (MPC).
    pub rx_missed: u64,
    /// Dropped: the queue is not enabled.
    pub rx_queue_off: u64,
    /// Dropped: no descriptor and DROP_EN (QPRDC).
    pub rx_no_descriptor: u64,
    /// Dropped: the ring can never hold it, or reset and disable took it.
    pub rx_lost: u64,
    /// Receive descriptors written back.
    pub rx_write_backs: u64,
    /// Aggregates that were closed.
    pub rsc_aggregates: u64,
    /// Frames in them.
    pub rsc_frames: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Transmit packets that could not be sent as asked.
    pub tx_bad: u64,
    /// Transmit write-backs: descriptors or heads.
    pub tx_write_backs: u64,
    /// MSI-X messages, pending ones included.
    pub msix: u64,
    /// Descriptor fetches.
    pub fetches: u64,
}

impl Stats {
    /// Frames from the wire that did not reach memory.
    pub fn rx_dropped(&self) -> u64 {
        self.rx_bad
            + self.rx_off
            + self.rx_pause
            + self.rx_filtered
            + self.rx_missed
            + self.rx_queue_off
            + self.rx_no_descriptor
            + self.rx_lost
    }
}
