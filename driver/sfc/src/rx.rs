//! Receiving: `efx_ef10_handle_rx_event`, `efx_rx_packet`, `__efx_rx_packet`, `efx_rx_packet_gro`,
//! `efx_rx_deliver`, `efx_fast_push_rx_descriptors` (6.12).
//!
//! The event gives low bits of the place behind its descriptors alone. From these follow how many
//! are done: as many as a packet has, none beyond its first parts (it was given up), or those of
//! several packets of one descriptor each. Packets are handled one behind, and go to GRO if they
//! are TCP; the rest gathers in the list of the poll.

use crate::channel::{Channel, Lists};
use crate::{RxForm, FIRST_SLOW_FILL_TIMER};
use pollproof_events::{emit, Event, SkbStep};
use pollproof_kapi::{Coherent, DmaAddr};
use pollproof_netcore::{Frag, Napi, SkBuff};
use pollproof_regs::ef10::{
    desc, ev, prefix, BAR_VI, QWORD_BYTES, RX_DESC_UPD, RX_WPTR_GRANULARITY, VI_STRIDE,
};
use pollproof_sync::{bug, PlainU32, Private};
use std::sync::Arc;

/// A receive ring: the owner's.
pub struct RxQueue {
    pub(crate) ring: Coherent,
    pub(crate) entries: u32,
    /// `added_count`, `removed_count`: they run on.
    pub(crate) added: PlainU32,
    pub(crate) removed: PlainU32,
    /// Parts of the packet that is under way (`scatter_n`).
    pub(crate) scatter: PlainU32,
    /// Buffer of each descriptor; 0 is none.
    pub(crate) bufs: Private<Vec<DmaAddr>>,
}

impl RxQueue {
    /// Descriptors that are posted.
    pub fn posted(&self) -> u32 {
        self.added.get().wrapping_sub(self.removed.get())
    }

    fn take_buf(&self, index: u32) -> Option<DmaAddr> {
        let at = (index & (self.entries - 1)) as usize;
        self.bufs.with(|bufs| std::mem::take(&mut bufs[at])).filter(|buf| *buf != 0)
    }

    /// `efx_fast_push_rx_descriptors`: in eights, as the doorbell wants them; a ring that stays dry
    /// is filled by a timer.
    pub(crate) fn fast_push_descriptors(&self, channel: &Channel) {
        // A ring that is full looks like one that is empty (`EFX_RXD_HEAD_ROOM`).
        let most = self.entries - RX_WPTR_GRANULARITY;
        let room = most - self.posted().min(most);
        let wanted = room - room % RX_WPTR_GRANULARITY;
        let (mut pushed, from) = (0, self.added.get());
        while pushed < wanted && self.push_eight(channel, from.wrapping_add(pushed)) {
            pushed += RX_WPTR_GRANULARITY;
        }
        if pushed > 0 {
            self.notify(channel, from.wrapping_add(pushed));
        }
        if pushed < wanted && self.posted() == 0 {
            const SLOW_FILL_NS: u64 = 10_000_000;
            channel.below.timer.start(FIRST_SLOW_FILL_TIMER + channel.index, SLOW_FILL_NS);
        }
    }

    /// Eight descriptors, or none when memory runs out.
    fn push_eight(&self, channel: &Channel, from: u32) -> bool {
        let dma = &channel.below.dma;
        let mut fresh = Vec::with_capacity(RX_WPTR_GRANULARITY as usize);
        while fresh.len() < RX_WPTR_GRANULARITY as usize {
            match dma.alloc_buf() {
                Ok(buf) => fresh.push(buf),
                Err(_) => {
                    emit(Event::RefillFailed { ring: channel.index, posted: self.posted() });
                    fresh.iter().for_each(|&buf| dma.free_buf(buf));
                    return false;
                }
            }
        }
        for (n, buf) in (0..).zip(fresh) {
            let slot = from.wrapping_add(n) & (self.entries - 1);
            self.bufs.with(|bufs| bufs[slot as usize] = buf);
            dma.map_buf(buf);
            let len = dma.buf_len().min(desc::BYTES_MASK as usize) as u64;
            let descriptor = buf & desc::ADDR | len << desc::BYTES_SHIFT;
            let words = [descriptor as u32, (descriptor >> 32) as u32];
            self.ring.write_words(slot * QWORD_BYTES, words);
        }
        true
    }

