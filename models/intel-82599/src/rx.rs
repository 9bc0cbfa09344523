//! The receive path: port, filters, packet buffer, DMA (7.1).
//!
//! One frame after the other, in order of arrival: a frame without descriptors is dropped when its
//! queue has DROP_EN (QPRDC), else it holds back all that are behind it, whatever their queue.
//! A frame takes all its descriptors at once (assumed; the part may use them as they come).

use crate::csr::Csr;
use crate::parse::{be16, Headers};
use crate::rss::{self, Toeplitz};
use crate::rxq::Done;
use crate::{filter, flow, Intel82599, Misuse};
use pollproof_events::{emit, Event, What};
use pollproof_pcie::{Entry, Payload};
use pollproof_regs::ixgbe::{eicr, fc, fctrl, hlreg0, mrqc, queue, rdma, sec, vlnctrl};
use pollproof_regs::ixgbe_desc::{address, dword};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use pollproof_sync::switch::bug;
use pollproof_wire::Frame;
use std::sync::Arc;

/// What was wrong with a frame on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacError {
    /// Bad FCS (CRCERRS).
    Crc,
    /// Illegal byte (ILLERRC).
    IllegalByte,
    /// The length field lies (RLEC).
    Length,
}

/// A frame in the packet buffer, classified.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    /// Taken by the last request to the bus.
    bytes: Option<Arc<[u8]>>,
    len: u32,
    /// Bytes that it takes in the buffer.
    charge: u32,
    ready_ps: u64,
    pub(crate) queue: u32,
    pub(crate) headers: Headers,
    /// RSS type and hash.
    pub(crate) hash: (u32, u32),
    pub(crate) vlan: Option<u16>,
    pub(crate) inexact: bool,
    pub(crate) bad: bool,
    pub(crate) looped: bool,
}

impl Entry for Arrived {
    #[inline]
    fn clear(&mut self) {
        self.bytes = None;
    }
}

impl Arrived {
    #[inline]
    pub(crate) fn ready_ps(&self) -> u64 {
        self.ready_ps
    }

    /// The same with bytes, their headers, and the tag that was taken out.
    #[inline(always)]
    fn with(self, bytes: Arc<[u8]>, headers: Headers, vlan: Option<u16>) -> Self {
        Self { len: bytes.len() as u32, bytes: Some(bytes), headers, vlan, ..self }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    /// The window `start..end` on its bytes.
    pub(crate) fn window(&self, start: usize, end: usize) -> Payload {
        let bytes = self.bytes.clone().unwrap_or_default();
        Payload::slice(bytes, start, end)
    }
}

/// What becomes of the frame at the head of the buffer.
pub(crate) enum Step {
    /// It left the buffer.
    Done,
    Wait,
    Drop(Drop),
}

/// Why a frame is dropped, by counter.
#[derive(Clone, Copy)]
pub(crate) enum Drop {
    Bad,
    Off,
    Pause,
    Filtered,
    Missed,
    QueueOff,
    NoDescriptor,
    Lost,
}

impl Intel82599 {
    /// A frame arrives from the wire.
    pub fn rx_frame(&mut self, frame: Frame) {
        self.arrive(frame, None, false);
        self.pump();
    }

    /// A frame arrives that the MAC finds fault with. It reaches memory only with FCTRL.SBP.
    pub fn rx_bad_frame(&mut self, frame: Frame, error: MacError) {
        self.arrive(frame, Some(error), false);
        self.pump();
    }

