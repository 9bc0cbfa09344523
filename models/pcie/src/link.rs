//! Time that a link takes, and the order that it keeps.
//!
//! One lane each way: transfers queue behind each other, then fly for the latency. The figures are
//! parameters, not measurements of one machine: PCIe Base Specification for the raw rates,
//! Neugebauer et al., "Understanding PCIe performance for end host networking" (SIGCOMM 2018)
//! for latencies.

/// Parameters of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParams {
    /// One way, root complex and memory included.
    pub latency_ps: u64,
    /// Device to host, after line coding.
    pub to_host_bytes_per_s: u64,
    /// Host to device, after line coding.
    pub to_device_bytes_per_s: u64,
    /// Largest payload of one write or completion, bytes (`MAX_PAYLOAD_SIZE`).
    pub max_payload: u32,
    /// Largest read request, bytes (`MAX_READ_REQUEST_SIZE`).
    pub max_read_request: u32,
    /// Bytes of a TLP that are not payload: framing 2, sequence 2, header 12 to 16, LCRC 4, and
    /// some DLLP share.
    pub tlp_overhead: u32,
}

/// PCIe 3.0 x8, as a ConnectX-3 has it: 8 GT/s x 8 lanes x 128/130. A 64-byte DMA read takes about
/// 550 ns on servers of that time, which half is the latency here.
pub const GEN3_X8: LinkParams = LinkParams {
    latency_ps: 275_000,
    to_host_bytes_per_s: 7_876_923_076,
    to_device_bytes_per_s: 7_876_923_076,
    max_payload: 256,
    max_read_request: 512,
    tlp_overhead: 24,
};

/// PCIe 2.0 x8, as an 82599 has it: 5 GT/s x 8 lanes x 8/10.
pub const GEN2_X8: LinkParams = LinkParams {
    to_host_bytes_per_s: 4_000_000_000,
    to_device_bytes_per_s: 4_000_000_000,
    ..GEN3_X8
};

impl LinkParams {
    /// No time at all, for runs without a clock.
    pub const fn zero() -> Self {
        Self { latency_ps: 0, to_host_bytes_per_s: 0, to_device_bytes_per_s: 0, ..GEN3_X8 }
    }

    /// Whether nothing takes any time.
    pub fn is_instant(&self) -> bool {
        (self.latency_ps, self.to_host_bytes_per_s, self.to_device_bytes_per_s) == (0, 0, 0)
    }

    fn on_lane_ps(&self, bytes: u32, bytes_per_s: u64) -> u64 {
        if bytes_per_s == 0 {
            return 0;
        }
        let tlps = bytes.div_ceil(self.max_payload.max(1)).max(1);
        let total = u64::from(bytes) + u64::from(tlps) * u64::from(self.tlp_overhead);
        match total.checked_mul(1_000_000_000_000) {
            Some(scaled) => scaled / bytes_per_s,
            None => (u128::from(total) * 1_000_000_000_000 / u128::from(bytes_per_s)) as u64,
        }
    }

    /// Time that `bytes` of payload occupy the lane to the host.
    pub fn transfer_ps(&self, bytes: u32) -> u64 {
        self.on_lane_ps(bytes, self.to_host_bytes_per_s)
    }

    /// Time that `bytes` of payload occupy the lane to the device.
    pub fn to_device_ps(&self, bytes: u32) -> u64 {
        self.on_lane_ps(bytes, self.to_device_bytes_per_s)
    }
}

/// A link in use: when its lanes are free again.
///
/// Posted writes keep their order; a read request does not pass them, and neither does its
/// completion pass what went to the device before it (PCIe 3.0, 2.4.1, table 2-34).
#[derive(Clone, Debug)]
pub struct Link {
    params: LinkParams,
    to_host_free_ps: u64,
    to_device_free_ps: u64,
    /// Transfer times to the host that were worked out before, by length: divisions are slow.
    known: [(u32, u64); KNOWN],
}

/// Transfer times that are kept.
const KNOWN: usize = 32;

impl Link {
    /// An idle link.
    pub fn new(params: LinkParams) -> Self {
        let known = [(0, params.transfer_ps(0)); KNOWN];
        Self { params, to_host_free_ps: 0, to_device_free_ps: 0, known }
    }

    #[inline]
    fn transfer_ps(&mut self, bytes: u32) -> u64 {
        let known = &mut self.known[(bytes / 4) as usize % KNOWN];
        if known.0 != bytes {
            *known = (bytes, self.params.transfer_ps(bytes));
        }
        known.1
    }

    /// Its parameters.
    pub fn params(&self) -> &LinkParams {
        &self.params
    }

    /// Until when the lane to the host is taken.
    pub fn to_host_free_ps(&self) -> u64 {
        self.to_host_free_ps
    }

    /// A write of the device (or a message) that starts at `now_ps`: when it is visible in memory.
    pub fn write_ps(&mut self, now_ps: u64, bytes: u32) -> u64 {
        let start = now_ps.max(self.to_host_free_ps);
        self.to_host_free_ps = start.saturating_add(self.transfer_ps(bytes));
        self.to_host_free_ps.saturating_add(self.params.latency_ps)
    }

    /// A read of the device that starts at `now_ps`: when memory is read, and when the completion
    /// is back.
    pub fn read_ps(&mut self, now_ps: u64, bytes: u32) -> (u64, u64) {
        let requests = bytes.div_ceil(self.params.max_read_request.max(1)).max(1);
        let start = now_ps.max(self.to_host_free_ps);
        let lane_ps = self.transfer_ps(0).saturating_mul(u64::from(requests));
        self.to_host_free_ps = start.saturating_add(lane_ps);
        let read_ps = self.to_host_free_ps.saturating_add(self.params.latency_ps);
        let start = read_ps.max(self.to_device_free_ps);
        self.to_device_free_ps = start.saturating_add(self.params.to_device_ps(bytes));
        (read_ps, self.to_device_free_ps.saturating_add(self.params.latency_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_payload_is_about_ninety_percent_efficient() {
        let ideal_ps = 256 * 1_000_000_000_000 / GEN3_X8.to_host_bytes_per_s;
        let real_ps = GEN3_X8.transfer_ps(256);
        assert_eq!(100 * ideal_ps / real_ps, 91);
        assert_eq!(LinkParams::zero().transfer_ps(1500), 0);
    }

    #[test]
    fn writes_keep_their_order_and_a_read_does_not_pass_them() {
        let mut link = Link::new(GEN3_X8);
        let first = link.write_ps(0, 1500);
        let second = link.write_ps(0, 64);
        assert!(first < second);
        let (read, back) = link.read_ps(0, 64);
        assert!(second <= read && read < back);
        assert!(link.write_ps(0, 4) > second);
    }

    #[test]
    fn absurd_parameters_do_no_harm() {
        let odd = LinkParams { max_payload: 0, max_read_request: 0, ..GEN3_X8 };
        assert!(odd.transfer_ps(100) > 0);
        let mut link = Link::new(odd);
        assert!(link.write_ps(u64::MAX, 100) == u64::MAX);
    }
}
