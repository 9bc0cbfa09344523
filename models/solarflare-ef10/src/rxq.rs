//! Receive rings: descriptors, packets with their prefix, events that tell of several packets.
//!
//! Frames of a ring are completed in order. One that is longer than a buffer takes several
//! descriptors, an event each; if they run out half way it is given up. Packets of one descriptor
//! that follow each other and are of a kind may share an event.

use crate::Ef10;
use pollproof_connectx_3::classify;
use pollproof_events::{emit, Event, What};
use pollproof_pcie::{Outbound, Payload};
use pollproof_regs::ef10::{desc, ev, prefix, McdiError, RingContext, QWORD_BYTES};
use pollproof_regs::mlx4::cqe;
use pollproof_wire::Frame;
use std::collections::VecDeque;

/// Descriptors that are kept in the device.
const CACHE: usize = 64;
/// No frame: descriptors of a packet that was given up.
const NO_FRAME: u64 = u64::MAX;

/// A frame that waits for descriptors.
#[derive(Clone, Debug)]
struct Waiting {
    frame: Frame,
    ready_ps: u64,
    hash: u32,
    /// Class and checksum bits of its event.
    kind: u64,
    /// Bytes that are written, prefix included, and descriptors that took.
    done: usize,
    parts: u32,
}

/// Packets of one descriptor each that an event will tell of.
#[derive(Clone, Debug)]
struct Merge {
    kind: u64,
    bytes: u64,
    numbers: Vec<u64>,
    deadline_ps: u64,
}

/// A ring.
#[derive(Clone, Debug)]
pub(crate) struct Rxq {
    context: RingContext,
    /// Descriptors that were posted, fetched and used: counters that run on.
    posted: u32,
    fetched: u32,
    used: u32,
    reading: bool,
    cache: VecDeque<u64>,
    waiting: VecDeque<Waiting>,
    merge: Option<Merge>,
}

impl Ef10 {
    /// `MC_CMD_INIT_RXQ`.
    pub fn init_rxq(&mut self, rxq: u32, context: RingContext) -> Result<(), McdiError> {
        if !Self::ring_fits(rxq, &context) {
            return Err(McdiError::Invalid);
        }
        let slot = Self::slot(&mut self.rxqs, rxq);
        if slot.is_some() {
            return Err(McdiError::Busy);
        }
        *slot = Some(Rxq {
            context,
            posted: 0,
            fetched: 0,
            used: 0,
            reading: false,
            cache: VecDeque::new(),
            waiting: VecDeque::new(),
            merge: None,
        });
        Ok(())
    }

    /// `MC_CMD_FINI_RXQ`: what waits is dropped.
    pub fn fini_rxq(&mut self, rxq: u32) -> Result<(), McdiError> {
        let ring = Self::slot(&mut self.rxqs, rxq).take().ok_or(McdiError::NoQueue)?;
        let merged = ring.merge.into_iter().flat_map(|m| m.numbers);
        for number in ring.waiting.iter().map(|w| w.frame.number).chain(merged) {
            self.stats.rx_no_queue += 1;
            emit(Event::WireDrop { number, why: "rx_no_queue" });
        }
        Ok(())
    }

    /// A frame arrives from the wire.
    pub fn rx_frame(&mut self, frame: Frame) {
        let (number, len) = (frame.number, frame.bytes.len());
        self.stats.port_frames += 1;
        emit(Event::WireRx { number, flow: frame.flow, len: len as u32 });
        if !(14..=self.params.max_frame as usize).contains(&len) {
            self.stats.rx_bad_length += 1;
            return emit(Event::WireDrop { number, why: "rx_bad_length" });
        }
        let class = classify(&frame.bytes);
        let input = class.input();
        let hash = if input.is_empty() { 0 } else { self.toeplitz.hash(input) };
        let rxq = if input.is_empty() { 0 } else { hash % self.rss_queues };
        let fifo: usize = self.rxqs.iter().flatten().map(|r| r.waiting.len()).sum();
        let full = fifo >= self.params.fifo_frames;
        let ready_ps = self.now_ps.saturating_add(self.params.rx_latency_ps);
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else {
            self.stats.rx_no_queue += 1;
            return emit(Event::WireDrop { number, why: "rx_no_queue" });
        };
        if full {
            self.stats.rx_overflow += 1;
            return emit(Event::WireDrop { number, why: "rx_overflow" });
        }
        let kind = kind_of(class.status, class.l4_ok);
        ring.waiting.push_back(Waiting { frame, ready_ps, hash, kind, done: 0, parts: 0 });
        self.pump(rxq);
    }