    pub(crate) fn arrive(&mut self, frame: Frame, error: Option<MacError>, looped: bool) {
        let number = frame.number;
        self.stats.port_frames += 1;
        let len = frame.bytes.len() as u32;
        emit(Event::WireRx { number, flow: frame.flow, len });
        let off = self.csr.get(map::RXCTRL) & rdma::RXEN == 0
            || self.csr.get(map::SECRXCTRL) & sec::DIS != 0
            || self.now_ps < self.reset_done_ps;
        if off || (!self.link.up && !looped) {
            return self.drop_frame(number, 0, Drop::Off);
        }
        let Some(bytes) = self.check_mac(frame.bytes, error) else {
            return self.drop_frame(number, 0, Drop::Bad);
        };
        let kind = be16(&bytes, 12);
        let is_control = kind == Some(flow::MAC_CONTROL) && !looped;
        if let Some(quanta) = flow::pause_of(&bytes).filter(|_| is_control) {
            let control = self.csr.get(map::MFLCN);
            self.take_pause(quanta, control);
            if control & fc::MFLCN_PMCF == 0 || control & fc::MFLCN_DPF != 0 {
                return self.drop_frame(number, 0, Drop::Pause);
            }
        }
        let Some(passed) = filter::pass(&self.csr, &bytes) else {
            return self.drop_frame(number, 0, Drop::Filtered);
        };
        let charge = (bytes.len() as u32 + 4).saturating_add(self.params.pb_overhead);
        let size = self.csr.get(map::RXPBSIZE) & 0x000f_fc00;
        if self.fifo_bytes.saturating_add(charge) > size {
            self.csr.count(stat::MPC, 1);
            self.irq.raise_other(eicr::RX_MISS);
            return self.drop_frame(number, 0, Drop::Missed);
        }
        self.count_good(&bytes);
        let headers = Headers::of(&bytes, self.vet());
        let (queue, hash) = self.choose_queue(&bytes, &headers);
        let is_tagged = kind == Some(self.vet());
        self.fifo_bytes += charge;
        let state = Arrived {
            number,
            charge,
            ready_ps: self.now_ps.saturating_add(self.params.rx_latency_ps),
            queue,
            hash,
            inexact: passed.inexact,
            bad: error.is_some(),
            looped,
            ..Arrived::default()
        };
        if !is_tagged && self.csr.get(map::HLREG0) & hlreg0::RXCRCSTRP != 0 {
            self.fifo.push_with(|| state.with(bytes, headers, None));
        } else {
            let (bytes, headers, vlan) = self.retouch(bytes, headers, queue, is_tagged);
            self.fifo.push_with(|| state.with(bytes, headers, vlan));
        }
        self.check_fill();
    }

    /// Length and errors; gives the bytes when the frame goes on.
    fn check_mac(&mut self, bytes: Arc<[u8]>, error: Option<MacError>) -> Option<Arc<[u8]>> {
        let on_wire = bytes.len() as u32 + 4;
        self.csr.count(stat::TPR, 1);
        self.csr.count_pair(stat::TORL, on_wire);
        let jumbo = self.csr.get(map::HLREG0) & hlreg0::JUMBOEN != 0;
        let tag = if be16(&bytes, 12) == Some(self.vet()) { 4 } else { 0 };
        let max = if jumbo { self.csr.get(map::MAXFRS) >> 16 } else { 1518 };
        if let Some(error) = error {
            let counter = match error {
                MacError::Crc => stat::CRCERRS,
                MacError::IllegalByte => stat::ILLERRC,
                MacError::Length => stat::RLEC,
            };
            self.csr.count(counter, 1);
            if self.csr.get(map::FCTRL) & fctrl::SBP == 0 {
                return None;
            }
        }
        if on_wire > max + tag || bytes.len() as u32 > self.params.max_frame {
            let counter = if error.is_some() { stat::RJC } else { stat::ROC };
            self.csr.count(counter, 1);
            return None;
        }
        if on_wire >= 64 {
            return Some(bytes);
        }
        if !self.params.pad_short || bytes.len() < 14 {
            let counter = if error.is_some() { stat::RFC } else { stat::RUC };
            self.csr.count(counter, 1);
            return None;
        }
        let mut padded = bytes.to_vec();
        padded.resize(60, 0);
        Some(padded.into())
    }

