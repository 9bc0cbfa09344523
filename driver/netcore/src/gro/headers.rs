//! What GRO reads of a packet: Ethernet with at most one VLAN tag, IPv4 or IPv6, TCP or UDP.
//!
//! The first bytes are copied once, whatever the layout of the packet, so that head and fragments
//! read the same (the kernel's `frag0` is a pointer into the first fragment instead, and half of
//! the bugs of that path come from using it beside `skb->data`).

use pollproof_kapi::Dma;

use crate::SkBuff;
use pollproof_sync::bug;

pub(crate) const ETH_HLEN: usize = 14;
const VLAN_HLEN: usize = 4;
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const ETH_P_8021Q: u16 = 0x8100;
pub(crate) const IPPROTO_TCP: u8 = 6;
pub(crate) const IPPROTO_UDP: u8 = 17;
/// Ethernet, a tag, IPv6, the longest TCP header.
pub(crate) const HEADERS_MAX: usize = ETH_HLEN + VLAN_HLEN + 40 + 60;

/// Flags of TCP, as they stand in byte 13 of its header.
pub(crate) mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const URG: u8 = 0x20;
    pub const CWR: u8 = 0x80;
}

/// Headers of a packet that some handler of GRO takes, and where they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Headers {
    bytes: [u8; HEADERS_MAX],
    /// Network header.
    net: u8,
    /// Transport header.
    transport: u8,
    /// End of all headers.
    end: u8,
    pub proto: u8,
    pub is_v6: bool,
    /// Bytes behind the headers, padding included (`skb_gro_len`).
    pub payload: usize,
    /// What the network header says differs from what came, or it is a fragment: never merged.
    pub flush: bool,
}

pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    let two = |b: &[u8]| u16::from_be_bytes([b[0], b[1]]);
    bytes.get(at..at + 2).map_or(0, two)
}

pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

/// Sum of 16-bit words in one's complement, not inverted.
pub(crate) fn csum(bytes: &[u8], from: u32) -> u32 {
    let words =
        bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |&low| u32::from(low)));
    let mut sum = u64::from(from) + words.map(u64::from).sum::<u64>();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u32
}

