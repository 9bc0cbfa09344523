//! Sending: `ixgbe_xmit_frame_ring`, `ixgbe_tx_map`, `ixgbe_tx_csum`, `ixgbe_tso` (6.12).
//!
//! A packet is buffers that the stack filled and gave away. One descriptor for each 16 KB of a
//! buffer, one more for what the device has to do with the headers. The last asks for a report.
//! Left out: XDP, flow director samples, FCoE, IPsec, timestamps; a packet has at most 17 buffers.

use crate::tx_ring::{TxBuffer, DESC_NEEDED, STATUS_WORD};
use crate::{lock, state, Adapter, Core, TxRing};
use pollproof_events::{emit, Event};
use pollproof_kapi::DmaAddr;
use pollproof_regs::ixgbe_desc::tx;
use pollproof_sync::bug;
use pollproof_sync::Ordering::Relaxed;

/// Most bytes of a descriptor (`IXGBE_MAX_DATA_PER_TXD`).
const DATA_MAX: usize = 16 << 10;
/// Shortest frame that the device takes (`skb_put_padto` 17).
const LEN_MIN: usize = 17;
/// Most buffers of a packet (`MAX_SKB_FRAGS`).
const FRAGS_MAX: usize = 17;
/// Ethernet header.
const MAC_LEN: u32 = 14;
/// `IXGBE_TX_DESC_CMD`: every data descriptor.
const DATA: u32 = tx::DTYP_DATA << tx::DTYP_SHIFT | tx::DEXT | tx::IFCS;

/// A buffer of a packet, owned by the driver's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxFrag {
    /// The buffer.
    pub buf: DmaAddr,
    /// Bytes in it.
    pub len: usize,
}

/// What the device shall do with the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// IPv4, and not IPv6.
    pub ipv4: bool,
    /// TCP, and not UDP.
    pub tcp: bool,
    /// Bytes of the IP header.
    pub ip_len: u32,
    /// Bytes of the TCP or UDP header.
    pub l4_len: u32,
    /// Segment: payload of a segment, 0 is not. The L4 sum holds the pseudo header's then.
    pub mss: u32,
}

/// A packet to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxPacket {
    /// Its buffers, in order.
    pub frags: Vec<TxFrag>,
    /// `CHECKSUM_PARTIAL`, or segmentation.
    pub checksum: Option<Checksum>,
    /// Tag to insert.
    pub vlan: Option<u16>,
    /// More packets follow at once: the device need not be told yet (`netdev_xmit_more`).
    pub more: bool,
}

