//! What can be chosen about the device, and what it counts.

/// Moderation that mlx4_en asks for, packets (`MLX4_EN_RX_COAL_TARGET`).
pub const CQ_MAX_COUNT: u32 = 44;
/// Moderation that mlx4_en asks for, microseconds (`MLX4_EN_RX_COAL_TIME`).
pub const CQ_PERIOD_US: u32 = 16;

/// How the device learns that a CQ is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmSource {
    /// By the doorbell; the arm word of the record is not looked at.
    Doorbell,
    /// By the arm word of the doorbell record, read after each CQE write; doorbells are ignored.
    /// The PRM lets a device use either.
    Record,
    /// By the doorbell, which only says that the arm word of the record is to be read.
    RecordOnDoorbell,
}

/// Sizes and times of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// EQ numbers are below this.
    pub eqs: u32,
    /// CQ numbers are below this.
    pub cqs: u32,
    /// Receive queue numbers are below this.
    pub rqs: u32,
    /// UAR pages in BAR 2. A ConnectX-3 has 8 MiB and more.
    pub uar_pages: u32,
    /// Frames that the port holds.
    pub fifo_frames: usize,
    /// Bytes that the port holds. Assumed; the size is not public.
    pub fifo_bytes: usize,
    /// Longest frame without FCS; 9600 is the MTU that the firmware allows, plus headers.
    pub max_frame: u32,
    /// From the last bit of a frame to its first DMA write. Assumed from the minimal wire to
    /// memory time of about 1 us, of which PCIe is the larger part.
    pub rx_latency_ps: u64,
    /// Requests that may wait for the bus before the receive pipeline stalls.
    pub out_limit: usize,
    /// WQEs that a ring keeps fetched or in flight; at most 64. Assumed: enough to cover a read
    /// latency of 1 us at 14.88 million frames a second, twice over.
    pub prefetch_wqes: u32,
    /// Contiguous WQEs of one fetch. Assumed.
    pub fetch_wqes: u32,
    /// The producer record is read again when fewer WQEs than this are known; 0 is: when out.
    pub record_low_water: u32,
    /// How a CQ is armed.
    pub arm: ArmSource,
    /// From what makes an event of a CQ to its EQE. Assumed.
    pub event_delay_ps: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            eqs: 256,
            cqs: 1024,
            rqs: 1024,
            uar_pages: 2048,
            fifo_frames: 4096,
            fifo_bytes: 512 << 10,
            max_frame: 9622,
            rx_latency_ps: 300_000,
            out_limit: 256,
            prefetch_wqes: 32,
            fetch_wqes: 8,
            record_low_water: 16,
            arm: ArmSource::Doorbell,
            event_delay_ps: 0,
        }
    }
}

impl Params {
    /// No time, nothing done ahead: for explored runs.
    pub fn zero() -> Self {
        Self { rx_latency_ps: 0, record_low_water: 0, fifo_frames: 64, ..Self::default() }
    }
}

/// What the device counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames that reached the port.
    pub port_frames: u64,
    /// Frames that were completed into a CQ without error.
    pub rx_packets: u64,
    /// Their bytes.
    pub rx_bytes: u64,
    /// Dropped: the port had no room.
    pub rx_fifo_overflow: u64,
    /// Dropped: shorter than an Ethernet header.
    pub rx_runt: u64,
    /// Dropped: longer than [`Params::max_frame`].
    pub rx_jabber: u64,
    /// Dropped: no receive queue is started for it.
    pub rx_no_ring: u64,
    /// Dropped: the ring had no WQE.
    pub rx_out_of_buffer: u64,
    /// Dropped: its completion overran the CQ.
    pub rx_cq_overrun: u64,
    /// Dropped: its CQ had stopped.
    pub rx_cq_error: u64,
    /// Error completions: the WQE had too little room.
    pub rx_length_errors: u64,
    /// EQEs written.
    pub eqes: u64,
    /// EQEs lost.
    pub eq_overruns: u64,
    /// MSI-X messages.
    pub msix: u64,
    /// Arm requests that were accepted.
    pub arms: u64,
    /// Arm requests that were stale.
    pub stale_arms: u64,
    /// Completion events.
    pub fired: u64,
    /// Reads of doorbell records.
    pub record_reads: u64,
    /// Fetches of WQEs.
    pub wqe_fetches: u64,
    /// What the driver did wrong.
    pub misuse: u64,
}

impl Stats {
    /// Frames that were dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.rx_fifo_overflow
            + self.rx_runt
            + self.rx_jabber
            + self.rx_no_ring
            + self.rx_out_of_buffer
            + self.rx_cq_overrun
            + self.rx_cq_error
    }
}
