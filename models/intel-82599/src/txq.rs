//! Transmit queues: registers, enable and disable, fetch, write-back (4.6.8, 7.2.3, 8.2.3.9).

use crate::fetch::{DescriptorCache, FetchPolicy, TailWrite};
use crate::job::Job;
use crate::offload::Context;
use crate::out::Read;
use crate::params::IdleWriteBack;
use crate::rxq::Enable;
use crate::txwb::{Report, TxWriteBack};
use crate::{Intel82599, Misuse};
use pollproof_events::What;
use pollproof_pcie::Payload;
use pollproof_regs::ixgbe::{queue, tdma};
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::switch::bug;

/// One transmit queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct TxQueue {
    pub(crate) enable: Enable,
    pub(crate) ring: DescriptorCache,
    /// The two contexts (7.2.3.2.3).
    pub(crate) contexts: [Option<Context>; 2],
    /// A packet without its last descriptor.
    pub(crate) gathering: Option<Job>,
    pub(crate) write_back: TxWriteBack,
    /// Descriptors since the last with RS.
    pub(crate) without_report: u32,
}

impl Intel82599 {
    fn tx_get(&self, n: u32, register: u32) -> u32 {
        self.csr.get(register + 64 * n)
    }

    pub(crate) fn read_tx_register(&mut self, n: u32, register: u32) -> Option<u32> {
        let q = self.txq.get(n as usize)?;
        (register == map::TXDCTL).then(|| {
            let stored = self.tx_get(n, map::TXDCTL) & !queue::ENABLE;
            stored | q.enable.bit(self.now_ps)
        })
    }

    /// A write of a queue register; false when it is plain storage.
    pub(crate) fn write_tx_register(&mut self, n: u32, reg: u32, at: u32, value: u32) -> bool {
        let Some(q) = self.txq.get(n as usize) else { return false };
        let is_on = q.enable != Enable::Off;
        match reg {
            map::TDBAL | map::TDBAH | map::TDLEN | map::TDH => {
                self.check_ring_write(reg - map::TDBAL, is_on, at, value);
                false
            }
            map::TDT => {
                self.write_tdt(n, at, value & queue::INDEX_MASK);
                true
            }
            map::TXDCTL => {
                self.write_txdctl(n, at, value);
                true
            }
            map::TDWBAL => {
                if value & queue::HEAD_WB != 0 && value & 0xc != 0 {
                    self.tell(Misuse::HeadWriteBackAddress, u64::from(at));
                }
                false
            }
            _ => false,
        }
    }

