//! When frames arrive.

use crate::Packet;

/// 10 Gb/s.
pub const TEN_GIGABIT: u64 = 10_000_000_000;
/// 40 Gb/s.
pub const FORTY_GIGABIT: u64 = 40_000_000_000;
/// Bytes of a frame on the wire that are not in it: preamble 8, gap 12, FCS 4 (IEEE 802.3).
pub const OVERHEAD_BYTES: u64 = 24;
/// Shortest frame without FCS; shorter ones are padded on the wire.
const FRAME_MIN_BYTES: u64 = 60;

/// Gap between frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// As the capture says; a time that goes back counts as the time before.
    AsCaptured,
    /// One after the other at this rate.
    LineRate {
        /// Bits a second.
        bits_per_s: u64,
    },
    /// One each `gap_ps`.
    Fixed {
        /// Start to start.
        gap_ps: u64,
    },
}

/// Time that a frame of `len` bytes (without FCS) takes on the wire, up to the next preamble.
pub fn slot_ps(len: usize, bits_per_s: u64) -> u64 {
    let bits = 8 * ((len as u64).max(FRAME_MIN_BYTES) + OVERHEAD_BYTES);
    let scaled = u128::from(bits) * 1_000_000_000_000;
    u64::try_from(scaled / u128::from(bits_per_s.max(1))).unwrap_or(u64::MAX)
}

/// Gives each frame its time of arrival: when its last bit is in.
#[derive(Clone, Debug)]
pub struct Arrivals {
    pacing: Pacing,
    first_ns: Option<u64>,
    last_ps: u64,
}

impl Arrivals {
    /// Arrivals from time 0 on.
    pub fn new(pacing: Pacing) -> Self {
        Self { pacing, first_ns: None, last_ps: 0 }
    }

    /// Time of arrival of the next packet.
    pub fn next_ps(&mut self, packet: &Packet) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(packet.time_ns);
        self.last_ps = match self.pacing {
            Pacing::AsCaptured => {
                let ps = packet.time_ns.saturating_sub(first_ns).saturating_mul(1000);
                ps.max(self.last_ps)
            }
            Pacing::LineRate { bits_per_s } => {
                self.last_ps.saturating_add(slot_ps(packet.bytes.len(), bits_per_s))
            }
            Pacing::Fixed { gap_ps } => self.last_ps.saturating_add(gap_ps),
        };
        self.last_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn packet(time_ns: u64, len: usize) -> Packet {
        Packet { time_ns, bytes: Arc::from(vec![0; len]) }
    }

    #[test]
    fn slots_agree_with_the_table_of_line_rates() {
        // Frame with FCS, nanoseconds at 10 Gb/s: 14.88 Mpps for the shortest.
        for (frame, ns_x10) in [(64, 672), (128, 1184), (1518, 12304), (9018, 72304)] {
            assert_eq!(slot_ps(frame - 4, TEN_GIGABIT), ns_x10 * 100);
            assert_eq!(slot_ps(frame - 4, FORTY_GIGABIT), ns_x10 * 25);
        }
        assert_eq!(slot_ps(14, TEN_GIGABIT), slot_ps(60, TEN_GIGABIT));
    }

    #[test]
    fn each_pacing_gives_its_times() {
        let packets = [packet(1000, 60), packet(1500, 60), packet(1200, 60)];
        let times = |pacing| -> Vec<u64> {
            let mut arrivals = Arrivals::new(pacing);
            packets.iter().map(|p| arrivals.next_ps(p)).collect()
        };
        assert_eq!(times(Pacing::AsCaptured), [0, 500_000, 500_000]);
        assert_eq!(times(Pacing::Fixed { gap_ps: 7 }), [7, 14, 21]);
        let rate = Pacing::LineRate { bits_per_s: TEN_GIGABIT };
        assert_eq!(times(rate), [67_200, 134_400, 201_600]);
        assert_eq!(times(Pacing::LineRate { bits_per_s: 0 }).len(), 3);
    }
}
