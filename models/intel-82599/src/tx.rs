//! The transmit path: descriptors to packets, data by DMA, frames to the wire (7.2).
//!
//! Queues take turns packet by packet. Data of several packets is read at a time; packets leave in
//! the order in which they were begun. A packet's descriptors are done when its last frame has
//! left for the wire.

use crate::job::Job;
use crate::offload::{Context, Segmenter};
use crate::out::Read;
use crate::queue_set::QueueSet;
use crate::rx::size_class;
use crate::txq::TxQueue;
use crate::txwb::Report;
use crate::{Intel82599, Misuse};
use pollproof_events::What;
use pollproof_regs::ixgbe::{hlreg0, queue, tdma, QUEUES};
use pollproof_regs::ixgbe_desc::{address, build, dword, tx};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use pollproof_wire::Frame;
use std::collections::VecDeque;

/// A frame that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The frame, numbered in the order of sending.
    pub frame: Frame,
    /// When its last bit is on the wire.
    pub done_ps: u64,
}

/// Most descriptors of a packet. 82599 drivers stay below 40 (specification update).
const PARTS_MAX: usize = 256;
/// Most bytes of a packet that is segmented.
const TSO_MAX: usize = 256 << 10;
/// Descriptors without RS that WTHRESH 0 allows.
const REPORT_MAX: u32 = 40;

/// Packets of all queues.
#[derive(Debug, Default)]
pub(crate) struct TxEngine {
    jobs: VecDeque<Job>,
    job_bytes: usize,
    pub(crate) next_job: u64,
    /// Queue whose packet is being taken, and where the round goes on.
    turn: u32,
    inside: bool,
    /// No packet is inside and no descriptor on chip: nothing moves until some are fetched.
    dry: bool,
    /// Transmit hangs: on purpose, see `hold_transmit`.
    held: bool,
    /// Queues that may hold write-backs.
    pub(crate) holding: QueueSet,
    /// Frames that wait to be collected.
    pub(crate) wire: VecDeque<Sent>,
    /// When the wire is free.
    pub(crate) free_ps: u64,
    pub(crate) frames: u64,
}

impl TxEngine {
    pub(crate) fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Packets whose descriptors are all there, in order.
    pub(crate) fn jobs(&self) -> &VecDeque<Job> {
        &self.jobs
    }

    /// Forgets them.
    pub(crate) fn drop_jobs(&mut self) {
        self.jobs.clear();
        self.job_bytes = 0;
    }

    /// Whether packets of a queue are inside.
    pub(crate) fn has(&self, n: u32) -> bool {
        self.jobs.iter().any(|job| job.queue == n)
    }
}

impl Intel82599 {
    /// The next frame that was sent.
    pub fn pop_frame(&mut self) -> Option<Sent> {
        let sent = self.tx.wire.pop_front();
        if sent.is_some() && self.tx.wire.len() + 1 >= self.params.wire_limit {
            self.pump();
        }
        sent
    }

    /// One step of the transmit path; false when nothing can move.
    #[inline]
    pub(crate) fn tx_step(&mut self) -> bool {
        !self.tx.dry && self.tx_move()
    }

    #[inline(never)]
    fn tx_move(&mut self) -> bool {
        self.tx_send() || self.tx_take()
    }

    /// Descriptors came.
    pub(crate) fn tx_wakes(&mut self) {
        self.tx.dry = false;
    }

    /// From now on no descriptor is taken, until a reset: for whoever wants to see what a driver
    /// does about a transmit unit that hangs.
    pub fn hold_transmit(&mut self) {
        self.tx.held = true;
    }

    fn tx_on(&self) -> bool {
        !self.tx.held
            && self.csr.get(map::DMATXCTL) & tdma::TE != 0
            && self.csr.get(map::RTTDCS) & tdma::ARBDIS == 0
            && self.may_master()
    }

    /// Takes one descriptor of the queue whose turn it is.
    fn tx_take(&mut self) -> bool {
        let full = self.tx.jobs.len() >= self.params.tx_jobs.max(1) as usize
            || self.tx.job_bytes >= self.params.tx_job_bytes as usize;
        let room = self.out.len() < self.params.out_limit && self.out.can_read();
        if !self.tx_on() || full || !room {
            return false;
        }
        let has = |d: &Self, n: u32| {
            let q = d.txq.get(n as usize).filter(|q| q.enable.is_on());
            q.is_some_and(|q| q.ring.cached() != 0)
        };
        let turn = self.tx.turn;
        if self.tx.inside && !has(self, turn) {
            // Descriptors of the packet are on their way: nobody else may come between.
            let waits = |q: &TxQueue| q.enable.is_on() && q.ring.owned() != 0;
            if self.txq.get(turn as usize).is_some_and(waits) {
                return false;
            }
            self.tx.inside = false;
        }
        if !self.tx.inside {
            let Some(n) = self.active_tx.iter().find(|&n| n > turn && has(self, n)) else {
                let Some(n) = self.active_tx.iter().find(|&n| has(self, n)) else {
                    self.tx.dry = self.tx.jobs.is_empty();
                    return false;
                };
                self.tx.turn = n;
                return self.tx_descriptor(n);
            };
            self.tx.turn = n;
        }
        self.tx_descriptor(self.tx.turn)
    }

