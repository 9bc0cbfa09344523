//! Receive side coalescing: TCP segments of one connection become one large packet (7.11).
//!
//! An aggregate is data that was written to memory and a last descriptor that was not. It closes
//! with the vector's interrupt (RSC_DELAY before it), with a segment that does not fit it, with a
//! full set of descriptors, with PSH, and when its context is needed. Closing repairs the headers
//! in memory: IP length and checksum, acknowledgement, window, PSH, time stamps. The TCP checksum
//! stays that of the first segment (assumed; the descriptor says that it is good).
//!
//! The closing rules are recalled from 7.11.4 and 7.11.5; those in doubt are parameters.

use crate::parse::{be32, fold, sum, L4};
use crate::rx::{Arrived, Step};
use crate::rxq::Done;
use crate::Intel82599;
use pollproof_events::What;
use pollproof_pcie::Payload;
use pollproof_regs::ixgbe::{queue, rdma, rxcsum};
use pollproof_regs::ixgbe_desc::{address, build, rx};
use pollproof_regs::ixgbe_map as map;

const TCP_ACK: u8 = 0x10;
const TCP_PSH: u8 = 0x08;
/// No-op, no-op, time stamp of ten bytes (RFC 7323, appendix A).
const TIME_STAMP: [u8; 4] = [1, 1, 8, 10];

/// A TCP segment as coalescing sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    seq: u32,
    ack: u32,
    header_len: usize,
    payload: usize,
    push: bool,
    stamped: bool,
    tos: u32,
    ttl: u8,
    /// May be part of an aggregate at all.
    eligible: bool,
}

/// The buffer that is being filled.
#[derive(Clone, Copy, Debug)]
struct Slot {
    index: u32,
    addr: u64,
    used: u32,
    /// Segments that begin in it.
    starts: u32,
}

/// An open aggregate.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    first: Arrived,
    key: Vec<u8>,
    shape: Segment,
    next_seq: u32,
    header: Vec<u8>,
    first_addr: u64,
    slot: Slot,
    descriptors: u32,
    frames: u32,
    total: u32,
    push: bool,
    number: u64,
    close_ps: u64,
}

impl Aggregate {
    pub(crate) fn close_ps(&self) -> u64 {
        self.close_ps
    }

    pub(crate) fn queue(&self) -> u32 {
        self.first.queue
    }
}

/// Reads what coalescing wants to know of a TCP segment.
fn segment(a: &Arrived) -> Option<Segment> {
    let h = &a.headers;
    if h.l4 != L4::Tcp || h.fragment {
        return None;
    }
    let (bytes, at) = (a.bytes(), h.l4_at);
    let tcp_len = 4 * usize::from(bytes.get(at + 12)? >> 4);
    let flags = *bytes.get(at + 13)?;
    let header_len = at + tcp_len;
    if tcp_len < 20 || header_len > h.end {
        return None;
    }
    let stamped = tcp_len == 32 && bytes.get(at + 20..at + 24)? == TIME_STAMP;
    let good = h.l4_ok == Some(true) && h.ip_ok != Some(false) && !a.bad;
    let plain = flags & !TCP_PSH == TCP_ACK && (tcp_len == 20 || stamped) && !h.extended;
    let (tos, ttl) = match h.version {
        4 => (u32::from(*bytes.get(h.l3_at + 1)?), *bytes.get(h.l3_at + 8)?),
        _ => (be32(bytes, h.l3_at)?, *bytes.get(h.l3_at + 7)?),
    };
    Some(Segment {
        seq: be32(bytes, at + 4)?,
        ack: be32(bytes, at + 8)?,
        header_len,
        payload: h.end - header_len,
        push: flags & TCP_PSH != 0,
        stamped,
        tos,
        ttl,
        eligible: good && plain,
    })
}