impl TxPacket {
    /// Bytes of all buffers.
    pub fn len(&self) -> usize {
        self.frags.iter().map(|f| f.len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Frames that go out, and their bytes, headers repeated.
    fn on_wire(&self) -> (u32, u32) {
        let len = self.len() as u32;
        match self.checksum {
            Some(c) if c.mss > 0 => {
                let headers = MAC_LEN + c.ip_len + c.l4_len;
                let frames = len.saturating_sub(headers).div_ceil(c.mss).max(1);
                (frames, len + (frames - 1) * headers)
            }
            _ => (1, len),
        }
    }
}

/// Why a packet was not taken; it is given back.
#[derive(Debug, PartialEq, Eq)]
pub enum TxRefused {
    /// `NETDEV_TX_BUSY`: no room; the queue is stopped until there is.
    Busy(TxPacket),
    /// The interface is down or has no carrier: the stack drops the packet.
    Down(TxPacket),
    /// It has no bytes or too many buffers.
    Malformed(TxPacket),
}

impl Adapter {
    /// `ixgbe_xmit_frame`: sends a packet by a queue. The caller is the only one that sends by it.
    pub fn xmit_frame(&self, queue: u32, packet: TxPacket) -> Result<(), TxRefused> {
        let core = &self.core;
        if core.has(state::DOWN) || !core.has(state::CARRIER) {
            return Err(TxRefused::Down(packet));
        }
        let Some(ring) = self.tx_rings().find(|r| r.index == queue) else {
            return Err(TxRefused::Malformed(packet));
        };
        if packet.is_empty() || packet.frags.len() > FRAGS_MAX {
            return Err(TxRefused::Malformed(packet));
        }
        xmit_frame_ring(core, ring, pad(core, packet))
    }
}

/// Too short a packet gets zeros behind it.
fn pad(core: &Core, mut packet: TxPacket) -> TxPacket {
    let missing = LEN_MIN.saturating_sub(packet.len());
    if let Some(last) = packet.frags.last_mut().filter(|_| missing > 0) {
        core.below.dma.write_buf(last.buf, last.len, &[0; LEN_MIN][..missing]);
        last.len += missing;
    }
    packet
}

fn xmit_frame_ring(core: &Core, ring: &TxRing, packet: TxPacket) -> Result<(), TxRefused> {
    let data: usize = packet.frags.iter().map(|f| f.len.div_ceil(DATA_MAX)).sum();
    // A context, and a gap so that the tail does not touch the head.
    if !ring.has_room(data as u32 + 3) {
        ring.stats.busy.fetch_add(1, Relaxed);
        return Err(TxRefused::Busy(packet));
    }
    let first = ring.use_at();
    let mut index = first;
    if packet.checksum.is_some() || packet.vlan.is_some() {
        write(core, ring, index, context(&packet), 0);
        index = ring.after(index);
    }
    let (last, next) = map_frags(core, ring, index, &packet);
    finish(ring, first, last, next, &packet);
    if !ring.has_room(DESC_NEEDED.min(ring.count / 2)) || !packet.more {
        // As in the receive ring, the register write orders the descriptors before it.
        core.hw.write(ring.tail() as u32, next);
    }
    Ok(())
}

/// `ixgbe_tx_ctxtdesc`.
fn context(packet: &TxPacket) -> [u32; 4] {
    let c = packet.checksum;
    let vlan = u32::from(packet.vlan.unwrap_or(0));
    let ip_len = c.map_or(0, |c| c.ip_len);
    let ipv4 = if c.is_some_and(|c| c.ipv4) { tx::TUCMD_IPV4 } else { 0 };
    let l4 = u32::from(c.is_some_and(|c| c.tcp)) << tx::TUCMD_L4T_SHIFT;
    let kind = tx::DTYP_CONTEXT << tx::DTYP_SHIFT | tx::DEXT;
    let sizes = c.filter(|c| c.mss > 0);
    let sizes = sizes.map_or(0, |c| c.l4_len << tx::L4LEN_SHIFT | c.mss << tx::MSS_SHIFT);
    [vlan << 16 | MAC_LEN << 9 | ip_len, 0, kind | ipv4 | l4, sizes]
}

/// Commands of the data descriptors, and their offload word.
fn commands(packet: &TxPacket) -> (u32, u32) {
    let (mut command, mut offload) = (DATA, 0);
    let mut paylen = packet.len() as u32;
    if let Some(c) = packet.checksum {
        offload |= tx::CC | tx::TXSM;
        if c.mss > 0 {
            command |= tx::TSE;
            offload |= if c.ipv4 { tx::IXSM } else { 0 };
            paylen = paylen.saturating_sub(MAC_LEN + c.ip_len + c.l4_len);
        }
    }
    if packet.vlan.is_some() {
        command |= tx::VLE;
        offload |= tx::CC;
    }
    (command, offload | paylen << tx::PAYLEN_SHIFT)
}

/// One descriptor for each piece; gives the last one's index and the one behind it.
fn map_frags(core: &Core, ring: &TxRing, from: u32, packet: &TxPacket) -> (u32, u32) {
    let (command, offload) = commands(packet);
    let (mut index, mut last) = (from, from);
    let frags = packet.frags.len();
    for (n, frag) in packet.frags.iter().enumerate() {
        core.below.dma.map_buf(frag.buf);
        if let Some(buffer) = lock(&ring.buffers).get_mut(index as usize) {
            *buffer = TxBuffer { frag: Some(*frag), ..TxBuffer::default() };
        }
        let mut at = 0;
        while at < frag.len {
            let len = (frag.len - at).min(DATA_MAX);
            let ends = n + 1 == frags && at + len == frag.len;
            // Reports are asked for now and then only, further apart than the device allows.
            let rare = bug("E-6") && index % 64 != 63;
            let end = match ends {
                true if rare => tx::EOP,
                true => tx::EOP | tx::RS,
                false => 0,
            };
            let buf = frag.buf + at as u64;
            let words = [buf as u32, (buf >> 32) as u32, command | end | len as u32, offload];
            write(core, ring, index, words, frag.buf);
            (last, index) = (index, ring.after(index));
            at += len;
        }
    }
    (last, index)
}

/// The packet can be seen by the cleaner from here on.
fn finish(ring: &TxRing, first: u32, last: u32, next: u32, packet: &TxPacket) {
    let (packets, bytes) = packet.on_wire();
    if let Some(buffer) = lock(&ring.buffers).get_mut(first as usize) {
        *buffer = TxBuffer { bytes, frag: buffer.frag };
    }
    if let Some(of_packet) = ring.packets.get(first as usize) {
        of_packet.set(packets);
    }
    ring.set_watch(first, last);
    ring.set_use(next);
}

fn write(core: &Core, ring: &TxRing, index: u32, words: [u32; 4], buf: DmaAddr) {
    let dma = &*core.below.dma;
    let at = ring.at(index);
    emit(Event::Descriptor { tail: ring.tail(), index, buf });
    for (n, word) in words.into_iter().take(3).enumerate() {
        dma.write32(at + 4 * n as u64, word);
    }
    dma.store32(at + STATUS_WORD, words[3], Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(len: usize, checksum: Option<Checksum>) -> TxPacket {
        let frags = vec![TxFrag { buf: 0x2000, len }];
        TxPacket { frags, checksum, vlan: None, more: false }
    }

    const TCP: Checksum = Checksum { ipv4: true, tcp: true, ip_len: 20, l4_len: 20, mss: 1000 };

    #[test]
    fn a_segmented_packet_repeats_its_headers() {
        assert_eq!(packet(54 + 2500, Some(TCP)).on_wire(), (3, 54 * 3 + 2500));
        assert_eq!(packet(60, None).on_wire(), (1, 60));
        let plain = Checksum { mss: 0, ..TCP };
        assert_eq!(packet(1514, Some(plain)).on_wire(), (1, 1514));
    }

    #[test]
    fn the_length_field_is_the_payload_when_the_device_segments() {
        let (command, offload) = commands(&packet(54 + 2500, Some(TCP)));
        assert_eq!(offload >> tx::PAYLEN_SHIFT, 2500);
        assert!(command & tx::TSE != 0 && offload & tx::IXSM != 0);
        let (command, offload) = commands(&packet(60, None));
        assert_eq!((offload >> tx::PAYLEN_SHIFT, command & tx::TSE), (60, 0));
        assert_eq!(offload & tx::CC, 0);
    }

    #[test]
    fn a_context_tells_where_the_headers_end() {
        let [lengths, _, kind, sizes] = context(&packet(2554, Some(TCP)));
        assert_eq!((lengths & 0x1ff, lengths >> 9 & 0x7f), (20, 14));
        assert_eq!(kind >> tx::DTYP_SHIFT & 15, tx::DTYP_CONTEXT);
        assert_eq!((sizes >> tx::L4LEN_SHIFT & 0xff, sizes >> tx::MSS_SHIFT), (20, 1000));
    }
}
