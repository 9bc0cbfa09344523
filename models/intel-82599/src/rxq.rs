//! Receive queues: registers, enable and disable, write-back (4.6.7, 7.1.9, 8.2.3.8).

use crate::csr::rx_offset;
use crate::fetch::{DescriptorCache, FetchPolicy, TailWrite};
use crate::out::Read;
use crate::{Intel82599, Misuse};
use pollproof_events::{emit, Event, What};
use pollproof_pcie::Payload;
use pollproof_regs::ixgbe::{hlreg0, queue, rdma, rxcsum};
use pollproof_regs::ixgbe_map as map;
use std::collections::VecDeque;

/// Whether a queue takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Enable {
    /// Off.
    #[default]
    Off,
    /// On; ENABLE reads 1 from then on.
    On { since_ps: u64 },
    /// Software took ENABLE back; it reads 1 until what is open has ended.
    Stopping,
}

impl Enable {
    pub(crate) fn is_on(self) -> bool {
        matches!(self, Self::On { .. })
    }

    /// ENABLE as it reads.
    pub(crate) fn bit(self, now_ps: u64) -> u32 {
        match self {
            Self::On { since_ps } if since_ps <= now_ps => queue::ENABLE,
            Self::Stopping => queue::ENABLE,
            _ => 0,
        }
    }
}

/// What a write-back tells of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// Frame, or the newest of an aggregate.
    pub(crate) number: u64,
    /// It ends here.
    pub(crate) ends: bool,
}

/// A write-back that waits for others.
#[derive(Clone, Debug)]
struct Held {
    index: u32,
    bytes: [u8; 16],
    number: u64,
    /// The packet is done with it.
    ends: bool,
}

/// One receive queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct RxQueue {
    pub(crate) enable: Enable,
    pub(crate) ring: DescriptorCache,
    /// Descriptors that were taken and are not written back, in the order of the ring.
    taken: VecDeque<(u32, bool)>,
    held: Vec<Held>,
    /// Write-backs since it was enabled, and packets that ended with them.
    written: u32,
    frames: u64,
}

/// What a receive queue did since it was enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxView {
    /// Descriptors that were written back.
    pub written: u32,
    /// Packets that ended in them.
    pub frames: u64,
}

impl RxQueue {
    /// RDH: the oldest descriptor that is not written back.
    fn head(&self) -> u32 {
        self.taken.front().map_or(self.ring.head(), |slot| slot.0)
    }

    /// Takes the next descriptor: its index and bytes.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<(u32, [u8; 16])> {
        let descriptor = self.ring.pop()?;
        self.taken.push_back((descriptor.index, false));
        Some((descriptor.index, descriptor.bytes))
    }

    #[inline]
    fn mark_written(&mut self, index: u32) {
        // The oldest, as a rule.
        if self.taken.front() == Some(&(index, false)) {
            self.taken.pop_front();
        } else if let Some(slot) = self.taken.iter_mut().find(|slot| slot.0 == index && !slot.1) {
            slot.1 = true;
        }
        while self.taken.front().is_some_and(|slot| slot.1) {
            self.taken.pop_front();
        }
    }
}

impl Intel82599 {
    /// Register of a receive queue, as stored.
    pub(crate) fn rx_get(&self, n: u32, register: u32) -> u32 {
        self.csr.get(rx_offset(register, n))
    }

    pub(crate) fn read_rx_register(&mut self, n: u32, register: u32) -> Option<u32> {
        let q = self.rxq.get(n as usize)?;
        match register {
            map::RXDCTL => {
                let stored = self.rx_get(n, map::RXDCTL) & !queue::ENABLE;
                Some(stored | q.enable.bit(self.now_ps))
            }
            map::RDH if q.enable != Enable::Off => Some(q.head()),
            _ => None,
        }
    }