    fn vet(&self) -> u16 {
        (self.csr.get(map::VLNCTRL) & vlnctrl::VET) as u16
    }

    fn take_pause(&mut self, quanta: u16, control: u32) {
        let counter = if quanta == 0 { stat::LXONRXCNT } else { stat::LXOFFRXCNT };
        self.csr.count(counter, 1);
        if control & fc::MFLCN_RFCE != 0 {
            self.flow.paused(quanta, self.params.wire_byte_ps, self.now_ps);
            if quanta != 0 {
                emit(Event::Paused);
            }
        }
    }

    /// Counters of frames that passed the filters (8.2.3.23).
    #[inline]
    fn count_good(&mut self, bytes: &[u8]) {
        let on_wire = bytes.len() as u32 + 4;
        self.csr.count(stat::GPRC, 1);
        self.csr.count_pair(stat::GORCL, on_wire);
        self.csr.count(stat::PRC64 + size_class(on_wire), 1);
        if bytes.first_chunk() == Some(&[0xff; 6]) {
            self.csr.count(stat::BPRC, 1);
        } else if bytes.first().is_some_and(|b| b & 1 != 0) {
            self.csr.count(stat::MPRC, 1);
        }
    }

    /// Bytes that do not go to memory as they came: a tag is taken out, or the FCS stays.
    #[inline(never)]
    fn retouch(
        &self,
        bytes: Arc<[u8]>,
        headers: Headers,
        queue: u32,
        is_tagged: bool,
    ) -> (Arc<[u8]>, Headers, Option<u16>) {
        let strips = self.rx_get(queue, map::RXDCTL) & queue::VME != 0;
        let tag = be16(&bytes, 14).filter(|_| strips && is_tagged);
        let (bytes, headers) = match tag {
            Some(_) => {
                let bytes: Arc<[u8]> = [&bytes[..12], &bytes[16..]].concat().into();
                let headers = Headers::of(&bytes, self.vet());
                (bytes, headers)
            }
            None => (bytes, headers),
        };
        let bytes = if self.csr.get(map::HLREG0) & hlreg0::RXCRCSTRP == 0 {
            let fcs = crate::crc::fcs(&bytes).to_le_bytes();
            [&bytes[..], &fcs[..]].concat().into()
        } else {
            bytes
        };
        (bytes, headers, tag)
    }

    /// RSS: 128 entries of RETA, four bits each (8.2.3.7.15). Other modes go to queue 0.
    #[inline(always)]
    fn choose_queue(&mut self, bytes: &[u8], headers: &Headers) -> (u32, (u32, u32)) {
        let control = self.csr.get(map::MRQC);
        if control & mrqc::MODE != mrqc::MODE_RSS {
            return (0, (0, 0));
        }
        let Some((kind, with_ports)) = rss::kind(control, headers) else { return (0, (0, 0)) };
        let csr = &self.csr;
        let toeplitz = self.toeplitz.get_or_insert_with(|| keyed(csr));
        let ports = if with_ports { headers.ports(bytes) } else { &[] };
        let addresses = headers.addresses(bytes);
        let hash = toeplitz.hash(addresses) ^ toeplitz.hash_behind(addresses.len(), ports);
        let entry = hash & 127;
        let queue = self.csr.get(map::RETA + entry / 4 * 4) >> (8 * (entry % 4)) & 15;
        (queue, (kind, hash))
    }

    /// One step of the DMA engine; false when nothing can move.
    #[inline]
    pub(crate) fn rx_step(&mut self) -> bool {
        let is_ready = self.fifo.front().is_some_and(|head| head.ready_ps <= self.now_ps);
        if !is_ready || !self.may_master() || self.out.len() >= self.params.out_limit {
            return false;
        }
        let Some(head) = self.fifo.front() else { return false };
        let (n, number, charge) = (head.queue, head.number, head.charge);
        let step = if !self.rxq.get(n as usize).is_some_and(|q| q.enable.is_on()) {
            Step::Drop(Drop::QueueOff)
        } else if self.rx_get(n, map::RSCCTL) & queue::RSCEN == 0 {
            self.rx_plain(n)
        } else {
            self.rx_coalesced(n)
        };
        match step {
            Step::Wait => return false,
            Step::Drop(_) => {}
            Step::Done => self.count_queue(),
        }
        self.fifo_bytes -= charge;
        self.fifo.drop_front();
        if let Step::Drop(why) = step {
            self.drop_frame(number, n, why);
        }
        self.check_fill();
        true
    }

