//! What the port sees in a frame: packet type, checksums, input of the hash (7.1.6.2, 7.1.11).
//!
//! One VLAN tag is passed over. Not modelled: tunnels, NFS, ESP, AH, LinkSec, SNAP headers, the
//! home address and routing headers in the hash of IPv6.

use pollproof_regs::ixgbe_desc::rx;

/// What carries the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L4 {
    /// Nothing that is known, or a fragment.
    #[default]
    None,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// The headers of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Packet type bits as in the descriptor.
    pub packet_type: u32,
    /// Where IP begins.
    pub l3_at: usize,
    /// Where TCP or UDP begins.
    pub l4_at: usize,
    /// Where the IP packet ends.
    pub end: usize,
    /// What carries the data.
    pub l4: L4,
    /// IPv4 header checksum, when there is one.
    pub ip_ok: Option<bool>,
    /// TCP or UDP checksum, when it was looked at.
    pub l4_ok: Option<bool>,
    /// UDP without checksum.
    pub udp_zero: bool,
    /// A fragment of IPv4 or IPv6.
    pub fragment: bool,
    /// IPv4 identification.
    pub ip_id: u16,
    /// One's complement sum of the payload of a fragment.
    pub payload_sum: u16,
    /// Address family: 4, 6, or 0.
    pub version: u8,
    /// Extension headers or options.
    pub extended: bool,
}

/// A big-endian half word.
#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A big-endian word.
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Headers {
    /// Looks at a frame; `vlan` is the EtherType of a tag.
    #[inline(always)]
    pub fn of(frame: &[u8], vlan: u16) -> Self {
        let (kind, at) = match be16(frame, 12) {
            Some(kind) if kind == vlan => (be16(frame, 16), 18),
            kind => (kind, 14),
        };
        if kind != Some(0x0800) {
            return if kind == Some(0x86dd) { Self::of_ipv6(frame, at) } else { Self::default() };
        }
        let mut headers = Self::default();
        let _ = headers.ipv4(frame, at);
        headers
    }

    #[inline(never)]
    fn of_ipv6(frame: &[u8], at: usize) -> Self {
        let mut headers = Self::default();
        let _ = headers.ipv6(frame, at);
        headers
    }

    #[inline(always)]
    fn ipv4(&mut self, frame: &[u8], at: usize) -> Option<()> {
        let header: &[u8; 20] = frame.get(at..)?.first_chunk()?;
        let len = 4 * usize::from(header[0] & 15);
        let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header[0] >> 4 != 4 || len < 20 {
            return None;
        }
        let whole = frame.get(at..at + len)?;
        self.version = 4;
        self.l3_at = at;
        self.packet_type = rx::TYPE_IPV4;
        let header_sum = if len == 20 { sum(header) } else { sum(whole) };
        self.ip_ok = Some(header_sum == 0xffff);
        if len > 20 {
            self.extended = true;
            self.packet_type |= rx::TYPE_IPV4_EXT;
        }
        self.ip_id = u16::from_be_bytes([header[4], header[5]]);
        self.fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
        let payload = frame.get(at + len..at.checked_add(total)?)?;
        self.l4_at = at + len;
        self.end = at + total;
        if self.fragment {
            self.payload_sum = fold(sum(payload)) as u16;
        } else {
            self.transport(header[9], payload, sum(&header[12..20]));
        }
        Some(())
    }

    fn ipv6(&mut self, frame: &[u8], at: usize) -> Option<()> {
        let header: &[u8; 40] = frame.get(at..)?.first_chunk()?;
        if header[0] >> 4 != 6 {
            return None;
        }
        self.version = 6;
        self.l3_at = at;
        self.packet_type = rx::TYPE_IPV6;
        let end = at + 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut next = header[6];
        let mut l4_at = at + 40;
        // Hop-by-hop, routing, fragment, destination options; a chain is as long as the packet.
        while matches!(next, 0 | 43 | 44 | 60) {
            self.extended = true;
            self.packet_type |= rx::TYPE_IPV6_EXT;
            let extension: &[u8; 8] = frame.get(l4_at..end)?.first_chunk()?;
            self.fragment |= next == 44;
            l4_at += if next == 44 { 8 } else { 8 * (usize::from(extension[1]) + 1) };
            next = extension[0];
        }
        let payload = frame.get(l4_at..end)?;
        self.l4_at = l4_at;
        self.end = end;
        if self.fragment {
            self.payload_sum = fold(sum(payload)) as u16;
        } else {
            self.transport(next, payload, sum(&header[8..40]));
        }
        Some(())
    }

    #[inline(always)]
    fn transport(&mut self, protocol: u8, segment: &[u8], addresses: u64) {
        let (l4, kind, min) = match protocol {
            6 => (L4::Tcp, rx::TYPE_TCP, 20),
            17 => (L4::Udp, rx::TYPE_UDP, 8),
            132 => (L4::Sctp, rx::TYPE_SCTP, 12),
            _ => return,
        };
        if segment.len() < min {
            return;
        }
        self.l4 = l4;
        self.packet_type |= kind;
        self.udp_zero = l4 == L4::Udp && segment[6..8] == [0, 0];
        if l4 != L4::Sctp {
            let pseudo = addresses + u64::from(protocol) + segment.len() as u64;
            self.l4_ok = Some(fold(pseudo + sum(segment)) == 0xffff);
        }
    }

    /// Addresses, as the hash takes them.
    pub fn addresses<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        let range = match self.version {
            4 => self.l3_at + 12..self.l3_at + 20,
            6 => self.l3_at + 8..self.l3_at + 40,
            _ => 0..0,
        };
        frame.get(range).unwrap_or(&[])
    }

    /// Ports of TCP or UDP.
    pub fn ports<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        let has = matches!(self.l4, L4::Tcp | L4::Udp);
        let range = if has { self.l4_at..self.l4_at + 4 } else { 0..0 };
        frame.get(range).unwrap_or(&[])
    }
}

