//! Toeplitz hash and the queue that it leads to (7.1.2.8; Microsoft, "RSS hashing functions").

use crate::parse::{Headers, L4};
use pollproof_regs::ixgbe::mrqc;

/// Longest input: two IPv6 addresses and two ports.
const INPUT_MAX: usize = 36;

/// The hash of one key, by table of bytes.
#[derive(Clone, Debug)]
pub struct Toeplitz {
    /// For each byte of the input its share of the hash.
    table: Vec<[u32; 256]>,
}

impl Toeplitz {
    /// The hash with this key.
    pub fn new(key: &[u8; 40]) -> Self {
        let bit = |n: usize| u32::from(key[n / 8 % 40] >> (7 - n % 8) & 1);
        let window = |at: usize| (at..at + 32).fold(0, |word, n| word << 1 | bit(n));
        let mut table = vec![[0; 256]; INPUT_MAX];
        for (byte, row) in table.iter_mut().enumerate() {
            for n in 0..8 {
                row[128 >> n] = window(8 * byte + n);
            }
            for value in 1..256usize {
                let lowest = value & value.wrapping_neg();
                row[value] = row[value ^ lowest] ^ row[lowest];
            }
        }
        Self { table }
    }

    /// The hash of `input`, of which at most 36 bytes count.
    #[inline]
    pub fn hash(&self, input: &[u8]) -> u32 {
        self.hash_behind(0, input)
    }

    /// What `input` adds to the hash of `before` bytes in front of it.
    #[inline]
    pub fn hash_behind(&self, before: usize, input: &[u8]) -> u32 {
        let shares = input.iter().zip(self.table.iter().skip(before));
        shares.fold(0, |hash, (byte, row)| hash ^ row[usize::from(*byte)])
    }
}

/// Kind of hash by MRQC and packet: RSS type of the descriptor, and whether ports are part of it.
pub(crate) fn kind(mrqc: u32, headers: &Headers) -> Option<(u32, bool)> {
    let choices: &[(u32, u32, bool)] = match (headers.version, headers.l4) {
        (4, L4::Tcp) => &[(mrqc::TCP4, 1, true), (mrqc::IP4, 2, false)],
        (4, L4::Udp) => &[(mrqc::UDP4, 7, true), (mrqc::IP4, 2, false)],
        (4, _) => &[(mrqc::IP4, 2, false)],
        (6, L4::Tcp) => &[
            (mrqc::TCP6EX, 6, true),
            (mrqc::TCP6, 3, true),
            (mrqc::IP6EX, 4, false),
            (mrqc::IP6, 5, false),
        ],
        (6, L4::Udp) => &[
            (mrqc::UDP6EX, 9, true),
            (mrqc::UDP6, 8, true),
            (mrqc::IP6EX, 4, false),
            (mrqc::IP6, 5, false),
        ],
        (6, _) => &[(mrqc::IP6EX, 4, false), (mrqc::IP6, 5, false)],
        _ => &[],
    };
    let extension = mrqc::TCP6EX | mrqc::IP6EX | mrqc::UDP6EX;
    let fits = |bit: u32| mrqc & bit != 0 && (bit & extension == 0 || headers.extended);
    let plain_first = choices.iter().filter(|c| fits(c.0));
    plain_first.map(|c| (c.1, c.2)).next()
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

    fn check(addresses: Vec<u8>, ports: [u16; 2], ip: u32, tcp: u32) {
        let hash = Toeplitz::new(&KEY);
        assert_eq!(hash.hash(&addresses), ip);
        let ports: Vec<u8> = ports.iter().flat_map(|p| p.to_be_bytes()).collect();
        assert_eq!(hash.hash(&[addresses, ports].concat()), tcp);
    }

    #[test]
    fn the_ipv4_vectors_of_microsoft_hold() {
        let cases = [
            ([66, 9, 149, 187], 2794, [161, 142, 100, 80], 1766, 0x323e_8fc2, 0x51cc_c178),
            ([199, 92, 111, 2], 14230, [65, 69, 140, 83], 4739, 0xd718_262a, 0xc626_b0ea),
            ([24, 19, 198, 95], 12898, [12, 22, 207, 184], 38024, 0xd2d0_a5de, 0x5c2b_394a),
            ([38, 27, 205, 30], 48228, [209, 142, 163, 6], 2217, 0x8298_9176, 0xafc7_327f),
            ([153, 39, 163, 191], 44251, [202, 188, 127, 2], 1303, 0x5d18_09c5, 0x10e8_28a2),
        ];
        for (from, sport, to, dport, ip, tcp) in cases {
            let addresses: [[u8; 4]; 2] = [from, to];
            check(addresses.concat(), [sport, dport], ip, tcp);
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
        for (from, sport, to, dport, ip, tcp) in cases {
            let octets = |a: &str| a.parse::<std::net::Ipv6Addr>().expect("an address").octets();
            check([octets(from), octets(to)].concat(), [sport, dport], ip, tcp);
        }
    }

    #[test]
    fn fields_of_mrqc_choose_the_kind_of_hash() {
        let headers = |version, l4, extended| {
            let mut headers = Headers::of(&[], 0x8100);
            (headers.version, headers.l4, headers.extended) = (version, l4, extended);
            headers
        };
        // What Linux sets: TCP and plain, of both families.
        let linux = mrqc::TCP4 | mrqc::IP4 | mrqc::TCP6 | mrqc::IP6;
        assert_eq!(kind(linux, &headers(4, L4::Tcp, false)), Some((1, true)));
        assert_eq!(kind(linux, &headers(4, L4::Udp, false)), Some((2, false)));
        assert_eq!(kind(linux | mrqc::UDP4, &headers(4, L4::Udp, false)), Some((7, true)));
        assert_eq!(kind(linux, &headers(6, L4::Tcp, false)), Some((3, true)));
        assert_eq!(kind(linux, &headers(6, L4::None, false)), Some((5, false)));
        assert_eq!(kind(linux | mrqc::IP6EX, &headers(6, L4::None, true)), Some((4, false)));
        assert_eq!(kind(mrqc::IP6EX, &headers(6, L4::None, false)), None);
        assert_eq!(kind(linux, &headers(0, L4::None, false)), None);
    }
}