impl Intel82599 {
    /// Most descriptors of an aggregate (RSCCTL.MAXDESC).
    pub(crate) fn rsc_max_descriptors(&self, n: u32) -> u32 {
        [1, 4, 8, 16][(self.rx_get(n, map::RSCCTL) >> queue::MAXDESC_SHIFT & 3) as usize]
    }

    fn rsc_on(&self, n: u32) -> bool {
        self.rx_get(n, map::RSCCTL) & queue::RSCEN != 0
            && self.csr.get(map::RFCTL) & rxcsum::RSC_DIS == 0
            && self.rx_get(n, map::SRRCTL) >> queue::DESCTYPE_SHIFT & 7 != 0
            && self.buffer_bytes(n) != 0
    }

    /// A frame of a queue that coalesces; `None` when it goes its way alone.
    pub(crate) fn rsc_step(&mut self, a: &Arrived) -> Option<Step> {
        let n = a.queue;
        if !self.rsc_on(n) {
            return None;
        }
        let mut segment = segment(a)?;
        let limits = self.csr.get(map::RSCDBU);
        let small = (a.bytes().len() as u32 + 4) < limits & rdma::RSCSMALDIS;
        let acks = self.params.rsc_merges_acks && limits & rdma::RSCACKDIS == 0;
        segment.eligible &= !small && (segment.payload != 0 || acks);
        let mut key = [a.headers.addresses(a.bytes()), a.headers.ports(a.bytes())].concat();
        key.extend(a.vlan.unwrap_or(0).to_be_bytes());
        let open = self.rsc.iter().position(|g| g.first.queue == n && g.key == key);
        if let Some(at) = open {
            if self.fits(at, &segment) {
                match self.room(at, &segment) {
                    Some(true) => return Some(self.merge(at, a, &segment)),
                    Some(false) => {}
                    None => return Some(Step::Wait),
                }
            }
            self.rsc_close(at);
        }
        if !segment.eligible || segment.push {
            return None;
        }
        self.open(a, key, segment)
    }

    /// Whether a segment continues an aggregate.
    fn fits(&self, at: usize, s: &Segment) -> bool {
        let Some(g) = self.rsc.get(at) else { return false };
        let p = &self.params;
        let same = s.header_len == g.shape.header_len
            && s.stamped == g.shape.stamped
            && (s.tos == g.shape.tos || !p.rsc_tos_closes)
            && (s.ttl == g.shape.ttl || !p.rsc_ttl_closes);
        let forward = s.seq == g.next_seq && (s.ack.wrapping_sub(g.shape.ack) as i32) >= 0;
        let bytes = g.total - g.first.headers.l3_at as u32 + s.payload as u32;
        s.eligible && same && forward && bytes <= p.rsc_max_bytes.min(65_535)
    }

    /// Whether buffers for a segment are at hand: no when the aggregate may have no more of them,
    /// `None` when they are on their way.
    fn room(&mut self, at: usize, s: &Segment) -> Option<bool> {
        let g = self.rsc.get(at)?;
        let (n, payload) = (g.first.queue, s.payload as u32);
        let buffer = self.buffer_bytes(n);
        let left = buffer.saturating_sub(g.slot.used);
        let extra = payload.saturating_sub(left).div_ceil(buffer);
        let full = g.descriptors + extra > self.rsc_max_descriptors(n)
            || g.slot.starts + 2 > rx::RSCCNT_MASK;
        if full {
            return Some(false);
        }
        let ring = &self.rxq.get(n as usize)?.ring;
        if ring.cached() >= extra {
            return Some(true);
        }
        if ring.owned() < extra {
            return Some(false);
        }
        self.fetch_rx(n, extra);
        None
    }