    /// The frame at the head, of a queue that coalesces.
    fn rx_coalesced(&mut self, n: u32) -> Step {
        let fifo = std::mem::take(&mut self.fifo);
        let step = fifo.front().and_then(|head| self.rsc_step(head));
        self.fifo = fifo;
        step.unwrap_or_else(|| self.rx_plain(n))
    }

    /// Counts the frame at the head, which goes to memory.
    #[inline]
    fn count_queue(&mut self) {
        let Some(head) = self.fifo.front() else { return };
        self.stats.rx_packets += 1;
        self.csr.count(stat::RXDGPC, 1);
        let map = self.csr.get(stat::RQSMR + head.queue / 4 * 4);
        let counter = map >> (8 * (head.queue % 4)) & 15;
        self.csr.count(stat::QPRC + 64 * counter, 1);
        self.csr.count_pair(stat::QBRC_L + 64 * counter, head.len + 4);
    }

    /// Whether `need` descriptors are on chip, or what to do without them.
    #[inline]
    pub(crate) fn supply(&mut self, n: u32, need: u32) -> Option<Step> {
        let Some(q) = self.rxq.get(n as usize) else { return Some(Step::Drop(Drop::QueueOff)) };
        if q.ring.cached() >= need {
            return None;
        }
        Some(self.short_of(n, need))
    }

    /// What to do while too few descriptors are on chip.
    fn short_of(&mut self, n: u32, need: u32) -> Step {
        let Some(q) = self.rxq.get(n as usize) else { return Step::Drop(Drop::QueueOff) };
        if need >= q.ring.size() {
            self.tell(Misuse::RingTooSmall, u64::from(n));
            return Step::Drop(Drop::Lost);
        }
        if q.ring.owned() >= need {
            self.fetch_rx(n, need);
            return Step::Wait;
        }
        if self.rx_get(n, map::SRRCTL) & queue::DROP_EN != 0 {
            Step::Drop(Drop::NoDescriptor)
        } else {
            Step::Wait
        }
    }

    /// The frame at the head by itself: data, then one write-back a buffer. It stays where it is:
    /// a move costs as much as its write-back.
    #[inline(always)]
    fn rx_plain(&mut self, n: u32) -> Step {
        let Some(head) = self.fifo.front() else { return Step::Wait };
        let (number, len) = (head.number, head.len);
        let srrctl = self.rx_get(n, map::SRRCTL);
        let buffer = (srrctl & queue::BSIZEPACKET) << 10;
        if buffer == 0 {
            return Step::Drop(Drop::Lost);
        }
        let need = if len <= buffer { 1 } else { len.div_ceil(buffer) };
        if let Some(step) = self.supply(n, need) {
            return step;
        }
        let mut at = 0;
        while at < len {
            let Some((index, descriptor)) = self.take_rx(n, srrctl) else { break };
            let end = len.min(at + buffer);
            let Some(head) = self.fifo.front_mut() else { break };
            let to = address(&descriptor);
            if let Some(bytes) = head.bytes.take_if(|_| at == 0 && end == len) {
                self.out.write(to, || Payload::whole(bytes), What::Data);
            } else {
                self.out.write(to, || head.window(at as usize, end as usize), What::Data);
            }
            let Some(head) = self.fifo.front() else { break };
            let bytes = self.rx_descriptor(head, &descriptor, srrctl, end - at, end == len);
            self.write_back_rx(n, index, bytes, Done { number, ends: end == len });
            at = end;
        }
        self.fetch_rx(n, 0);
        Step::Done
    }