    fn tx_descriptor(&mut self, n: u32) -> bool {
        let Some(q) = self.txq.get_mut(n as usize) else { return false };
        let Some(d) = q.ring.pop() else { return false };
        let dwords = [0, 1, 2, 3].map(|i| dword(&d.bytes, i));
        let is_advanced = dwords[2] & tx::DEXT != 0;
        let kind = dwords[2] >> tx::DTYP_SHIFT & 15;
        let at = u64::from(n) << 32 | u64::from(d.index);
        q.without_report += 1;
        let far = q.without_report == REPORT_MAX + 1;
        if is_advanced && kind == tx::DTYP_CONTEXT {
            let slot = (dwords[3] >> tx::IDX_SHIFT & 1) as usize;
            q.contexts[slot] = Some(Context::read(dwords));
            let report = dwords[2] & tx::RS != 0;
            if report {
                let report = Report { index: d.index, bytes: build([0, 0, 0, tx::DD]) };
                self.tx_report(n, report);
            }
            if self.txq.get(n as usize).is_some_and(|q| q.gathering.is_none()) && !self.tx.has(n) {
                self.write_tdh(n);
            }
        } else {
            if is_advanced && kind != tx::DTYP_DATA {
                self.tell(Misuse::TxDescriptorType, at);
            }
            self.tx_data(n, d.index, dwords, address(&d.bytes));
        }
        let threshold = self.csr.get(map::TXDCTL + 64 * n) >> queue::WTHRESH_SHIFT & 0x7f;
        if far && threshold == 0 {
            self.tell(Misuse::TxReportDistance, at);
        }
        self.fetch_tx(n);
        true
    }

    /// A data descriptor of either form: its buffer is read.
    fn tx_data(&mut self, n: u32, index: u32, dwords: [u32; 4], addr: u64) {
        let at = u64::from(n) << 32 | u64::from(index);
        let Some(mut job) = self.txq.get_mut(n as usize).and_then(|q| q.gathering.take()) else {
            let job = self.begin_job(n, dwords, at);
            if let Some(q) = self.txq.get_mut(n as usize) {
                q.gathering = Some(job);
                return self.tx_data(n, index, dwords, addr);
            }
            return;
        };
        let len = dwords[2] & tx::LENGTH;
        let limit = if job.orders.segment { TSO_MAX } else { self.params.max_frame as usize };
        if job.parts.len() >= PARTS_MAX && !job.bad {
            job.bad = true;
            self.tell(Misuse::TxTooManyParts, at);
        }
        if job.bytes + len as usize > limit && !job.bad {
            job.bad = true;
            self.tell(Misuse::TxTooLong, at);
        }
        if len != 0 && !job.bad {
            if addr == 0 {
                self.tell(Misuse::NullBuffer, at);
            }
            let part = job.parts.len() as u32;
            job.parts.push(None);
            job.missing += 1;
            job.bytes += len as usize;
            self.out.read(addr, len, What::Data, Read::TxData { job: job.id, part });
        }
        let is_last = dwords[2] & tx::EOP != 0;
        if dwords[2] & tx::RS != 0 {
            let bytes = if job.is_legacy {
                build([dwords[0], dwords[1], dwords[2], dwords[3] | tx::DD])
            } else {
                build([0, 0, 0, tx::DD])
            };
            job.reports.push(Report { index, bytes });
            if let Some(q) = self.txq.get_mut(n as usize) {
                q.without_report = 0;
            }
        }
        self.tx.inside = !is_last;
        if !is_last {
            if let Some(q) = self.txq.get_mut(n as usize) {
                q.gathering = Some(job);
            }
            return;
        }
        self.end_job(&mut job, dwords);
        self.tx.job_bytes += job.bytes;
        self.tx.jobs.push_back(job);
    }

    /// Data of a packet came.
    pub(crate) fn tx_data_filled(&mut self, id: u64, part: u32, bytes: &[u8]) {
        let in_queues = self.txq.iter_mut().filter_map(|q| q.gathering.as_mut());
        let job = self.tx.jobs.iter_mut().chain(in_queues).find(|job| job.id == id);
        let Some(job) = job else { return };
        if let Some(slot) = job.parts.get_mut(part as usize).filter(|slot| slot.is_none()) {
            *slot = Some(bytes.to_vec());
            job.missing -= 1;
        }
    }

