//! What the port sees in a frame: protocol, hash input, checksums.
//!
//! Not modelled: IPv6 extension headers and tunnels (then it is "other IP").

use crate::rss::INPUT_MAX;
use pollproof_regs::mlx4::cqe;

/// The classification of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Bits of the CQE's `status`.
    pub status: u32,
    /// Whether a TCP or UDP checksum is there and good.
    pub l4_ok: bool,
    input: [u8; INPUT_MAX],
    input_len: u8,
}

impl Class {
    const NONE: Self = Self { status: 0, l4_ok: false, input: [0; INPUT_MAX], input_len: 0 };

    /// Input of the Toeplitz hash: addresses, then ports if any; empty without IP.
    #[inline]
    pub fn input(&self) -> &[u8] {
        &self.input[..usize::from(self.input_len)]
    }

    /// Appends to the input. `N` is known where it is called: no loop and no call is left.
    #[inline]
    fn put<const N: usize>(&mut self, bytes: &[u8; N]) {
        let start = usize::from(self.input_len);
        if let Some(to) = self.input.get_mut(start..start + N) {
            to.copy_from_slice(bytes);
            self.input_len += N as u8;
        }
    }
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Looks at the headers of a frame, one VLAN tag at most.
pub fn classify(frame: &[u8]) -> Class {
    let ethertype = |at| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let (kind, at) = match ethertype(12) {
        Some(ETHERTYPE_VLAN) => (ethertype(16), 18),
        kind => (kind, 14),
    };
    let rest = frame.get(at..).unwrap_or(&[]);
    let mut class = Class::NONE;
    // Filled in place: a copy of the half-written input would stall.
    let _ = match kind {
        Some(ETHERTYPE_IPV4) => ipv4(&mut class, rest),
        Some(ETHERTYPE_IPV6) => ipv6(&mut class, rest),
        _ => None,
    };
    class
}

/// Stops at the first thing that is not there.
#[inline]
fn ipv4(class: &mut Class, packet: &[u8]) -> Option<()> {
    let header: &[u8; 20] = packet.first_chunk()?;
    let header_len = 4 * usize::from(header[0] & 15);
    if header[0] >> 4 != 4 || header_len < 20 {
        return None;
    }
    let whole_header = packet.get(..header_len)?;
    class.status = cqe::STATUS_IPV4;
    if fold(sum(whole_header)) == 0xffff {
        class.status |= cqe::STATUS_IPOK;
    }
    let addresses: &[u8; 8] = header.last_chunk()?;
    class.put(addresses);
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    if !fragment {
        l4(class, header[9], packet.get(header_len..total), addresses);
    }
    Some(())
}

#[inline]
fn ipv6(class: &mut Class, packet: &[u8]) -> Option<()> {
    let header: &[u8; 40] = packet.first_chunk()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    // No header checksum: "OK" is what lets the driver trust the rest (`en_rx.c`).
    class.status = cqe::STATUS_IPV6 | cqe::STATUS_IPOK;
    let addresses: &[u8; 32] = header.last_chunk()?;
    class.put(addresses);
    let len = usize::from(u16::from_be_bytes([header[4], header[5]]));
    l4(class, header[6], packet.get(40..40 + len), addresses);
    Some(())
}

/// `segment` is the whole payload of the IP packet, or `None` when it is cut.
#[inline]
fn l4(class: &mut Class, protocol: u8, segment: Option<&[u8]>, addresses: &[u8]) {
    let (status, min, checksum_at) = match protocol {
        TCP => (cqe::STATUS_TCP, 20, 16),
        UDP => (cqe::STATUS_UDP, 8, 6),
        _ => return,
    };
    let Some(segment) = segment.filter(|s| s.len() >= min) else { return };
    class.status |= status;
    if let Some(ports) = segment.first_chunk::<4>() {
        class.put(ports);
    }
    let absent = protocol == UDP && segment[checksum_at..checksum_at + 2] == [0, 0];
    let pseudo = sum(addresses)
        + u64::from(u16::from_ne_bytes([0, protocol]))
        + u64::from((segment.len() as u16).to_be());
    class.l4_ok = !absent && fold(pseudo + sum(segment)) == 0xffff;
}

/// Sum of 16-bit words in the order of this machine, not folded (RFC 1071, 2B: order is free).
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut chunks = bytes.chunks_exact(8);
    let (mut even, mut odd) = (0u64, 0u64);
    for chunk in &mut chunks {
        let word = u64::from_ne_bytes([
            chunk[0], chunk[1], chunk[2], chunk[3], chunk[4], chunk[5], chunk[6], chunk[7],
        ]);
        even += word & 0xffff_ffff;
        odd += word >> 32;
    }
    let mut rest = chunks.remainder();
    if let Some((word, more)) = rest.split_first_chunk::<4>() {
        even += u64::from(u32::from_ne_bytes(*word));
        rest = more;
    }
    if let Some((half, more)) = rest.split_first_chunk::<2>() {
        even += u64::from(u16::from_ne_bytes(*half));
        rest = more;
    }
    if let Some(&byte) = rest.first() {
        even += u64::from(u16::from_ne_bytes([byte, 0]));
    }
    even + odd
}

#[inline]
pub(crate) fn fold(sum: u64) -> u64 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn status_of(frame: &[u8]) -> (u32, bool, usize) {
        let class = classify(frame);
        (class.status, class.l4_ok, class.input().len())
    }

    #[test]
    fn packets_of_a_second_source_are_classified_and_their_checksums_hold() {
        use cqe::{STATUS_IPOK, STATUS_IPV4, STATUS_IPV6, STATUS_TCP, STATUS_UDP};
        for len in 0..80 {
            let data = vec![0xa5; len];
            let eth = || PacketBuilder::ethernet2([2; 6], [4; 6]);
            let v4 = || eth().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
            let v6 = || eth().ipv6([1; 16], [2; 16], 64);
            let mut frames = vec![vec![]; 4];
            v4().tcp(1, 2, 3, 4).write(&mut frames[0], &data).expect("a packet");
            v4().udp(1, 2).write(&mut frames[1], &data).expect("a packet");
            v6().tcp(1, 2, 3, 4).write(&mut frames[2], &data).expect("a packet");
            v6().udp(1, 2).write(&mut frames[3], &data).expect("a packet");
            assert_eq!(status_of(&frames[0]), (STATUS_IPV4 | STATUS_IPOK | STATUS_TCP, true, 12));
            assert_eq!(status_of(&frames[1]), (STATUS_IPV4 | STATUS_IPOK | STATUS_UDP, true, 12));
            assert_eq!(status_of(&frames[2]), (STATUS_IPV6 | STATUS_IPOK | STATUS_TCP, true, 36));
            assert_eq!(status_of(&frames[3]), (STATUS_IPV6 | STATUS_IPOK | STATUS_UDP, true, 36));
            for frame in &mut frames {
                frame.resize(frame.len().max(60), 0);
                assert!(classify(frame).l4_ok, "padding is not part of the packet");
                frame[40] ^= 1;
                assert!(!classify(frame).l4_ok);
            }
        }
    }

    #[test]
    fn other_frames_have_no_hash_input_and_no_status() {
        assert_eq!(status_of(&[]), (0, false, 0));
        assert_eq!(status_of(&[0; 60]), (0, false, 0));
        let mut cut = vec![0; 12];
        cut.extend([0x08, 0x00, 0x45]);
        assert_eq!(status_of(&cut), (0, false, 0));
    }
}