    /// `RX_DESC_UPD`.
    pub(crate) fn write_rx_wptr(&mut self, rxq: u32, value: u32) {
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else {
            return self.misuse("doorbell of a receive ring that is not there", rxq.into());
        };
        let mask = ring.context.entries - 1;
        let posted = ring.posted.wrapping_add(value.wrapping_sub(ring.posted) & mask);
        let aligned = value.is_multiple_of(pollproof_regs::ef10::RX_WPTR_GRANULARITY);
        if !aligned || posted.wrapping_sub(ring.used) > ring.context.entries {
            return self
                .misuse("receive write pointer beyond the ring, or not of eight", value.into());
        }
        ring.posted = posted;
        self.pump(rxq);
    }

    /// Descriptors that were read.
    pub(crate) fn rx_fetched(&mut self, rxq: u32, bytes: &[u8]) {
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        ring.reading = false;
        let word = |b: &[u8]| b.try_into().map_or(0, u64::from_le_bytes);
        ring.cache.extend(bytes.chunks_exact(QWORD_BYTES as usize).map(word));
        self.pump(rxq);
    }

    /// Moves frames of a ring on until one has to wait.
    pub(crate) fn pump(&mut self, rxq: u32) {
        while self.step(rxq) {}
        self.fetch(rxq);
    }

    fn fetch(&mut self, rxq: u32) {
        let most = self.params.fetch.max(1);
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        let left = ring.posted.wrapping_sub(ring.fetched);
        if ring.reading || left == 0 || ring.cache.len() + most as usize > CACHE {
            return;
        }
        let at = ring.fetched & (ring.context.entries - 1);
        let count = left.min(most).min(ring.context.entries - at);
        ring.reading = true;
        ring.fetched = ring.fetched.wrapping_add(count);
        let addr = ring.context.buf + u64::from(at * QWORD_BYTES);
        self.read(addr, count * QWORD_BYTES, What::Wqe, crate::device::Read::Rx(rxq));
    }

    /// One descriptor of the frame at the head; false when it has to wait, or there is none.
    fn step(&mut self, rxq: u32) -> bool {
        let now_ps = self.now_ps;
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else {
            return false;
        };
        let evq = ring.context.evq;
        let Some(head) = ring.waiting.front_mut().filter(|w| w.ready_ps <= now_ps) else {
            return false;
        };
        let number = head.frame.number;
        let Some(descriptor) = ring.cache.front().copied() else {
            if ring.reading || ring.posted != ring.fetched {
                return false;
            }
            let parts = head.parts;
            self.give_up(rxq, number, parts);
            return true;
        };
        let room = (descriptor >> desc::BYTES_SHIFT & desc::BYTES_MASK) as usize;
        let total = prefix::BYTES + head.frame.bytes.len();
        let (from, to) = (head.done, total.min(head.done + room));
        let whole = head.parts == 0 && to == total;
        if room < prefix::BYTES || !self.evq_has_room(evq) {
            return self.no_room(rxq, room);
        }
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else {
            return false;
        };
        let Some(mut head) = ring.waiting.pop_front() else { return false };
        ring.cache.pop_front();
        (head.done, head.parts) = (to, head.parts + 1);
        self.write_part(descriptor & desc::ADDR, &head, from, to);
        match whole {
            true => self.merge(rxq, &head),
            false => self.part(rxq, head, (to - from) as u64, to == total),
        }
        true
    }

