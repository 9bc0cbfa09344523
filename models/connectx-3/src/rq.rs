//! Receive rings: producer record, WQE prefetch, scatter list.

use crate::out::Read;
use crate::ConnectX3;
use pollproof_events::What;
use pollproof_regs::mlx4::{be, db, wqe, RqContext};

/// A piece of a receive buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) addr: u64,
    pub(crate) bytes: u32,
}

pub(crate) struct Rq {
    pub(crate) context: RqContext,
    pub(crate) epoch: u32,
    /// Counter of the next WQE to use.
    pub(crate) head: u16,
    /// Counter of the next WQE to fetch.
    fetched: u16,
    /// Counter up to which WQEs are known to be posted.
    producer: u16,
    /// Which of the slots hold a WQE.
    valid: u64,
    /// Segments of the slots, `per_wqe` each.
    segments: Vec<Segment>,
    slots: u32,
    reading: bool,
    /// Frames that arrived before this number met a record without new WQEs.
    checked: u64,
}

/// State of a receive ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqView {
    /// Counter of the next WQE that is used, 16 bits.
    pub head: u16,
    /// Producer counter as the device knows it.
    pub producer: u16,
    /// CQ of the ring.
    pub cqn: u32,
}

/// Whether a frame has a WQE.
pub(crate) enum Supply {
    Ready,
    Wait,
    Empty,
}

impl Rq {
    pub(crate) fn new(context: RqContext, epoch: u32, prefetch: u32) -> Self {
        let slots = prefetch.clamp(1, 64).next_power_of_two();
        let per_wqe = context.stride_bytes / wqe::DATA_SEG_BYTES;
        Self {
            context,
            epoch,
            head: 0,
            fetched: 0,
            producer: 0,
            valid: 0,
            segments: vec![Segment::default(); (slots * per_wqe) as usize],
            slots,
            reading: false,
            checked: 0,
        }
    }

    fn per_wqe(&self) -> usize {
        (self.context.stride_bytes / wqe::DATA_SEG_BYTES) as usize
    }

    fn slot(&self, counter: u16) -> u32 {
        u32::from(counter) & (self.slots - 1)
    }

    /// Segments of the WQE at the head.
    pub(crate) fn head_segments(&self) -> &[Segment] {
        let start = self.slot(self.head) as usize * self.per_wqe();
        self.segments.get(start..start + self.per_wqe()).unwrap_or(&[])
    }

    fn is_ready(&self) -> bool {
        self.valid >> self.slot(self.head) & 1 != 0
    }

    /// WQEs that are known and not used.
    fn known(&self) -> u32 {
        u32::from(self.producer.wrapping_sub(self.head))
    }

    pub(crate) fn view(&self) -> RqView {
        RqView { head: self.head, producer: self.producer, cqn: self.context.cqn }
    }

    /// The next fetch, if it is worth one: `(counter, WQEs)`.
    fn next_fetch(&self, fetch_wqes: u32) -> Option<(u16, u16)> {
        let posted = u32::from(self.producer.wrapping_sub(self.fetched));
        let held = u32::from(self.fetched.wrapping_sub(self.head));
        let wanted = posted.min(fetch_wqes.clamp(1, self.slots));
        if wanted == 0 || held + wanted > self.slots {
            return None;
        }
        let size = 1u32 << self.context.log_size;
        let to_end = size - (u32::from(self.fetched) & (size - 1));
        Some((self.fetched, wanted.min(to_end) as u16))
    }
}

impl ConnectX3 {
    pub(crate) fn rq(&mut self, rqn: u32) -> Option<&mut Rq> {
        self.rqs.get_mut(rqn as usize).and_then(Option::as_mut)
    }

    /// Asks for a WQE for the frame that arrived as number `arrival`.
    pub(crate) fn rq_supply(&mut self, rqn: u32, arrival: u64) -> Supply {
        let Some(rq) = self.rqs.get_mut(rqn as usize).and_then(Option::as_mut) else {
            return Supply::Empty;
        };
        if rq.is_ready() {
            return Supply::Ready;
        }
        if rq.fetched != rq.head || rq.reading {
            return Supply::Wait;
        }
        if rq.producer != rq.head {
            self.prefetch(rqn);
            return Supply::Wait;
        }
        if arrival < rq.checked {
            return Supply::Empty;
        }
        self.read_producer(rqn);
        Supply::Wait
    }

