//! What can be chosen about the device, and what it counts.

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// From the last bit on the wire to the first write. Assumed.
    pub rx_latency_ps: u64,
    /// A timer quantum. Assumed; firmware tells it.
    pub quantum_ps: u64,
    /// Packets of one descriptor each that one event may tell of, 1 to 15.
    pub merge_max: u32,
    /// How long an event waits for another packet. Assumed.
    pub merge_ps: u64,
    /// Frames that wait for descriptors, all rings together.
    pub fifo_frames: usize,
    /// Longest frame.
    pub max_frame: u32,
    /// Descriptors that are fetched in one go.
    pub fetch: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rx_latency_ps: 500_000,
            quantum_ps: 1_000_000,
            merge_max: 8,
            merge_ps: 200_000,
            fifo_frames: 512,
            max_frame: 9216,
            fetch: 8,
        }
    }
}

impl Params {
    /// Nothing takes time; an event that may be merged waits until time passes.
    pub fn zero() -> Self {
        Self { rx_latency_ps: 0, quantum_ps: 0, merge_ps: 0, merge_max: 1, ..Self::default() }
    }
}

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames that reached the port.
    pub port_frames: u64,
    /// Frames that were completed.
    pub rx_packets: u64,
    /// Too short, or too long.
    pub rx_bad_length: u64,
    /// No queue for it.
    pub rx_no_queue: u64,
    /// The port was full.
    pub rx_overflow: u64,
    /// No descriptor (`rx_nodesc_drops`).
    pub rx_nodesc: u64,
    /// No room for its event.
    pub rx_evq_full: u64,
    /// Events that told of more than one packet.
    pub merged_events: u64,
    /// Packets that they told of.
    pub merged_packets: u64,
    /// Packets that were given up half way.
    pub aborts: u64,
    /// Packets that were sent.
    pub tx_packets: u64,
    /// Messages.
    pub msix: u64,
    /// Writes of a read pointer.
    pub arms: u64,
    /// Whatever a driver must not do.
    pub misuse: u64,
}
