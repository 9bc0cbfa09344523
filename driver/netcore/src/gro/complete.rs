//! The end of a run: `napi_gro_complete`, `inet_gro_complete`, `tcp_gro_complete`,
//! `udp_gro_complete_segment`, and the way back, `skb_segment` with `tcp_gso_segment` and
//! `__udp_gso_segment` (6.12).

use super::headers::{be16, be32, csum, flag, Headers, IPPROTO_TCP};
use crate::SkBuff;
use pollproof_kapi::Dma;

/// How a merged packet is taken apart again (`skb_shared_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gso {
    /// `gso_size`: payload of each packet but the last.
    pub size: usize,
    /// `gso_segs`.
    pub segs: u32,
    /// `SKB_GSO_TCP_FIXEDID`.
    pub fixed_id: bool,
}

/// Room for packets that are merged into one, before it grows.
const MERGED_AT_FIRST: usize = 16;

/// What was merged into a packet: nothing, in most.
#[derive(Debug, Default)]
pub struct Merged(pub(crate) Option<Box<Super>>);

/// What is more in a packet that others were merged into.
#[derive(Debug)]
pub(crate) struct Super {
    /// Packets behind the first, each without so many bytes of headers (`frag_list`).
    pub merged: Vec<(SkBuff, usize)>,
    /// Headers of the whole, in place of those of the first packet; empty while it is held.
    headers: Vec<u8>,
    net: usize,
    transport: usize,
    gso: Option<Gso>,
}

impl SkBuff {
    /// Hangs a packet behind this one, without its headers.
    pub(crate) fn chain(&mut self, skb: Self, headers: usize) {
        let empty = || {
            let merged = Vec::with_capacity(MERGED_AT_FIRST);
            Box::new(Super { merged, headers: Vec::new(), net: 0, transport: 0, gso: None })
        };
        self.merged.0.get_or_insert_with(empty).merged.push((skb, headers));
    }

    /// Whether others were merged into it.
    #[inline(always)]
    pub(crate) fn is_merged(&self) -> bool {
        self.merged.0.is_some()
    }

    /// The others.
    pub(crate) fn merged(&self) -> impl Iterator<Item = &Self> {
        self.merged.0.iter().flat_map(|more| &more.merged).map(|(skb, _)| skb)
    }

    /// The same, to be changed.
    pub(crate) fn merged_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        self.merged.0.iter_mut().flat_map(|more| &mut more.merged).map(|(skb, _)| skb)
    }

    /// Number, hash and context of all packets in it.
    pub(crate) fn identities(&self) -> impl Iterator<Item = (u64, u32, u32)> + '_ {
        std::iter::once(self).chain(self.merged()).map(|s| (s.number, s.hash, s.napi_id))
    }

    /// The bytes of each packet in it, as they came.
    pub(crate) fn each_as_it_came(&self, dma: &dyn Dma) -> Vec<Vec<u8>> {
        std::iter::once(self.copy_own(dma)).chain(self.merged().map(|s| s.copy_own(dma))).collect()
    }

    /// How it is taken apart; `None` for a packet that is one.
    pub fn gso(&self) -> Option<Gso> {
        self.merged.0.as_ref()?.gso
    }
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(two) = bytes.get_mut(at..at + 2) {
        two.copy_from_slice(&value.to_be_bytes());
    }
}

/// Fills in the lengths and sums of a network header and what is behind it.
fn fix_lengths(bytes: &mut [u8], net: usize, transport: usize, len: usize) {
    if bytes[net] >> 4 == 6 {
        put16(bytes, net + 4, (len - net - 40) as u16);
    } else {
        put16(bytes, net + 2, (len - net) as u16);
        put16(bytes, net + 10, 0);
        let sum = csum(&bytes[net..net + 20], 0);
        put16(bytes, net + 10, !(sum as u16));
    }
    if transport_is_udp(bytes, net) {
        put16(bytes, transport + 4, (len - transport) as u16);
    }
}

