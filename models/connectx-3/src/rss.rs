//! Toeplitz hash (Microsoft, "RSS hashing functions"), by table of nibbles.

use pollproof_regs::mlx4::RssContext;

/// Longest input: two IPv6 addresses and two ports.
pub(crate) const INPUT_MAX: usize = 36;

/// The hash of one key.
#[derive(Clone)]
pub struct Toeplitz {
    /// For each nibble of the input, high one first, its share of the hash.
    table: Box<[[u32; 16]; 2 * INPUT_MAX]>,
}

impl Toeplitz {
    /// The hash with this key.
    pub fn new(key: &[u8; 40]) -> Self {
        // 32 bits of the key from bit `at` on.
        let window = |at: usize| -> u32 {
            let bits = (0..5).fold(0u64, |bits, i| bits << 8 | u64::from(key[at / 8 + i]));
            (bits >> (8 - at % 8)) as u32
        };
        let mut table = Box::new([[0; 16]; 2 * INPUT_MAX]);
        for (nibble, row) in table.iter_mut().enumerate() {
            for (value, hash) in row.iter_mut().enumerate() {
                let set = (0..4).filter(|bit| value & (8 >> bit) != 0);
                *hash = set.fold(0, |hash, bit| hash ^ window(4 * nibble + bit));
            }
        }
        Self { table }
    }

    /// The hash of `input`, of which at most 36 bytes count.
    #[inline]
    pub fn hash(&self, input: &[u8]) -> u32 {
        let rows = self.table.chunks_exact(2);
        input.iter().zip(rows).fold(0, |hash, (byte, row)| {
            hash ^ row[0][usize::from(byte >> 4)] ^ row[1][usize::from(byte & 15)]
        })
    }
}

/// Where a hash leads.
#[derive(Clone)]
pub(crate) struct Rss {
    pub(crate) context: RssContext,
    pub(crate) toeplitz: Toeplitz,
}

impl Rss {
    pub(crate) fn new(context: RssContext) -> Self {
        Self { toeplitz: Toeplitz::new(&context.key), context }
    }

    /// Ring of a hash: its low bits (`base_qpn` holds log2 of the rings, `en_rx.c`).
    pub(crate) fn ring(&self, hash: u32) -> u32 {
        self.context.base_rqn + (hash & ((1 << self.context.log_queues) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key and vectors of Microsoft's "Verifying the RSS hash calculation".
    const KEY: [u8; 40] = [
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f,
        0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
        0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
    ];

    #[test]
    fn the_ipv4_vectors_of_microsoft_hold() {
        let cases = [
            ([66, 9, 149, 187], 2794, [161, 142, 100, 80], 1766, 0x323e_8fc2, 0x51cc_c178),
            ([199, 92, 111, 2], 14230, [65, 69, 140, 83], 4739, 0xd718_262a, 0xc626_b0ea),
            ([24, 19, 198, 95], 12898, [12, 22, 207, 184], 38024, 0xd2d0_a5de, 0x5c2b_394a),
            ([38, 27, 205, 30], 48228, [209, 142, 163, 6], 2217, 0x8298_9176, 0xafc7_327f),
            ([153, 39, 163, 191], 44251, [202, 188, 127, 2], 1303, 0x5d18_09c5, 0x10e8_28a2),
        ];
        let hash = Toeplitz::new(&KEY);
        for (from, sport, to, dport, ip, tcp) in cases {
            let (from, to): ([u8; 4], [u8; 4]) = (from, to);
            let mut input = [from, to].concat();
            assert_eq!(hash.hash(&input), ip);
            input.extend(u16::to_be_bytes(sport));
            input.extend(u16::to_be_bytes(dport));
            assert_eq!(hash.hash(&input), tcp);
        }
    }

    #[test]
    fn the_ipv6_vectors_of_microsoft_hold() {
        let cases = [
            ("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc1_8cd5, 0x4020_7d3d),
            ("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c_461c, 0xdde5_1bbf),
            (
                "3ffe:1900:4545:3:200:f8ff:fe21:67cf",
                44251,
                "fe80::200:f8ff:fe21:67cf",
                38024,
                0x4b61_e985,
                0x02d1_feef,
            ),
        ];
        let hash = Toeplitz::new(&KEY);
        for (from, sport, to, dport, ip, tcp) in cases {
            let octets = |a: &str| a.parse::<std::net::Ipv6Addr>().expect("an address").octets();
            let mut input = [octets(from), octets(to)].concat();
            assert_eq!(hash.hash(&input), ip);
            input.extend(u16::to_be_bytes(sport));
            input.extend(u16::to_be_bytes(dport));
            assert_eq!(hash.hash(&input), tcp);
        }
    }
}
