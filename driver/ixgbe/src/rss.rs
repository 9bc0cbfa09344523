//! Spreading over queues: `ixgbe_setup_mrqc`, `ixgbe_setup_reta`, `ixgbe_store_key` (6.12).

use crate::Adapter;
use pollproof_regs::ixgbe::{mrqc, rxcsum};
use pollproof_regs::ixgbe_map as map;

/// Key of the published RSS verification vectors, so that results can be checked by hand; Linux
/// draws one at random.
pub const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Entries of the table that leads from a hash to a queue.
const RETA_ENTRIES: u32 = 128;

/// The word of RETA with entries `first` to `first + 3`: queues in turn.
fn reta_word(first: u32, queues: u32) -> u32 {
    (0..4).fold(0, |word, n| word | ((first + n) % queues.max(1)) << (8 * n))
}

impl Adapter {
    /// Key, table, and what is hashed.
    pub(crate) fn setup_mrqc(&self) {
        let hw = &self.core.hw;
        let options = &self.core.options;
        // The hash takes the place of a checksum in the descriptor.
        hw.update(map::RXCSUM, rxcsum::PCSD, rxcsum::PCSD);
        for (n, bytes) in (0..).zip(options.rss_key.chunks_exact(4)) {
            let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            hw.write(map::RSSRK + 4 * n, word);
        }
        for first in (0..RETA_ENTRIES).step_by(4) {
            hw.write(map::RETA + first, reta_word(first, options.queues));
        }
        let udp = if options.rss_udp { mrqc::UDP4 | mrqc::UDP6 } else { 0 };
        let fields = mrqc::TCP4 | mrqc::IP4 | mrqc::TCP6 | mrqc::IP6 | udp;
        hw.write(map::MRQC, mrqc::MODE_RSS | fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_take_turns_in_the_table() {
        assert_eq!(reta_word(0, 16), 0x0302_0100);
        assert_eq!(reta_word(12, 16), 0x0f0e_0d0c);
        assert_eq!(reta_word(4, 3), 0x0100_0201);
        assert_eq!(reta_word(0, 1), 0);
    }
}