fn transport_is_udp(bytes: &[u8], net: usize) -> bool {
    let proto = if bytes[net] >> 4 == 6 { bytes[net + 6] } else { bytes[net + 9] };
    proto != IPPROTO_TCP
}

fn check_at(bytes: &[u8], net: usize, transport: usize) -> usize {
    transport + if transport_is_udp(bytes, net) { 6 } else { 16 }
}

/// Headers for the whole; its checksum is left to whoever takes it apart (`CHECKSUM_PARTIAL`).
pub(super) fn finish(skb: &mut SkBuff, headers: &mut Headers, payload: usize, gso: Gso) {
    let (net, transport, len) = (headers.net_at(), headers.transport_at(), headers.len() + payload);
    let pseudo = headers.pseudo_csum(len - transport);
    let bytes = headers.all_mut();
    fix_lengths(bytes, net, transport, len);
    let at = check_at(bytes, net, transport);
    put16(bytes, at, pseudo as u16);
    if let Some(more) = &mut skb.merged.0 {
        more.headers = bytes.to_vec();
        (more.net, more.transport, more.gso) = (net, transport, Some(gso));
    }
}

impl Super {
    /// The whole packet: its headers, then all payloads.
    pub fn bytes(&self, first: Vec<u8>, dma: &dyn Dma) -> Vec<u8> {
        let mut bytes = self.headers.clone();
        bytes.extend(first.into_iter().skip(self.headers.len()));
        for (skb, headers) in &self.merged {
            bytes.extend(skb.copy_own(dma).into_iter().skip(*headers));
        }
        bytes
    }
}

/// The packets that a merged one stands for, as bytes; one that is one comes as it is.
pub fn segment(skb: &SkBuff, dma: &dyn Dma) -> Vec<Vec<u8>> {
    let whole = skb.copy_bits(dma);
    let Some((more, gso)) = skb.merged.0.as_ref().and_then(|m| Some((m, m.gso?))) else {
        return vec![whole];
    };
    let (net, transport) = (more.net, more.transport);
    let (headers, payload) = whole.split_at(more.headers.len().min(whole.len()));
    let parts: Vec<&[u8]> = payload.chunks(gso.size.max(1)).collect();
    let is_udp = transport_is_udp(headers, net);
    let last = parts.len().saturating_sub(1);
    let part = |(n, payload): (usize, &&[u8])| {
        let mut bytes = headers.to_vec();
        bytes.extend_from_slice(payload);
        if bytes[net] >> 4 == 4 && !gso.fixed_id {
            let id = be16(&bytes, net + 4).wrapping_add(n as u16);
            put16(&mut bytes, net + 4, id);
        }
        let len = bytes.len();
        fix_lengths(&mut bytes, net, transport, len);
        if !is_udp {
            let seq = be32(&bytes, transport + 4).wrapping_add((n * gso.size) as u32);
            bytes[transport + 4..transport + 8].copy_from_slice(&seq.to_be_bytes());
            if n != last {
                bytes[transport + 13] &= !(flag::FIN | flag::PSH);
            }
        }
        fix_checksum(&mut bytes, net, transport);
        bytes
    };
    parts.iter().enumerate().map(part).collect()
}

/// Counts the transport's checksum; that of a datagram is never 0.
fn fix_checksum(bytes: &mut [u8], net: usize, transport: usize) {
    let is_udp = transport_is_udp(bytes, net);
    let at = check_at(bytes, net, transport);
    put16(bytes, at, 0);
    let addresses = if bytes[net] >> 4 == 6 { net + 8..net + 40 } else { net + 12..net + 20 };
    let len = (bytes.len() - transport) as u32;
    let proto = if is_udp { super::headers::IPPROTO_UDP } else { IPPROTO_TCP };
    let pseudo = csum(&bytes[addresses], csum(&len.to_be_bytes(), u32::from(proto)));
    let sum = !(csum(&bytes[transport..], pseudo) as u16);
    put16(bytes, at, if is_udp && sum == 0 { 0xffff } else { sum });
}