    /// Begins an aggregate; `None` when the frame is too long for one.
    fn open(&mut self, a: &Arrived, key: Vec<u8>, shape: Segment) -> Option<Step> {
        let n = a.queue;
        let buffer = self.buffer_bytes(n);
        // Padding behind the IP packet is not data of the aggregate.
        let total = a.headers.end as u32;
        let need = total.div_ceil(buffer).max(1);
        if need > self.rsc_max_descriptors(n) || shape.header_len as u32 > buffer {
            return None;
        }
        if let Some(step) = self.supply(n, need) {
            return Some(step);
        }
        if self.rsc.len() >= self.params.rsc_contexts.max(1) as usize {
            self.rsc_close(0);
        }
        let (index, descriptor) = self.take_rx(n, self.rx_get(n, map::SRRCTL))?;
        let addr = address(&descriptor);
        let header = a.bytes().get(..shape.header_len)?.to_vec();
        let next_seq = shape.seq.wrapping_add(shape.payload as u32);
        self.rsc.push(Aggregate {
            first: a.clone(),
            key,
            next_seq,
            header,
            first_addr: addr,
            slot: Slot { index, addr, used: 0, starts: 1 },
            descriptors: 1,
            frames: 1,
            total: 0,
            push: false,
            number: a.number,
            close_ps: self.rsc_deadline(n),
            shape,
        });
        let at = self.rsc.len() - 1;
        self.append(at, a, 0, total as usize);
        self.fetch_rx(n, 0);
        if self.rsc.get(at).is_some_and(|g| g.close_ps <= self.now_ps) && !self.waits_for_event(n) {
            self.rsc_close(at);
        }
        Some(Step::Done)
    }

    /// Without a clock an aggregate stays open until an event closes it.
    fn waits_for_event(&self, n: u32) -> bool {
        let vector = self.irq.queue_vector(n, false);
        let running = vector.and_then(|v| self.irq.itr(v)).is_some_and(|i| !i.is_zero(self.now_ps));
        self.params.rsc_idle_waits || running
    }

    /// When an aggregate that begins now closes for the interrupt (7.3.2.1.1).
    fn rsc_deadline(&self, n: u32) -> u64 {
        let delay = self.irq.rsc_delay_ps();
        let itr = self.irq.queue_vector(n, false).and_then(|v| self.irq.itr(v));
        match itr.map(|itr| itr.zero_ps()).filter(|&zero| zero > self.now_ps) {
            Some(zero) if zero.saturating_sub(delay) > self.now_ps => zero - delay,
            Some(zero) => zero,
            None if self.params.rsc_idle_waits => self.now_ps.saturating_add(delay),
            None => self.now_ps,
        }
    }

    /// Adds a segment.
    fn merge(&mut self, at: usize, a: &Arrived, s: &Segment) -> Step {
        let end = s.header_len + s.payload;
        self.append(at, a, s.header_len, end);
        if let Some(g) = self.rsc.get_mut(at) {
            g.frames += 1;
            g.next_seq = g.next_seq.wrapping_add(s.payload as u32);
            g.shape.ack = s.ack;
            g.number = a.number;
            g.push |= s.push;
            update_header(&mut g.header, a.bytes(), g.first.headers.l4_at, s.stamped);
        }
        self.fetch_rx(a.queue, 0);
        if s.push {
            self.rsc_close(at);
        }
        Step::Done
    }

    /// Writes bytes `from..to` of a frame behind what is there.
    fn append(&mut self, at: usize, a: &Arrived, from: usize, to: usize) {
        let buffer = self.buffer_bytes(a.queue);
        let mut from = from;
        let mut begins = self.rsc.get(at).is_some_and(|g| g.total != 0);
        while from < to {
            let Some(g) = self.rsc.get(at) else { return };
            if g.slot.used >= buffer && !self.next_buffer(at) {
                return;
            }
            let Some(g) = self.rsc.get_mut(at) else { return };
            g.slot.starts += u32::from(std::mem::take(&mut begins));
            let part = (buffer - g.slot.used).min((to - from) as u32);
            let payload = a.window(from, from + part as usize);
            let to = g.slot.addr.wrapping_add(u64::from(g.slot.used));
            self.out.write(to, || payload, What::Data);
            g.slot.used += part;
            g.total += part;
            from += part as usize;
        }
    }