    /// A buffer that cannot hold the prefix, or an event queue that is full.
    #[cold]
    fn no_room(&mut self, rxq: u32, room: usize) -> bool {
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else {
            return false;
        };
        if room < prefix::BYTES {
            ring.cache.pop_front();
            ring.used = ring.used.wrapping_add(1);
            self.misuse("receive descriptor without room for the prefix", room as u64);
            return true;
        }
        let evq = ring.context.evq;
        let Some(head) = ring.waiting.pop_front() else { return false };
        self.stats.rx_evq_full += 1;
        emit(Event::WireDrop { number: head.frame.number, why: "rx_evq_full" });
        let queue = self.evqs.get(evq as usize).and_then(Option::as_ref);
        if let Some(q) = queue {
            let (producer, consumer, size) = (q.written, q.read, q.context.entries);
            emit(Event::CqOverrun { cq: evq, producer, consumer, size });
        }
        true
    }

    fn write_part(&mut self, addr: u64, head: &Waiting, from: usize, to: usize) {
        let mut at = addr;
        if from == 0 {
            let mut bytes = [0; prefix::BYTES];
            bytes[prefix::HASH..prefix::HASH + 4].copy_from_slice(&head.hash.to_le_bytes());
            let len = head.frame.bytes.len() as u16;
            bytes[prefix::PKTLEN..prefix::PKTLEN + 2].copy_from_slice(&len.to_le_bytes());
            let payload = Payload::copy(&bytes);
            self.out.push_back(Outbound::DmaWrite { addr, payload, what: What::Data });
            at += prefix::BYTES as u64;
        }
        let (start, end) = (from.max(prefix::BYTES) - prefix::BYTES, to - prefix::BYTES);
        if end > start {
            let payload = Payload::slice(head.frame.bytes.clone(), start, end);
            self.out.push_back(Outbound::DmaWrite { addr: at, payload, what: What::Data });
        }
    }

    /// A packet of one descriptor joins those that wait for their event, if it is of their kind.
    fn merge(&mut self, rxq: u32, head: &Waiting) {
        let most = self.params.merge_max.clamp(1, 15) as usize;
        let deadline_ps = self.now_ps.saturating_add(self.params.merge_ps);
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        if ring.merge.as_ref().is_some_and(|m| m.kind != head.kind) {
            self.flush_merge(rxq);
        }
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        let bytes = head.frame.bytes.len() as u64;
        let merge = ring.merge.get_or_insert_with(|| Merge {
            kind: head.kind,
            bytes,
            numbers: Vec::with_capacity(most),
            deadline_ps,
        });
        merge.numbers.push(head.frame.number);
        if merge.numbers.len() >= most {
            self.flush_merge(rxq);
        }
    }

    /// The event of packets of one descriptor each.
    pub(crate) fn flush_merge(&mut self, rxq: u32) {
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        let Some(merge) = ring.merge.take() else { return };
        let (evq, from) = (ring.context.evq, ring.used);
        ring.used = from.wrapping_add(merge.numbers.len() as u32);
        for (n, &number) in (0..).zip(&merge.numbers) {
            emit(Event::CqeWrite { cq: evq, index: from.wrapping_add(n), number });
        }
        let event = ring.event(merge.kind, merge.bytes);
        let count = merge.numbers.len() as u64;
        self.stats.rx_packets += count;
        if count > 1 {
            self.stats.merged_events += 1;
            self.stats.merged_packets += count;
        }
        self.push_event(evq, event);
    }

    /// A descriptor of a packet that takes several.
    fn part(&mut self, rxq: u32, head: Waiting, bytes: u64, last: bool) {
        self.flush_merge(rxq);
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        let evq = ring.context.evq;
        ring.used = ring.used.wrapping_add(1);
        let cont = if last { 0 } else { ev::RX_CONT };
        let event = ring.event(head.kind | cont, bytes);
        if last {
            let (parts, number) = (head.parts, head.frame.number);
            let from = ring.used.wrapping_sub(parts);
            for n in 0..parts {
                emit(Event::CqeWrite { cq: evq, index: from.wrapping_add(n), number });
            }
            self.stats.rx_packets += 1;
        } else {
            ring.waiting.push_front(head);
        }
        self.push_event(evq, event);
    }