    fn read_producer(&mut self, rqn: u32) {
        let covers = self.arrivals;
        let Some(rq) = self.rqs.get_mut(rqn as usize).and_then(Option::as_mut) else { return };
        let read = Read::RqRecord { rqn, epoch: rq.epoch, covers };
        let addr = rq.context.db_record + db::RQ_PRODUCER;
        rq.reading = self.out.read(addr, 4, What::Record, read);
        self.stats.record_reads += 1;
    }

    /// Fetches ahead as far as WQEs are known and there are slots.
    fn prefetch(&mut self, rqn: u32) {
        let fetch_wqes = self.params.fetch_wqes;
        let Some(rq) = self.rqs.get_mut(rqn as usize).and_then(Option::as_mut) else { return };
        while let Some((start, count)) = rq.next_fetch(fetch_wqes) {
            let stride = rq.context.stride_bytes;
            let slot = u32::from(start) & ((1 << rq.context.log_size) - 1);
            let addr = rq.context.buf + u64::from(slot) * u64::from(stride);
            let read = Read::Wqe { rqn, epoch: rq.epoch, start, count };
            if !self.out.read(addr, u32::from(count) * stride, What::Wqe, read) {
                return;
            }
            rq.fetched = start.wrapping_add(count);
            self.stats.wqe_fetches += 1;
        }
    }

    /// The record was read: `word` is big endian.
    pub(crate) fn rq_record(&mut self, rqn: u32, epoch: u32, covers: u64, word: u32) {
        let Some(rq) = self.rq(rqn).filter(|rq| rq.epoch == epoch) else { return };
        rq.reading = false;
        rq.checked = covers;
        let producer = (word & db::RQ_MASK) as u16;
        let ahead = u32::from(producer.wrapping_sub(rq.head));
        if ahead > 1 << rq.context.log_size || ahead < rq.known() {
            return self.misuse("RQ producer goes back or overfills the ring", u64::from(rqn));
        }
        rq.producer = producer;
        self.prefetch(rqn);
    }

    /// WQEs were read.
    pub(crate) fn rq_fetched(
        &mut self,
        rqn: u32,
        epoch: u32,
        (start, count): (u16, u16),
        bytes: &[u8],
    ) {
        let Some(rq) = self.rq(rqn).filter(|rq| rq.epoch == epoch) else { return };
        let per_wqe = rq.per_wqe();
        let mut inline = false;
        for i in 0..count {
            let slot = rq.slot(start.wrapping_add(i));
            rq.valid |= 1 << slot;
            let from = usize::from(i) * per_wqe * wqe::DATA_SEG_BYTES as usize;
            let raw = bytes.get(from..).unwrap_or(&[]).chunks_exact(wqe::DATA_SEG_BYTES as usize);
            let to = &mut rq.segments[slot as usize * per_wqe..][..per_wqe];
            to.fill(Segment::default());
            for (segment, raw) in to.iter_mut().zip(raw) {
                *segment = parse(raw);
                inline |= segment.bytes & INLINE != 0;
                segment.bytes &= !INLINE;
            }
        }
        if inline {
            self.misuse("inline segment in a receive WQE", u64::from(rqn));
        }
    }

    /// The WQE at the head was used.
    pub(crate) fn rq_advance(&mut self, rqn: u32) {
        let low_water = self.params.record_low_water;
        let Some(rq) = self.rq(rqn) else { return };
        let slot = rq.slot(rq.head);
        rq.valid &= !(1 << slot);
        rq.head = rq.head.wrapping_add(1);
        let low = rq.known() < low_water && !rq.reading;
        if rq.producer != rq.fetched {
            self.prefetch(rqn);
        }
        if low {
            self.read_producer(rqn);
        }
    }
}

/// Bit 31 of `byte_count`: the data is in the WQE itself, which only sends may have.
const INLINE: u32 = 1 << 31;

fn parse(raw: &[u8]) -> Segment {
    let word = |at: u32| {
        let bytes = raw.get(at as usize..).and_then(|r| r.first_chunk());
        bytes.map_or(0, |b| be(u32::from_le_bytes(*b)))
    };
    if word(wqe::LKEY) == wqe::LKEY_INVALID {
        return Segment::default();
    }
    let addr = u64::from(word(wqe::ADDR_HI)) << 32 | u64::from(word(wqe::ADDR_LO));
    Segment { addr, bytes: word(wqe::BYTE_COUNT) }
}