    /// The buffer is full: its descriptor is written back and names the next one.
    fn next_buffer(&mut self, at: usize) -> bool {
        let Some(n) = self.rsc.get(at).map(|g| g.first.queue) else { return false };
        let Some((index, descriptor)) = self.take_rx(n, self.rx_get(n, map::SRRCTL)) else {
            return false;
        };
        let Some(g) = self.rsc.get(at) else { return false };
        let [first, second] = self.rx_identity(&g.first, g.slot.starts + 1);
        let status = rx::DD | index << rx::NEXTP_SHIFT;
        let (old, number) = (g.slot, g.number);
        let bytes = build([first, second, status, old.used]);
        self.write_back_rx(n, old.index, bytes, Done { number, ends: false });
        if let Some(g) = self.rsc.get_mut(at) {
            g.slot = Slot { index, addr: address(&descriptor), used: 0, starts: 0 };
            g.descriptors += 1;
        }
        true
    }

    /// Ends an aggregate: headers, last descriptor.
    pub(crate) fn rsc_close(&mut self, at: usize) {
        if at >= self.rsc.len() {
            return;
        }
        let mut g = self.rsc.remove(at);
        self.stats.rsc_aggregates += 1;
        self.stats.rsc_frames += u64::from(g.frames);
        let single = g.frames == 1 && g.descriptors == 1;
        if g.frames > 1 {
            finish_header(&mut g.header, &g.first, g.total, g.push);
            self.out.write(g.first_addr, || Payload::copy(&g.header), What::Data);
        }
        let count = if single { 0 } else { g.slot.starts + 1 };
        let [first, second] = self.rx_identity(&g.first, count);
        let [status, length] = self.rx_last(&g.first, g.slot.used);
        let bytes = build([first, second, status, length]);
        let done = Done { number: g.number, ends: true };
        self.write_back_rx(g.first.queue, g.slot.index, bytes, done);
    }

    /// Ends all aggregates of a queue.
    pub(crate) fn rsc_close_queue(&mut self, n: u32) {
        while let Some(at) = self.rsc.iter().position(|g| g.first.queue == n) {
            self.rsc_close(at);
        }
    }

    pub(crate) fn reset_rsc(&mut self) {
        self.rsc.clear();
    }
}

/// Acknowledgement, window and time stamps are those of the newest segment.
fn update_header(header: &mut [u8], newest: &[u8], l4_at: usize, stamped: bool) {
    let mut copy = |from: usize, to: usize| {
        if let (Some(into), Some(bytes)) = (header.get_mut(from..to), newest.get(from..to)) {
            into.copy_from_slice(bytes);
        }
    };
    copy(l4_at + 8, l4_at + 12);
    copy(l4_at + 14, l4_at + 16);
    if stamped {
        copy(l4_at + 24, l4_at + 32);
    }
}

/// Lengths, the IPv4 checksum and PSH of the whole.
fn finish_header(header: &mut [u8], first: &Arrived, total: u32, push: bool) {
    let (at, l4_at) = (first.headers.l3_at, first.headers.l4_at);
    let mut put = |at: usize, value: u16| {
        if let Some(bytes) = header.get_mut(at..at + 2) {
            bytes.copy_from_slice(&value.to_be_bytes());
        }
    };
    let ip_bytes = total - at as u32;
    if first.headers.version == 4 {
        put(at + 2, ip_bytes as u16);
        put(at + 10, 0);
        let checksum = !fold(sum(header.get(at..l4_at).unwrap_or(&[]))) as u16;
        if let Some(bytes) = header.get_mut(at + 10..at + 12) {
            bytes.copy_from_slice(&checksum.to_be_bytes());
        }
    } else {
        put(at + 4, (ip_bytes - 40) as u16);
    }
    if let Some(flags) = header.get_mut(l4_at + 13).filter(|_| push) {
        *flags |= TCP_PSH;
    }
}