    /// There is no descriptor: a frame is dropped, or given up half way.
    fn give_up(&mut self, rxq: u32, number: u64, parts: u32) {
        self.stats.rx_nodesc += 1;
        if parts > 0 {
            self.flush_merge(rxq);
        }
        let Some(ring) = self.rxqs.get_mut(rxq as usize).and_then(Option::as_mut) else { return };
        ring.waiting.pop_front();
        emit(Event::WireDrop { number, why: "rx_nodesc" });
        if parts == 0 {
            return;
        }
        let (evq, from) = (ring.context.evq, ring.used.wrapping_sub(parts));
        for n in 0..parts {
            emit(Event::CqeWrite { cq: evq, index: from.wrapping_add(n), number: NO_FRAME });
        }
        let event = ring.event(ev::RX_ABORT, 0);
        self.stats.aborts += 1;
        if self.evq_has_room(evq) {
            self.push_event(evq, event);
        }
    }

    /// Events that waited long enough; with `any`, one of them whatever the time. Whether one went.
    pub(crate) fn flush_due(&mut self, any: bool) -> bool {
        let mut flushed = false;
        for rxq in 0..self.rxqs.len() as u32 {
            let now_ps = self.now_ps;
            let ring = self.rxqs.get(rxq as usize).and_then(Option::as_ref);
            let due = ring.and_then(|r| r.merge.as_ref()).map(|m| m.deadline_ps);
            if due.is_some_and(|at| any || at <= now_ps) {
                self.flush_merge(rxq);
                flushed = true;
                if any {
                    break;
                }
            }
        }
        flushed
    }

    /// Frames inside the device.
    pub(crate) fn rx_held(&self) -> u64 {
        let of =
            |ring: &Rxq| ring.waiting.len() + ring.merge.as_ref().map_or(0, |m| m.numbers.len());
        self.rxqs.iter().flatten().map(|ring| of(ring) as u64).sum()
    }

    /// When a frame or an event of a ring is due next.
    pub(crate) fn rx_deadline(&self) -> Option<u64> {
        let of = |ring: &Rxq| {
            let frame = ring.waiting.front().map(|w| w.ready_ps).filter(|at| *at > self.now_ps);
            [frame, ring.merge.as_ref().map(|m| m.deadline_ps)].into_iter().flatten().min()
        };
        self.rxqs.iter().flatten().filter_map(of).min()
    }

    /// Descriptors of a ring that were used, and that can be.
    pub fn rxq_view(&self, rxq: u32) -> Option<(u32, u32)> {
        let ring = self.rxqs.get(rxq as usize)?.as_ref()?;
        Some((ring.used, ring.posted.wrapping_sub(ring.used)))
    }
}

impl Rxq {
    /// An event of this ring as it stands.
    fn event(&self, bits: u64, bytes: u64) -> u64 {
        let lbits = u64::from(self.used) & ev::RX_LBITS_MASK;
        ev::CODE_RX << ev::CODE_SHIFT
            | bits
            | bytes & ev::RX_BYTES
            | u64::from(self.context.label) << ev::QLABEL_SHIFT
            | lbits << ev::RX_LBITS_SHIFT
    }
}

/// Class bits of an event.
fn kind_of(status: u32, l4_ok: bool) -> u64 {
    let has = |bit| status & bit != 0;
    let l3 = match (has(cqe::STATUS_IPV4), has(cqe::STATUS_IPV6)) {
        (true, _) => ev::L3_IP4,
        (_, true) => ev::L3_IP6,
        _ => 0,
    };
    let l4 = match (has(cqe::STATUS_TCP), has(cqe::STATUS_UDP)) {
        (true, _) => ev::L4_TCP,
        (_, true) => ev::L4_UDP,
        _ => 0,
    };
    let bad = if l4 != 0 && !l4_ok { ev::RX_TCPUDP_CKSUM_ERR } else { 0 };
    l3 << ev::RX_L3_SHIFT | l4 << ev::RX_L4_SHIFT | bad
}