/// Sum of big-endian half words in 16 bits (RFC 1071). The order of bytes in a word makes no
/// difference to it, so that they are added eight at a time and swapped at the end. Inline, since
/// the length is often known.
#[inline(always)]
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut sum = 0;
    for chunk in chunks {
        let both = u64::from_le_bytes(*chunk);
        sum += (both & 0xffff_ffff) + (both >> 32);
    }
    let (words, rest) = rest.as_chunks::<4>();
    sum += words.first().map_or(0, word);
    let last = match *rest {
        [] => [0; 4],
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c, ..] => [a, b, c, 0],
    };
    sum += word(&last);
    u64::from((fold(sum) as u16).swap_bytes())
}

/// A sum in 16 bits.
#[inline]
pub(crate) fn fold(mut sum: u64) -> u64 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn packets_of_a_second_source_are_classified_and_their_checksums_hold() {
        for len in 0..70 {
            let data = vec![0x5a; len];
            let eth = || PacketBuilder::ethernet2([2; 6], [4; 6]);
            let v4 = || eth().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
            let v6 = || eth().ipv6([1; 16], [2; 16], 64);
            let mut frames = vec![vec![]; 4];
            v4().tcp(1, 2, 3, 4).write(&mut frames[0], &data).expect("a packet");
            v4().udp(1, 2).write(&mut frames[1], &data).expect("a packet");
            v6().tcp(1, 2, 3, 4).write(&mut frames[2], &data).expect("a packet");
            v6().udp(1, 2).write(&mut frames[3], &data).expect("a packet");
            let types = [
                (rx::TYPE_IPV4 | rx::TYPE_TCP, L4::Tcp, Some(true)),
                (rx::TYPE_IPV4 | rx::TYPE_UDP, L4::Udp, Some(true)),
                (rx::TYPE_IPV6 | rx::TYPE_TCP, L4::Tcp, None),
                (rx::TYPE_IPV6 | rx::TYPE_UDP, L4::Udp, None),
            ];
            for (frame, (kind, l4, ip_ok)) in frames.iter_mut().zip(types) {
                let whole = frame.len();
                frame.resize(frame.len().max(60), 0);
                let headers = Headers::of(frame, 0x8100);
                assert_eq!((headers.packet_type, headers.l4), (kind, l4));
                assert_eq!((headers.ip_ok, headers.l4_ok), (ip_ok, Some(true)));
                assert_eq!((headers.end, headers.ports(frame)), (whole, &[0, 1, 0, 2][..]));
                frame[whole - 1] ^= 1;
                assert_eq!(Headers::of(frame, 0x8100).l4_ok, Some(false));
            }
        }
    }

    #[test]
    fn a_tag_and_extension_headers_are_passed_over() {
        let mut frame = Vec::new();
        PacketBuilder::ethernet2([2; 6], [4; 6])
            .single_vlan(etherparse::VlanId::try_new(5).expect("an id"))
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1, 2, 3, 4)
            .write(&mut frame, b"x")
            .expect("a packet");
        assert_eq!(Headers::of(&frame, 0x8100).l4_ok, Some(true));
        assert_eq!(Headers::of(&frame, 0x9100).version, 0);

        let mut v6 = Vec::new();
        PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv6([1; 16], [2; 16], 64)
            .udp(1, 2)
            .write(&mut v6, b"abc")
            .expect("a packet");
        v6[20] = 60; // destination options before UDP
        v6[19] += 8;
        v6.splice(54..54, [17, 0, 1, 4, 0, 0, 0, 0]);
        let headers = Headers::of(&v6, 0x8100);
        assert_eq!((headers.l4, headers.l4_ok, headers.l4_at), (L4::Udp, Some(true), 62));
        assert!(headers.extended);
        v6[20] = 44;
        let headers = Headers::of(&v6, 0x8100);
        assert!(headers.fragment && headers.l4 == L4::None);
    }

    #[test]
    fn cut_headers_are_nothing_known() {
        assert_eq!(Headers::of(&[], 0x8100), Headers::default());
        assert_eq!(Headers::of(&[0; 60], 0x8100), Headers::default());
        let mut cut = vec![0; 12];
        cut.extend([0x08, 0x00, 0x45]);
        assert_eq!(Headers::of(&cut, 0x8100), Headers::default());
    }
}