    fn write_tdt(&mut self, n: u32, at: u32, value: u32) {
        let now_ps = self.now_ps;
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        let is_ready = q.enable.is_on() && q.enable.bit(now_ps) != 0;
        if !is_ready {
            self.csr.set(at, value);
            let early = q.enable.is_on();
            if early {
                q.ring.set_tail(value);
            }
            // As for receive queues: one that is off is judged when it is enabled.
            if early {
                self.tell(Misuse::TailBeforeEnable, u64::from(at));
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
        self.fetch_tx(n);
    }

    fn write_txdctl(&mut self, n: u32, at: u32, value: u32) {
        self.csr.set(at, value & !queue::SWFLSH);
        if value & queue::SWFLSH != 0 {
            self.flush_tx(n);
        }
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        match (q.enable, value & queue::ENABLE != 0) {
            (Enable::Off, true) => self.enable_tx(n, at, value),
            (Enable::On { .. }, false) => {
                q.enable = Enable::Stopping;
                if q.gathering.take().is_some() {
                    self.tell(Misuse::TxCutPacket, u64::from(at));
                }
                self.flush_tx(n);
                self.settle_tx(n);
            }
            _ => {}
        }
    }

    fn enable_tx(&mut self, n: u32, at: u32, value: u32) {
        let base =
            u64::from(self.tx_get(n, map::TDBAH)) << 32 | u64::from(self.tx_get(n, map::TDBAL));
        let len = self.tx_get(n, map::TDLEN);
        let place = u64::from(at);
        if !base.is_multiple_of(128) || len & !queue::LEN_MASK != 0 || len & queue::LEN_MASK == 0 {
            return self.tell(Misuse::EnableBadRing, place);
        }
        if self.csr.get(map::DMATXCTL) & tdma::TE == 0 {
            self.tell(Misuse::TxQueueBeforeTe, place);
        }
        let threshold = |shift: u32| value >> shift & queue::PTHRESH;
        if threshold(0) != 0 && threshold(queue::HTHRESH_SHIFT) == 0 {
            self.tell(Misuse::TxThresholds, place);
        }
        let head_wb = self.tx_get(n, map::TDWBAL) & queue::HEAD_WB != 0;
        if head_wb && threshold(queue::WTHRESH_SHIFT) != 0 {
            self.tell(Misuse::HeadWriteBackThreshold, place);
        }
        let head = self.tx_get(n, map::TDH) & queue::INDEX_MASK;
        if self.tx_get(n, map::TDT) != head {
            self.tell(Misuse::TailBeforeEnable, place);
        }
        let since_ps = self.now_ps.saturating_add(self.params.queue_enable_ps);
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        let ring = DescriptorCache::new(base, len / 16, head, q.ring.next_id());
        let tail = ring.tail();
        *q = TxQueue { enable: Enable::On { since_ps }, ring, ..TxQueue::default() };
        self.csr.set(map::TDH + 64 * n, tail);
        self.csr.set(map::TDT + 64 * n, tail);
        self.active_tx.insert(n);
    }

    /// Fetches what is due.
    pub(crate) fn fetch_tx(&mut self, n: u32) {
        let control = self.tx_get(n, map::TXDCTL);
        let policy = FetchPolicy {
            cache: self.params.tx_cache.max(1),
            burst: self.params.tx_fetch,
            pthresh: control & queue::PTHRESH,
            hthresh: control >> queue::HTHRESH_SHIFT & 0x7f,
            in_flight: self.params.fetches_in_flight,
        };
        let may = self.may_master() && self.csr.get(map::DMATXCTL) & tdma::TE != 0;
        let Some(q) = self.txq.get_mut(n as usize).filter(|q| q.enable.is_on()) else { return };
        loop {
            let room = self.out.len() < self.params.out_limit && self.out.can_read();
            if !may || !room {
                self.stalled.insert(TX_STALLED + n);
                return;
            }
            let Some(fetch) = q.ring.plan(&policy, 0) else { return };
            self.stats.fetches += 1;
            let read = Read::Descriptors { is_tx: true, queue: n, id: fetch.id };
            self.out.read(fetch.addr, fetch.len, What::Wqe, read);
        }
    }

    /// Descriptors came.
    pub(crate) fn tx_filled(&mut self, n: u32, id: u64, bytes: &[u8]) {
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        q.ring.filled(id, bytes);
        self.tx_wakes();
        self.settle_tx(n);
        self.fetch_tx(n);
    }

    /// Ends a disable when nothing is open any more.
    pub(crate) fn settle_tx(&mut self, n: u32) {
        let inside = self.tx.has(n);
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        if q.enable == Enable::Stopping && !q.ring.is_fetching() && !inside {
            q.enable = Enable::Off;
            self.flush_tx(n);
            self.active_tx.remove(n);
        }
    }

    /// TDH goes to the first descriptor that is not done with.
    pub(crate) fn write_tdh(&mut self, n: u32) {
        let Some(q) = self.txq.get(n as usize) else { return };
        let head = q.ring.head();
        self.csr.set(map::TDH + 64 * n, head);
    }

    /// A descriptor with RS is done.
    pub(crate) fn tx_report(&mut self, n: u32, report: Report) {
        let threshold = self.tx_get(n, map::TXDCTL) >> queue::WTHRESH_SHIFT & 0x7f;
        let head_wb = self.tx_get(n, map::TDWBAL) & queue::HEAD_WB != 0;
        let now_ps = self.now_ps;
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        let threshold = if head_wb { 0 } else { threshold };
        if q.write_back.done(report, threshold, now_ps) || !q.enable.is_on() {
            self.flush_tx(n);
        } else {
            self.tx.holding.insert(n);
        }
    }

    /// Writes back what is held and tells the queue's vector.
    pub(crate) fn flush_tx(&mut self, n: u32) {
        let [low, high] = [map::TDWBAL, map::TDWBAH].map(|reg| self.tx_get(n, reg));
        let Some(q) = self.txq.get_mut(n as usize) else { return };
        let reports = q.write_back.flush();
        self.tx.holding.remove(n);
        let Some(last) = reports.back().copied() else { return };
        if low & queue::HEAD_WB != 0 {
            let step = u32::from(!bug("M-TX-HEAD"));
            let head = (last.index + step) % q.ring.size().max(1);
            let addr = u64::from(high) << 32 | u64::from(low & !3);
            self.out.write(addr, || Payload::copy(&head.to_le_bytes()), What::Record);
            self.stats.tx_write_backs += 1;
        } else {
            for report in &reports {
                let addr = q.ring.addr(report.index);
                self.out.write(addr, || Payload::copy(&report.bytes), What::Cqe);
                self.stats.tx_write_backs += 1;
            }
        }
        self.irq.raise_queue(n, true);
    }

    /// When held write-backs of a queue are due by moderation.
    pub(crate) fn tx_flush_deadline(&self, n: u32) -> Option<u64> {
        let since_ps = self.txq.get(n as usize)?.write_back.since_ps()?;
        let vector = self.irq.queue_vector(n, true)?;
        let itr = self.irq.itr(vector)?;
        if itr.zero_ps() > since_ps {
            return Some(itr.zero_ps());
        }
        match self.params.tx_wb_idle {
            IdleWriteBack::AtOnce => Some(since_ps),
            IdleWriteBack::OneInterval => {
                Some(since_ps.saturating_add(self.irq.interval_ps(vector)))
            }
            IdleWriteBack::Never => None,
        }
    }

    /// A queue as after reset. Ids of fetches go on, so that old answers are known as such.
    pub(crate) fn reset_tx_queue(&mut self, n: u32) {
        if let Some(q) = self.txq.get_mut(n as usize) {
            let ring = DescriptorCache::new(0, 0, 0, q.ring.next_id());
            *q = TxQueue { ring, ..TxQueue::default() };
        }
    }
}

/// Transmit queues stand behind the receive queues in the set of those that wait for the bus.
pub(crate) const TX_STALLED: u32 = pollproof_regs::ixgbe::QUEUES;