/// Whether the sum of an IPv4 header without options is good: all ones.
fn ip_sum_is_good(header: &[u8; 20]) -> bool {
    let words = header.as_chunks::<4>().0;
    let sum: u64 = words.iter().map(|w| u64::from(u32::from_be_bytes(*w))).sum();
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

impl Default for Headers {
    /// None.
    fn default() -> Self {
        Self {
            bytes: [0; HEADERS_MAX],
            net: 0,
            transport: 0,
            end: 0,
            proto: 0,
            is_v6: false,
            payload: 0,
            flush: false,
        }
    }
}

impl Headers {
    /// Reads the headers of a packet in place of what was here: a copy of so many bytes is what
    /// most of the time would go to. False when no handler takes it (`GRO_NORMAL` at once).
    pub fn read(&mut self, skb: &SkBuff, dma: &dyn Dma) -> bool {
        let have = skb.len.min(HEADERS_MAX);
        skb.read_start(dma, &mut self.bytes[..have]);
        let is_taken = self.parse(have, skb.len).is_some();
        if bug("D-8") && is_taken && self.proto == IPPROTO_UDP && skb.is_of_frags() {
            // As if the header stood in the linear area already: what stands there is older.
            let at = self.transport_at();
            let left = skb.meta.area.as_ref().and_then(|a| a.left.get(at..at + 8));
            if let Some(left) = left {
                self.bytes[at..at + 8].copy_from_slice(left);
            }
        }
        is_taken
    }

    /// Finds the headers in the first `have` bytes; what stands behind them is older.
    fn parse(&mut self, have: usize, len: usize) -> Option<()> {
        let bytes = &self.bytes;
        let mut net = ETH_HLEN;
        let mut kind = be16(bytes, 12);
        if kind == ETH_P_8021Q {
            kind = be16(bytes, 16);
            net += VLAN_HLEN;
        }
        let rest = len.checked_sub(net)?;
        let ip = bytes.get(net..have)?;
        let (is_v6, proto, header, flush) = match kind {
            // No options.
            ETH_P_IP if ip.first() == Some(&0x45) && ip_sum_is_good(ip.first_chunk()?) => {
                let fragment = be16(ip, 6) & 0x3fff != 0;
                (false, ip[9], 20, fragment || usize::from(be16(ip, 2)) != rest)
            }
            ETH_P_IPV6 if ip.len() >= 40 && ip[0] >> 4 == 6 => {
                (true, ip[6], 40, usize::from(be16(ip, 4)) + 40 != rest)
            }
            _ => return None,
        };
        let transport = net + header;
        let l4 = match proto {
            IPPROTO_TCP => usize::from(*bytes.get(transport + 12)? >> 4) * 4,
            IPPROTO_UDP => 8,
            _ => return None,
        };
        let end = transport + l4;
        if end > have || (proto == IPPROTO_TCP && l4 < 20) {
            return None;
        }
        let payload = len - end;
        (self.net, self.transport, self.end) = (net as u8, transport as u8, end as u8);
        (self.proto, self.is_v6, self.payload, self.flush) = (proto, is_v6, payload, flush);
        Some(())
    }

    /// All headers.
    pub fn all(&self) -> &[u8] {
        &self.bytes[..usize::from(self.end)]
    }

    /// The same, to be changed.
    pub fn all_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.end)]
    }

    pub fn len(&self) -> usize {
        usize::from(self.end)
    }

    pub fn net_at(&self) -> usize {
        usize::from(self.net)
    }

    pub fn transport_at(&self) -> usize {
        usize::from(self.transport)
    }

    pub fn network(&self) -> &[u8] {
        &self.bytes[self.net_at()..self.transport_at()]
    }

    pub fn transport(&self) -> &[u8] {
        &self.bytes[self.transport_at()..self.len()]
    }

    fn addresses(&self) -> &[u8] {
        if self.is_v6 {
            &self.network()[8..40]
        } else {
            &self.network()[12..20]
        }
    }

    /// The same `N` bytes at `at`: of a size that is known, so that it is a compare of words.
    #[inline(always)]
    fn same<const N: usize>(&self, other: &Self, at: usize) -> bool {
        let bytes = |h: &Self| h.bytes.get(at..).and_then(|b| b.first_chunk::<N>().copied());
        bytes(self) == bytes(other)
    }

    /// Same link header, addresses, protocol and ports (`same_flow`).
    #[inline]
    pub fn same_flow(&self, other: &Self) -> bool {
        let (net, transport) = (self.net_at(), self.transport_at());
        self.transport == other.transport
            && self.same::<4>(other, transport)
            && (self.net, self.proto, self.is_v6) == (other.net, other.proto, other.is_v6)
            && self.same::<ETH_HLEN>(other, 0)
            && (net == ETH_HLEN || self.same::<VLAN_HLEN>(other, ETH_HLEN))
            && match self.is_v6 {
                true => self.same::<32>(other, net + 8),
                false => self.same::<8>(other, net + 12),
            }
    }

    /// Sum of the pseudo header for a transport of so many bytes.
    pub fn pseudo_csum(&self, len: usize) -> u32 {
        let tail = [0, self.proto];
        csum(self.addresses(), csum(&(len as u32).to_be_bytes(), csum(&tail, 0)))
    }

    pub fn tcp_flags(&self) -> u8 {
        self.transport()[13]
    }

    pub fn tcp_seq(&self) -> u32 {
        be32(self.transport(), 4)
    }

    pub fn ip_id(&self) -> u16 {
        if self.is_v6 {
            0
        } else {
            be16(self.network(), 4)
        }
    }

    pub fn dont_fragment(&self) -> bool {
        !self.is_v6 && self.network()[6] & 0x40 != 0
    }
}