    /// Makes the next frame of the oldest packet, or ends it.
    fn tx_send(&mut self) -> bool {
        let now_ps = self.now_ps;
        let quiet =
            self.flow.is_paused(now_ps) || !(self.link.up || self.loops()) || !self.may_master();
        // The transmit packet buffer decouples DMA from the wire (8.2.3.9.13).
        let buffer = u64::from(self.csr.get(map::TXPBSIZE) & 0x000f_fc00);
        let ahead_ps = buffer.saturating_mul(self.params.wire_byte_ps);
        let full = self.tx.wire.len() >= self.params.wire_limit.max(1)
            || self.tx.free_ps > now_ps.saturating_add(ahead_ps);
        let Some(job) = self.tx.jobs.front_mut() else { return false };
        if job.missing != 0 || quiet || full || self.out.len() >= self.params.out_limit {
            return false;
        }
        if job.frames.is_none() && !job.bad {
            let parts = std::mem::take(&mut job.parts);
            let data: Vec<u8> = parts.into_iter().flatten().flatten().collect();
            match Segmenter::new(data, job.orders, self.params.max_frame) {
                Ok(frames) => job.frames = Some(frames),
                Err(why) => {
                    job.bad = true;
                    let at = u64::from(job.queue);
                    self.misuses.tell(why, at);
                }
            }
        }
        let frame = job.frames.as_mut().and_then(Segmenter::next_frame);
        let n = job.queue;
        match frame {
            Some(bytes) if bytes.len() >= 14 => self.send_frame(n, bytes),
            Some(_) => self.stats.tx_bad += 1,
            None => self.end_packet(),
        }
        true
    }

    pub(crate) fn loops(&self) -> bool {
        self.csr.get(map::HLREG0) & hlreg0::LPBK != 0
    }

    /// A frame leaves: counted, looped back or put on the wire.
    fn send_frame(&mut self, n: u32, bytes: Vec<u8>) {
        let on_wire = bytes.len() as u32 + 4;
        self.stats.tx_packets += 1;
        self.csr.count(stat::GPTC, 1);
        self.csr.count(stat::TPT, 1);
        self.csr.count(stat::TXDGPC, 1);
        self.csr.count_pair(stat::GOTCL, on_wire);
        self.csr.count(stat::PTC64 + size_class(on_wire), 1);
        if bytes.first_chunk() == Some(&[0xff; 6]) {
            self.csr.count(stat::BPTC, 1);
        } else if bytes[0] & 1 != 0 {
            self.csr.count(stat::MPTC, 1);
        }
        let counter = self.csr.get(stat::TQSM + n / 4 * 4) >> (8 * (n % 4)) & 15;
        self.csr.count(stat::QPTC + 64 * counter, 1);
        self.csr.count_pair(stat::QBTC_L + 8 * counter, on_wire);
        self.put_on_wire(bytes);
    }

    pub(crate) fn put_on_wire(&mut self, bytes: Vec<u8>) {
        let frame = Frame::new(self.tx.frames, bytes.into());
        self.tx.frames += 1;
        if self.loops() {
            return self.arrive(frame, None, true);
        }
        // Preamble 8, FCS 4, gap 12.
        let slot = (frame.bytes.len() as u64 + 24).saturating_mul(self.params.wire_byte_ps);
        self.tx.free_ps = self.tx.free_ps.max(self.now_ps).saturating_add(slot);
        self.tx.wire.push_back(Sent { frame, done_ps: self.tx.free_ps });
    }

    /// All frames of the oldest packet have left: its descriptors are done.
    fn end_packet(&mut self) {
        let Some(job) = self.tx.jobs.pop_front() else { return };
        self.tx.job_bytes -= job.bytes;
        self.stats.tx_bad += u64::from(job.bad);
        self.write_tdh(job.queue);
        for report in job.reports {
            self.tx_report(job.queue, report);
        }
        self.settle_tx(job.queue);
    }

    /// When the wire makes room again.
    #[inline]
    pub(crate) fn tx_deadline(&self) -> Option<u64> {
        let job = self.tx.jobs.front().filter(|job| job.missing == 0)?;
        let buffer = u64::from(self.csr.get(map::TXPBSIZE) & 0x000f_fc00);
        let room_ps = self.tx.free_ps.saturating_sub(buffer * self.params.wire_byte_ps);
        let waits = room_ps > self.now_ps && job.missing == 0;
        waits.then_some(room_ps).or_else(|| self.flow.resume_ps(self.now_ps))
    }

    pub(crate) fn reset_transmit(&mut self) {
        let frames = self.tx.frames;
        let next_job = self.tx.next_job;
        let wire = std::mem::take(&mut self.tx.wire);
        self.tx = TxEngine { frames, next_job, wire, ..TxEngine::default() };
        self.active_tx = QueueSet::default();
        for n in 0..QUEUES {
            self.reset_tx_queue(n);
        }
    }
}
