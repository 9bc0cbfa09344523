//! The device as a whole: time in, completions in, requests out.

use crate::cq::{Cq, CqView};
use crate::eq::{Delayed, Eq, EqView};
use crate::out::{Out, Read};
use crate::rq::{Rq, RqView};
use crate::rss::Rss;
use crate::rx::Arrived;
use crate::{ArmSource, Params, Stats};
use pollproof_events::{emit, Event};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, db};
use std::collections::VecDeque;

/// One port of a ConnectX-3. See the crate for how it is driven.
pub struct ConnectX3 {
    pub(crate) params: Params,
    pub(crate) now_ps: u64,
    pub(crate) eqs: Vec<Option<Eq>>,
    pub(crate) cqs: Vec<Option<Cq>>,
    pub(crate) rqs: Vec<Option<Rq>>,
    /// CQs whose moderation timer runs.
    pub(crate) timers: Vec<u32>,
    /// Events that are not written yet.
    pub(crate) events: VecDeque<Delayed>,
    pub(crate) rss: Option<Rss>,
    pub(crate) default_rqn: Option<u32>,
    pub(crate) fifo: VecDeque<Arrived>,
    pub(crate) fifo_bytes: usize,
    pub(crate) arrivals: u64,
    pub(crate) out: Out,
    /// The pipeline waits for room in `out`.
    pub(crate) blocked: bool,
    /// First word of an arm doorbell that is written in two halves, and its UAR page.
    pub(crate) first_half: Option<(u32, u32)>,
    /// Tells a queue from an older one of the same number.
    pub(crate) epoch: u32,
    pub(crate) stats: Stats,
}

impl ConnectX3 {
    /// A device without queues.
    pub fn new(params: Params) -> Self {
        Self {
            fifo: VecDeque::with_capacity(params.fifo_frames.min(65_536)),
            params,
            now_ps: 0,
            eqs: Vec::new(),
            cqs: Vec::new(),
            rqs: Vec::new(),
            timers: Vec::new(),
            events: VecDeque::new(),
            rss: None,
            default_rqn: None,
            fifo_bytes: 0,
            arrivals: 0,
            out: Out::default(),
            blocked: false,
            first_half: None,
            epoch: 0,
            stats: Stats::default(),
        }
    }

    /// Tells the time; it never goes back. Call [`Self::expire`] after it.
    pub fn set_time(&mut self, now_ps: u64) {
        self.now_ps = self.now_ps.max(now_ps);
    }

    /// When the device next does something by itself.
    pub fn next_deadline(&self) -> Option<u64> {
        let frame = self.fifo.front().map(Arrived::ready_ps).filter(|&ps| ps > self.now_ps);
        let timers = self.timers.iter().filter_map(|&cqn| self.cq_ref(cqn)).map(Cq::deadline_ps);
        let event = self.events.front().map(|event| event.due_ps);
        frame.into_iter().chain(timers).chain(event).min()
    }

    /// Does what is due now.
    pub fn expire(&mut self) {
        let due = |d: &Self, cqn| d.cq_ref(cqn).is_some_and(|cq| cq.deadline_ps() <= d.now_ps);
        let mut i = 0;
        while let Some(&cqn) = self.timers.get(i) {
            if due(self, cqn) {
                self.fire(cqn);
            } else {
                i += 1;
            }
        }
        self.push_due_eqes();
        self.pump();
    }

    /// Lets the oldest moderation timer expire whatever the time; false when none is pending.
    pub fn expire_any(&mut self) -> bool {
        match self.timers.first() {
            Some(&cqn) => {
                self.fire(cqn);
                true
            }
            None => false,
        }
    }

    /// CQs whose moderation timer is pending, oldest first.
    pub fn pending_timers(&self) -> &[u32] {
        &self.timers
    }

    /// Lets the moderation timer of one CQ expire whatever the time; false when it is not pending.
    pub fn expire_cq(&mut self, cqn: u32) -> bool {
        let pending = self.timers.contains(&cqn);
        if pending {
            self.fire(cqn);
        }
        pending
    }

    /// The next request to the bus.
    pub fn pop(&mut self) -> Option<Outbound> {
        let out = self.out.pop();
        if self.blocked {
            self.pump();
        }
        out
    }

    /// The next request to the bus, where it waits, if taking it lets nothing else go on.
    #[inline]
    pub fn front(&self) -> Option<&Outbound> {
        self.out.front().filter(|_| !self.blocked)
    }

    /// That request was performed.
    #[inline]
    pub fn front_done(&mut self) {
        self.out.pop();
    }

    /// Whether a request waits for the bus.
    pub fn has_output(&self) -> bool {
        self.out.len() != 0
    }

    /// A DMA read is answered. Bytes that are missing count as zero.
    pub fn dma_complete(&mut self, tag: u32, bytes: &[u8]) {
        let Some(read) = self.out.take_read(tag) else {
            return self.misuse("completion of a read that is not open", u64::from(tag));
        };
        let word = bytes.first_chunk().map_or(0, |b| be(u32::from_le_bytes(*b)));
        match read {
            Read::RqRecord { rqn, epoch, covers } => self.rq_record(rqn, epoch, covers, word),
            Read::Wqe { rqn, epoch, start, count } => {
                self.rq_fetched(rqn, epoch, (start, count), bytes);
            }
            Read::CqRecord { cqn, epoch, arrival } => self.cq_record(cqn, epoch, arrival, word),
            Read::CqArm { cqn, epoch } => self.cq_arm_record(cqn, epoch, word),
            Read::Hca(_) => {}
        }
        self.pump();
    }

    /// The arm word of a record, which has the consumer index where the doorbell has the CQ.
    fn cq_arm_record(&mut self, cqn: u32, epoch: u32, word: u32) {
        let alive = self.cq_ref(cqn).is_some_and(|cq| cq.epoch == epoch && !cq.view().stopped);
        if alive && self.params.arm != ArmSource::Doorbell && word & db::CMD_MASK != 0 {
            self.arm_cq(cqn, word, word, u64::from(cqn));
        }
    }

    /// Frames inside the device: in the port, or completed and still waiting for the bus.
    pub fn held(&self) -> u64 {
        self.fifo.len() as u64 + self.out.completions
    }

    /// What was counted.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    pub(crate) fn cq_ref(&self, cqn: u32) -> Option<&Cq> {
        self.cqs.get(cqn as usize).and_then(Option::as_ref)
    }

    /// State of a CQ.
    pub fn cq_view(&self, cqn: u32) -> Option<CqView> {
        self.cq_ref(cqn).map(Cq::view)
    }

    /// State of an EQ.
    pub fn eq_view(&self, eqn: u32) -> Option<EqView> {
        self.eqs.get(eqn as usize).and_then(Option::as_ref).map(Eq::view)
    }

    /// State of a receive ring.
    pub fn rq_view(&self, rqn: u32) -> Option<RqView> {
        self.rqs.get(rqn as usize).and_then(Option::as_ref).map(Rq::view)
    }

    #[cold]
    pub(crate) fn misuse(&mut self, why: &'static str, at: u64) {
        self.stats.misuse += 1;
        emit(Event::DeviceMisuse { why, at });
    }
}