    /// A write of a queue register; false when it is plain storage.
    pub(crate) fn write_rx_register(&mut self, n: u32, reg: u32, at: u32, value: u32) -> bool {
        let Some(q) = self.rxq.get(n as usize) else { return false };
        let is_on = q.enable != Enable::Off;
        match reg {
            map::RDBAL | map::RDBAH | map::RDLEN | map::RDH => {
                self.check_ring_write(reg - map::RDBAL, is_on, at, value);
                return false;
            }
            map::RDT => self.write_rdt(n, at, value),
            map::RXDCTL => self.write_rxdctl(n, at, value),
            map::SRRCTL => {
                if value >> queue::DESCTYPE_SHIFT & 7 > 1 {
                    self.csr.not_modelled(at);
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Base, length and head of either kind of ring, by the offset in its block.
    pub(crate) fn check_ring_write(&mut self, part: u32, is_on: bool, at: u32, value: u32) {
        let at = u64::from(at);
        if is_on {
            self.tell(Misuse::RingWhileEnabled, at);
        }
        match part {
            0 if !value.is_multiple_of(128) => self.tell(Misuse::RingBase, at),
            8 if value & !queue::LEN_MASK != 0 || value == 0 => self.tell(Misuse::RingLength, at),
            _ => {}
        }
    }

    fn write_rdt(&mut self, n: u32, at: u32, value: u32) {
        let value = value & queue::INDEX_MASK;
        let now_ps = self.now_ps;
        let Some(q) = self.rxq.get_mut(n as usize) else { return };
        if q.enable.bit(now_ps) == 0 || q.enable == Enable::Stopping {
            self.csr.set(at, value);
            // A queue that stops may be told of more descriptors until its driver knows; whether
            // one that is off was told before it is enabled is seen then.
            if q.enable.is_on() {
                self.tell(Misuse::TailBeforeEnable, u64::from(at));
            }
            if let Some(q) = self.rxq.get_mut(n as usize).filter(|q| q.enable.is_on()) {
                q.ring.set_tail(value);
            }
            return;
        }
        match q.ring.set_tail(value) {
            TailWrite::Ok => self.csr.set(at, value),
            TailWrite::Beyond => self.tell(Misuse::TailBeyondRing, u64::from(at)),
            TailWrite::Backwards => {
                self.csr.set(at, value);
                self.tell(Misuse::TailBackwards, u64::from(at));
            }
        }
        self.fetch_rx(n, 0);
    }

    fn write_rxdctl(&mut self, n: u32, at: u32, value: u32) {
        self.csr.set(at, value & !queue::SWFLSH);
        let Some(q) = self.rxq.get(n as usize) else { return };
        match (q.enable, value & queue::ENABLE != 0) {
            (Enable::Off, true) => self.enable_rx(n, at),
            (Enable::On { .. }, false) => {
                self.rsc_close_queue(n);
                self.flush_rx(n);
                if let Some(q) = self.rxq.get_mut(n as usize) {
                    q.enable = Enable::Stopping;
                }
                self.settle_rx(n);
            }
            _ => {}
        }
    }

    fn enable_rx(&mut self, n: u32, at: u32) {
        let base =
            u64::from(self.rx_get(n, map::RDBAH)) << 32 | u64::from(self.rx_get(n, map::RDBAL));
        let len = self.rx_get(n, map::RDLEN);
        if !base.is_multiple_of(128) || len & !queue::LEN_MASK != 0 || len & queue::LEN_MASK == 0 {
            return self.tell(Misuse::EnableBadRing, u64::from(at));
        }
        if self.rx_get(n, map::SRRCTL) & queue::BSIZEPACKET == 0 {
            self.tell(Misuse::BufferSize, u64::from(at));
        }
        let strips = [
            self.csr.get(map::HLREG0) & hlreg0::RXCRCSTRP != 0,
            self.csr.get(map::RDRXCTL) & rdma::CRCSTRIP != 0,
        ];
        if strips[0] != strips[1] {
            self.tell(Misuse::CrcStripDiffers, u64::from(at));
        }
        self.check_rsc(n, at, strips == [true, true]);
        let head = self.rx_get(n, map::RDH) & queue::INDEX_MASK;
        if self.rx_get(n, map::RDT) != head {
            self.tell(Misuse::TailBeforeEnable, u64::from(at));
        }
        let since_ps = self.now_ps.saturating_add(self.params.queue_enable_ps);
        let Some(q) = self.rxq.get_mut(n as usize) else { return };
        let ring = DescriptorCache::new(base, len / 16, head, q.ring.next_id());
        let tail = ring.tail();
        *q = RxQueue { enable: Enable::On { since_ps }, ring, ..RxQueue::default() };
        self.csr.set(rx_offset(map::RDT, n), tail);
    }

    /// What coalescing needs (4.6.7.2, 7.3.2.1.1).
    fn check_rsc(&mut self, n: u32, at: u32, strips: bool) {
        let control = self.rx_get(n, map::RSCCTL);
        let off = self.csr.get(map::RFCTL) & rxcsum::RSC_DIS != 0;
        if control & queue::RSCEN == 0 || off {
            return;
        }
        let srrctl = self.rx_get(n, map::SRRCTL);
        if !strips || srrctl >> queue::DESCTYPE_SHIFT & 7 == 0 || srrctl >> 8 & 0x3f == 0 {
            self.tell(Misuse::RscRequirements, u64::from(at));
        }
        let bytes = u64::from(self.rsc_max_descriptors(n)) * u64::from(self.buffer_bytes(n));
        if bytes > 65_536 {
            self.tell(Misuse::RscTooLarge, u64::from(at));
        }
        let interval = self.irq.queue_vector(n, false).map(|v| self.irq.interval_ps(v));
        if interval.is_some_and(|ps| ps <= self.irq.rsc_delay_ps()) {
            self.tell(Misuse::RscInterval, u64::from(at));
        }
    }

    /// Bytes of a buffer (SRRCTL.BSIZEPACKET).
    pub(crate) fn buffer_bytes(&self, n: u32) -> u32 {
        (self.rx_get(n, map::SRRCTL) & queue::BSIZEPACKET) << 10
    }

    /// Fetches what is due; `need` descriptors are wanted whatever the thresholds.
    #[inline]
    pub(crate) fn fetch_rx(&mut self, n: u32, need: u32) {
        let enough = need.max(self.params.rx_pthresh).max(1);
        if self.rxq.get(n as usize).is_some_and(|q| q.ring.cached() < enough) {
            self.fetch_more_rx(n, need);
        }
    }

    fn fetch_more_rx(&mut self, n: u32, need: u32) {
        let policy = FetchPolicy {
            cache: self.params.rx_cache.max(32),
            burst: self.params.rx_fetch,
            pthresh: self.params.rx_pthresh,
            hthresh: self.params.rx_hthresh,
            in_flight: self.params.fetches_in_flight,
        };
        let may = self.may_master();
        let Some(q) = self.rxq.get_mut(n as usize).filter(|q| q.enable.is_on()) else { return };
        loop {
            let room = self.out.len() < self.params.out_limit && self.out.can_read();
            if !may || !room {
                self.stalled.insert(n);
                return;
            }
            let Some(fetch) = q.ring.plan(&policy, need) else { return };
            self.stats.fetches += 1;
            let read = Read::Descriptors { is_tx: false, queue: n, id: fetch.id };
            self.out.read(fetch.addr, fetch.len, What::Wqe, read);
        }
    }

    /// Descriptors came.
    pub(crate) fn rx_filled(&mut self, n: u32, id: u64, bytes: &[u8]) {
        let Some(q) = self.rxq.get_mut(n as usize) else { return };
        q.ring.filled(id, bytes);
        self.settle_rx(n);
        self.fetch_rx(n, 0);
    }

    /// Ends a disable when nothing is open any more.
    fn settle_rx(&mut self, n: u32) {
        let Some(q) = self.rxq.get_mut(n as usize) else { return };
        if q.enable == Enable::Stopping && !q.ring.is_fetching() {
            let head = q.head();
            q.enable = Enable::Off;
            q.taken.clear();
            self.csr.set(rx_offset(map::RDH, n), head);
        }
    }

    /// Hands a finished descriptor to write-back, as one unit of 16 bytes. `done` says
    /// of which frame, and whether that ends with it.
    #[inline(always)]
    pub(crate) fn write_back_rx(&mut self, n: u32, index: u32, bytes: [u8; 16], done: Done) {
        let Some(q) = self.rxq.get_mut(n as usize) else { return };
        let Done { number, ends } = done;
        if self.params.rx_wb_batch <= 1 && q.held.is_empty() {
            return self.write_back_one(n, Held { index, bytes, number, ends });
        }
        q.held.push(Held { index, bytes, number, ends });
        if q.held.len() >= self.params.rx_wb_batch.max(1) as usize {
            self.flush_rx(n);
        }
    }

    /// Writes back what is held and tells the queue's vector.
    #[inline(never)]
    pub(crate) fn flush_rx(&mut self, n: u32) {
        let Some(q) = self.rxq.get_mut(n as usize).filter(|q| !q.held.is_empty()) else { return };
        let mut all = std::mem::take(&mut q.held);
        all.drain(..).for_each(|held| self.write_back_one(n, held));
        // Its memory serves again.
        if let Some(q) = self.rxq.get_mut(n as usize) {
            q.held = all;
        }
    }

    /// Writes one back. A full buffer of an aggregate is no reason to interrupt: its packet is not
    /// done.
    #[inline(always)]
    fn write_back_one(&mut self, n: u32, held: Held) {
        let Some(q) = self.rxq.get_mut(n as usize) else { return };
        let Held { index, bytes, number, ends } = held;
        self.out.write(q.ring.addr(index), || Payload::descriptor(bytes), What::Cqe);
        emit(Event::CqeWrite { cq: n, index: q.written, number });
        q.written = q.written.wrapping_add(1);
        q.frames += u64::from(ends);
        q.mark_written(index);
        self.stats.rx_write_backs += 1;
        if ends {
            self.irq.raise_queue(n, false);
        }
    }

    /// What a receive queue did since it was enabled.
    pub fn rx_view(&self, queue: u32) -> RxView {
        let q = self.rxq.get(queue as usize);
        q.map_or_else(RxView::default, |q| RxView { written: q.written, frames: q.frames })
    }

    /// All queues as after reset. Ids of fetches go on, so that old answers are known as such.
    pub(crate) fn reset_rx_queues(&mut self) {
        for q in &mut self.rxq {
            let ring = DescriptorCache::new(0, 0, 0, q.ring.next_id());
            *q = RxQueue { ring, ..RxQueue::default() };
        }
    }
}