    /// Takes a descriptor and looks at what the driver wrote into it.
    #[inline(always)]
    pub(crate) fn take_rx(&mut self, n: u32, srrctl: u32) -> Option<(u32, [u8; 16])> {
        let taken = self.rxq.get_mut(n as usize)?.take()?;
        let at = u64::from(n) << 32 | u64::from(taken.0);
        if address(&taken.1) == 0 {
            self.tell(Misuse::NullBuffer, at);
        }
        // Only a queue that splits headers looks at the second address: Linux leaves there what was
        // written back, DD included, and clears the length alone (`ixgbe_alloc_rx_buffers`).
        let splits = srrctl >> queue::DESCTYPE_SHIFT & 7 > 1;
        if splits && dword(&taken.1, 2) & 1 != 0 {
            self.tell(Misuse::HeaderAddress, at);
        }
        Some(taken)
    }

    /// A frame is gone and counted.
    pub(crate) fn drop_frame(&mut self, number: u64, n: u32, why: Drop) {
        let stats = &mut self.stats;
        let (counter, why) = match why {
            Drop::Bad => (&mut stats.rx_bad, "rx_bad"),
            Drop::Off => (&mut stats.rx_off, "rx_off"),
            Drop::Pause => (&mut stats.rx_pause, "rx_pause"),
            Drop::Filtered => (&mut stats.rx_filtered, "rx_filtered"),
            Drop::Missed => (&mut stats.rx_missed, "rx_missed"),
            Drop::QueueOff => (&mut stats.rx_queue_off, "rx_queue_off"),
            Drop::Lost => (&mut stats.rx_lost, "rx_lost"),
            Drop::NoDescriptor => {
                let n = n ^ u32::from(bug("M-RX-DROP-QUEUE"));
                let map = self.csr.get(stat::RQSMR + n / 4 * 4);
                self.csr.count(stat::QPRDC + 64 * (map >> (8 * (n % 4)) & 15), 1);
                (&mut stats.rx_no_descriptor, "rx_no_descriptor")
            }
        };
        *counter += 1;
        emit(Event::WireDrop { number, why });
    }

    pub(crate) fn write_rxctrl(&mut self, value: u32) {
        self.csr.set(map::RXCTRL, value & rdma::RXEN);
    }

    /// Whether a path still holds something, for SECRXSTAT and SECTXSTAT.
    pub(crate) fn receiving_or_sending(&self, offset: u32) -> bool {
        match offset {
            map::SECRXSTAT => self.fifo.iter().any(|head| head.ready_ps > self.now_ps),
            _ => !self.tx.is_idle(),
        }
    }

    /// Frames, aggregates and queues are gone.
    pub(crate) fn reset_receive(&mut self) {
        while let Some(head) = self.fifo.pop() {
            self.drop_frame(head.number, head.queue, Drop::Lost);
        }
        self.fifo_bytes = 0;
        self.toeplitz = None;
        self.flow = flow::FlowControl::default();
        self.reset_rsc();
        self.reset_rx_queues();
    }
}

/// The hash with the key in RSSRK.
#[cold]
fn keyed(csr: &Csr) -> Toeplitz {
    let mut key = [0; 40];
    for (n, bytes) in (0u32..).zip(key.chunks_exact_mut(4)) {
        bytes.copy_from_slice(&csr.get(map::RSSRK + 4 * n).to_le_bytes());
    }
    Toeplitz::new(&key)
}

/// Offset from PRC64 or PTC64 to the counter of a length, FCS included.
pub(crate) fn size_class(on_wire: u32) -> u32 {
    match on_wire {
        0..=64 => 0,
        65..=127 => 4,
        128..=255 => 8,
        256..=511 => 12,
        512..=1023 => 16,
        _ => 20,
    }
}