    /// `efx_ef10_rx_write`: the doorbell.
    fn notify(&self, channel: &Channel, added: u32) {
        self.added.set(added);
        let (ring, producer) = (channel.index, added);
        let (consumer, size) = (self.removed.get(), self.entries);
        emit(Event::Refill { ring, producer, consumer, size });
        emit(Event::Doorbell { ring, producer });
        let register = u64::from(channel.index) * VI_STRIDE + RX_DESC_UPD;
        channel.below.mmio.write32(BAR_VI, register, added & (self.entries - 1));
    }
}

/// A packet whose descriptors are done (`rx_pkt_index`, `rx_pkt_n_frags`).
struct Packet {
    index: u32,
    parts: u32,
    /// Bytes by its events, prefix included; of a packet that shares its event the prefix tells.
    bytes: Option<usize>,
    is_tcp: bool,
    checksum_ok: bool,
}

/// Receiving in one poll.
pub(crate) struct Rx<'a> {
    channel: &'a Channel,
    napi: &'a Arc<Napi>,
    lists: &'a mut Lists,
    /// The packet that is handled next.
    packet: Option<Packet>,
    removed: u32,
    scatter: u32,
    scatter_bytes: usize,
}

impl<'a> Rx<'a> {
    pub fn new(channel: &'a Channel, napi: &'a Arc<Napi>, lists: &'a mut Lists) -> Self {
        let (removed, scatter) = (channel.rx.removed.get(), channel.rx.scatter.get());
        let (parts, bytes) = (scatter & 0xff, scatter >> 8);
        let scatter_bytes = bytes as usize;
        Self { channel, napi, lists, packet: None, removed, scatter: parts, scatter_bytes }
    }

    /// What outlasts the poll is written back; gives the count of descriptors that are done.
    pub fn finish(self) -> u32 {
        self.channel.rx.removed.set(self.removed);
        self.channel.rx.scatter.set(self.scatter | (self.scatter_bytes as u32) << 8);
        self.removed
    }

    /// `efx_ef10_handle_rx_event`: gives the number of packets.
    pub fn handle_event(&mut self, event: u64) -> i32 {
        if event & ev::RX_DROP != 0 {
            return 0;
        }
        let lbits = (event >> ev::RX_LBITS_SHIFT & ev::RX_LBITS_MASK) as u32;
        let done = lbits.wrapping_sub(self.removed) & ev::RX_LBITS_MASK as u32;
        let bytes = (event & ev::RX_BYTES) as usize;
        if done == self.scatter {
            return self.given_up(event, done);
        }
        if done != self.scatter + 1 {
            return self.merged(event, done);
        }
        self.scatter += 1;
        self.scatter_bytes += bytes;
        if event & ev::RX_CONT != 0 {
            return 0;
        }
        let parts = std::mem::take(&mut self.scatter);
        let bytes = std::mem::take(&mut self.scatter_bytes);
        // One descriptor's event has the bytes of the packet, several have those of the buffers.
        let bytes = if parts == 1 { None } else { Some(bytes) };
        self.packets(1, parts, bytes, event)
    }

    /// No descriptor beyond the first parts: the packet was given up.
    fn given_up(&mut self, event: u64, parts: u32) -> i32 {
        if event & ev::RX_ABORT == 0 && event & ev::RX_BYTES != 0 {
            self.channel.stats.rx_bad_events.add(1);
        }
        (self.scatter, self.scatter_bytes) = (0, 0);
        self.channel.stats.rx_aborts.add(1);
        self.flush_packet();
        for n in 0..parts {
            self.consume(n, false);
            self.discard(self.removed.wrapping_add(n));
        }
        self.removed = self.removed.wrapping_add(parts);
        0
    }

    /// An event of several packets, of one descriptor each.
    fn merged(&mut self, event: u64, count: u32) -> i32 {
        if self.scatter != 0 || !self.channel.options.rx_merge {
            // Nothing is known of these descriptors but that they are done.
            self.channel.stats.rx_bad_events.add(1);
            return self.given_up(event | ev::RX_ABORT, count);
        }
        self.channel.stats.rx_merge_events.add(1);
        let (cq, packets) = (self.channel.index, count);
        emit(Event::Skb(SkbStep::Entry { cq, packets }));
        let count = if bug("G-13") { 1 } else { count };
        self.packets(count, 1, None, event)
    }

    fn consume(&self, n: u32, ends: bool) {
        let (cq, napi) = (self.channel.index, self.napi.slot);
        let index = self.removed.wrapping_add(n);
        emit(Event::CqeConsume { cq, index, napi });
        if !ends {
            emit(Event::CqePartial { cq, index, napi });
        }
    }

    /// `efx_rx_packet`, of each: the one before is handled now.
    fn packets(&mut self, count: u32, parts: u32, bytes: Option<usize>, event: u64) -> i32 {
        let l4 = event >> ev::RX_L4_SHIFT & 3;
        let checksum_ok = l4 != 0 && event & ev::RX_TCPUDP_CKSUM_ERR == 0;
        for _ in 0..count {
            (0..parts).for_each(|n| self.consume(n, n + 1 == parts));
            self.flush_packet();
            let (index, is_tcp) = (self.removed, l4 == ev::L4_TCP);
            self.packet = Some(Packet { index, parts, bytes, is_tcp, checksum_ok });
            self.removed = self.removed.wrapping_add(parts);
        }
        self.channel.stats.rx_packets.add(u64::from(count));
        if !bug("G-14") {
            self.channel.score(u64::from(count));
        }
        count as i32
    }

    fn discard(&self, index: u32) {
        if let Some(buf) = self.channel.rx.take_buf(index) {
            let dma = &self.channel.below.dma;
            dma.unmap_buf(buf);
            dma.free_buf(buf);
        }
    }

    /// `__efx_rx_packet`.
    pub fn flush_packet(&mut self) {
        let Some(packet) = self.packet.take() else { return };
        let dma = &self.channel.below.dma;
        let mut bufs = Vec::with_capacity(packet.parts as usize);
        for n in 0..packet.parts {
            if let Some(buf) = self.channel.rx.take_buf(packet.index.wrapping_add(n)) {
                dma.unmap_buf(buf);
                dma.hand_up(buf);
                bufs.push(buf);
            }
        }
        let Some(&first) = bufs.first() else { return };
        let mut start = [0; prefix::BYTES];
        dma.read_buf(first, 0, &mut start);
        let le16 = |at: usize| u16::from_le_bytes([start[at], start[at + 1]]);
        let hash = u32::from(le16(prefix::HASH)) | u32::from(le16(prefix::HASH + 2)) << 16;
        let len = match packet.bytes {
            Some(bytes) => bytes.saturating_sub(prefix::BYTES),
            None => usize::from(le16(prefix::PKTLEN)),
        };
        let last = packet.index.wrapping_add(packet.parts - 1);
        let mut skb = if packet.is_tcp {
            self.channel.net.napi_get_frags(self.napi)
        } else {
            SkBuff::of_frags()
        };
        skb.number = u64::from(self.channel.index) << 32 | u64::from(last);
        (skb.hash, skb.napi_id) = (hash, self.napi.napi_id());
        skb.csum_unnecessary = packet.checksum_ok;
        let fits = fill(&mut skb, &bufs, len, dma.buf_len());
        emit(Event::SkbBuilt { skb: skb.number, flow: hash, len: skb.len as u32 });
        if len == 0 || !fits {
            self.channel.stats.rx_trunc.add(1);
            self.channel.net.kfree_skb(skb, "rx_trunc");
        } else if packet.is_tcp {
            self.packet_gro(skb);
        } else {
            self.channel.net.list_add_tail(&mut self.lists.rx, skb);
            self.scored_late(true);
        }
    }

    /// `efx_rx_packet_gro`.
    fn packet_gro(&mut self, skb: SkBuff) {
        let net = &self.channel.net;
        if self.channel.options.rx_form == RxForm::V6_12 || net.options.gro.is_none() {
            let result = net.napi_gro_frags(self.napi, skb);
            return self.scored_late(result != pollproof_netcore::GroResult::Normal);
        }
        if let Some(skb) = net.napi_frags_skb(skb) {
            net.list_add_tail(&mut self.lists.gro, skb);
        }
    }

    /// By the result of GRO, which once told of drops and now tells of something else.
    fn scored_late(&self, kept: bool) {
        if bug("G-14") && kept {
            self.channel.score(1);
        }
    }
}

/// Puts the bytes behind the prefix into a packet; whether they are as many as was said.
fn fill(skb: &mut SkBuff, bufs: &[DmaAddr], len: usize, room: usize) -> bool {
    let mut left = len;
    for (n, &buf) in bufs.iter().enumerate() {
        let offset = if n == 0 { prefix::BYTES } else { 0 };
        let here = left.min(room.saturating_sub(offset));
        skb.add_rx_frag(Frag { buf, page: None, offset, len: here });
        left -= here;
    }
    left == 0
}
