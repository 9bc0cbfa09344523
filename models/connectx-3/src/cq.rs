//! Completion queues: owner by lap, arm with sequence numbers, moderation, overrun.

use crate::eq::entry;
use crate::out::Read;
use crate::{ArmSource, ConnectX3};
use pollproof_events::{emit, Event, What};
use pollproof_pcie::Payload;
use pollproof_regs::mlx4::{cqe, db, eqe, CqContext};
use pollproof_sync::switch::bug;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Never armed, or fired since.
    Off,
    Next,
    /// Only a solicited completion or an error fires; Ethernet receives are never solicited.
    Solicited,
}

pub(crate) struct Cq {
    pub(crate) context: CqContext,
    pub(crate) epoch: u32,
    pub(crate) producer: u32,
    /// 24 bits, as last heard.
    consumer: u32,
    arm: Arm,
    /// Sequence number that the next arm must carry; none: any.
    sn: Option<u32>,
    /// Producer when completions were last known to be seen or notified.
    notified: u32,
    /// When the first completion after that was written.
    first_ps: u64,
    pub(crate) timer: bool,
    stopped: bool,
    reading: bool,
    /// Frame for which the record was read last, by order of arrival.
    read_for: Option<u64>,
    /// Rings that complete into it.
    pub(crate) rings: u32,
}

/// State of a CQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqView {
    /// Free-running producer index.
    pub producer: u32,
    /// Consumer index as the device knows it, 24 bits.
    pub consumer: u32,
    /// Entries.
    pub size: u32,
    /// Whether the next completion is signalled, at once or by a moderation timer.
    pub armed: bool,
    /// Whether a moderation timer runs.
    pub timer: bool,
    /// When it expires, if it runs.
    pub deadline_ps: Option<u64>,
    /// Whether it stopped by an overrun.
    pub stopped: bool,
    /// Sequence number that the next arm must carry; none: any.
    pub next_sn: Option<u32>,
}

/// Whether a CQE can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It can.
    Yes,
    /// The record is being read.
    Wait,
    /// The queue is full, as its record says: it stops.
    Overrun,
    /// The queue stopped before, or is none.
    Stopped,
}

impl Cq {
    pub(crate) fn new(context: CqContext, epoch: u32) -> Self {
        Self {
            context,
            epoch,
            producer: 0,
            consumer: 0,
            arm: Arm::Off,
            sn: None,
            notified: 0,
            first_ps: 0,
            timer: false,
            stopped: false,
            reading: false,
            read_for: None,
            rings: 0,
        }
    }

    fn size(&self) -> u32 {
        1 << self.context.log_size
    }

    fn pending(&self, consumer: u32) -> u32 {
        self.producer.wrapping_sub(consumer) & db::INDEX_MASK
    }

    /// Takes a consumer index; false when it passes the producer. An older one than is known is
    /// no news: a posted doorbell may come after the record that was written later.
    fn set_consumer(&mut self, consumer: u32) -> bool {
        let pending = self.pending(consumer);
        if pending < self.pending(self.consumer) || bug("M-CQ-BACK") {
            self.consumer = consumer;
        }
        pending <= db::INDEX_MASK / 2
    }

    pub(crate) fn deadline_ps(&self) -> u64 {
        self.first_ps.saturating_add(u64::from(self.context.period_us) * 1_000_000)
    }

    /// Whether moderation lets the pending completions be signalled without a timer. A period of 0
    /// is none, whatever the count: adaptive moderation of mlx4_en sets 0 us and 44 packets where
    /// traffic is thin, and would wait for ever for the 44th.
    fn is_due(&self) -> bool {
        let (period, count) = (self.context.period_us, self.context.max_count);
        let missed = u32::from(bug("M-CQ-COUNT"));
        let unnotified = self.producer.wrapping_sub(self.notified).saturating_sub(missed);
        unnotified != 0 && (period == 0 || (count != 0 && unnotified >= count))
    }

    pub(crate) fn view(&self) -> CqView {
        CqView {
            producer: self.producer,
            consumer: self.consumer,
            size: self.size(),
            armed: self.arm == Arm::Next && !self.stopped,
            timer: self.timer,
            deadline_ps: self.timer.then(|| self.deadline_ps()),
            stopped: self.stopped,
            next_sn: self.sn,
        }
    }
}

/// What a completion says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Frame that it tells of.
    pub number: u64,
    /// Receive queue, 24 bits.
    pub qpn: u32,
    /// RSS hash.
    pub hash: u32,
    /// Status, 16 bits.
    pub status: u32,
    /// Bytes of the frame.
    pub byte_count: u32,
    /// Counter of the WQE.
    pub wqe_index: u16,
    /// Checksum, or the syndrome of an error.
    pub checksum: u16,
    /// Opcode, 5 bits.
    pub opcode: u32,
}

impl ConnectX3 {
    pub(crate) fn cq(&mut self, cqn: u32) -> Option<&mut Cq> {
        self.cqs.get_mut(cqn as usize).and_then(Option::as_mut)
    }

    /// Asks for room for the CQE of the frame that arrived as number `arrival`; reads the record
    /// when the known consumer index leaves none. Only a read that was made for this very frame,
    /// thus after its WQE was seen, proves an overrun.
    pub(crate) fn cq_room(&mut self, cqn: u32, arrival: u64) -> Room {
        let Some(cq) = self.cqs.get_mut(cqn as usize).and_then(Option::as_mut) else {
            return Room::Stopped;
        };
        if cq.stopped {
            return Room::Stopped;
        }
        // A CQ of n entries holds n: mlx4_en posts as many WQEs as the CQ has entries.
        if cq.pending(cq.consumer) < cq.size() {
            return Room::Yes;
        }
        if cq.reading {
            return Room::Wait;
        }
        if cq.read_for == Some(arrival) {
            return Room::Overrun;
        }
        let (addr, epoch) = (cq.context.db_record + db::CQ_SET_CI, cq.epoch);
        cq.reading = self.out.read(addr, 4, What::Record, Read::CqRecord { cqn, epoch, arrival });
        self.stats.record_reads += 1;
        Room::Wait
    }

    /// A completion without a frame, for whoever drives the queues alone: what the receive pipeline
    /// does with one when its turn comes. After [`Room::Wait`] it is to be tried again.
    pub fn complete_alone(&mut self, cqn: u32, arrival: u64, what: &Completion) -> Room {
        let room = self.cq_room(cqn, arrival);
        match room {
            Room::Yes => self.push_cqe(cqn, what),
            Room::Overrun => self.cq_overrun(cqn),
            Room::Wait | Room::Stopped => {}
        }
        room
    }

    /// The record was read: `word` is big endian.
    pub(crate) fn cq_record(&mut self, cqn: u32, epoch: u32, arrival: u64, word: u32) {
        let Some(cq) = self.cq(cqn).filter(|cq| cq.epoch == epoch) else { return };
        cq.reading = false;
        cq.read_for = Some(arrival);
        if !cq.set_consumer(word & db::INDEX_MASK) {
            self.misuse("CQ consumer index in the record passes the producer", u64::from(cqn));
        }
    }

    /// A completion found no entry: the CQ stops, and says so (PRM: CQ status 9, CQ_ERR event).
    pub(crate) fn cq_overrun(&mut self, cqn: u32) {
        let Some(cq) = self.cq(cqn) else { return };
        cq.stopped = true;
        cq.timer = false;
        let (producer, consumer, size) = (cq.producer, cq.consumer, cq.size());
        let eqn = cq.context.eqn;
        self.timers.retain(|&t| t != cqn);
        emit(Event::CqOverrun { cq: cqn, producer, consumer, size });
        self.push_eqe(eqn, eqe::TYPE_CQ_ERR, cqn, eqe::SYNDROME_OVERRUN);
    }

    /// Writes a CQE in one DMA write and signals it as arm and moderation say.
    pub(crate) fn push_cqe(&mut self, cqn: u32, what: &Completion) {
        let now_ps = self.now_ps;
        let Some(cq) = self.cqs.get_mut(cqn as usize).and_then(Option::as_mut) else { return };
        let index = cq.producer;
        let phase = u32::from(bug("M-CQ-OWNER"));
        let lap = index.wrapping_add(phase) >> cq.context.log_size & 1;
        let entry = entry(&[
            (cqe::MY_QPN, what.qpn),
            (cqe::RSS_HASH, what.hash),
            (cqe::STATUS, what.status << 16),
            (cqe::BYTE_CNT, what.byte_count),
            (cqe::WQE_INDEX_CHECKSUM, u32::from(what.wqe_index) << 16 | u32::from(what.checksum)),
            (cqe::OWNER_OPCODE, (lap * cqe::OWNER) | what.opcode),
        ]);
        // With a stride of 64 the body lies in the upper half.
        let stride = cq.context.stride_bytes;
        let slot = index & (cq.size() - 1);
        let addr = cq.context.buf + u64::from(slot * stride + stride - cqe::BYTES);
        if index == cq.notified || bug("M-CQ-PERIOD") {
            cq.first_ps = now_ps;
        }
        cq.producer = index.wrapping_add(1);
        emit(Event::CqeWrite { cq: cqn, index, number: what.number });
        self.out.complete(addr, Payload::entry(entry));
        if self.params.arm == ArmSource::Record {
            self.read_arm_record(cqn, u64::from(cqn));
        }
        self.moderate(cqn, what.opcode == cqe::OPCODE_ERROR);
    }

    /// Reads the arm word of a CQ's record.
    pub(crate) fn read_arm_record(&mut self, cqn: u32, at: u64) {
        let Some(cq) = self.cq_ref(cqn) else {
            return self.misuse("arm of a CQ that does not exist", at);
        };
        let (addr, arm) = (cq.context.db_record + db::CQ_ARM, Read::CqArm { cqn, epoch: cq.epoch });
        self.stats.record_reads += 1;
        self.out.read(addr, 4, What::Record, arm);
    }

    /// Fires an armed CQ, or starts its timer.
    pub(crate) fn moderate(&mut self, cqn: u32, error: bool) {
        let Some(cq) = self.cqs.get_mut(cqn as usize).and_then(Option::as_mut) else { return };
        let fires = match cq.arm {
            // One that stopped has nothing more to signal, whatever is changed.
            _ if cq.stopped => return,
            Arm::Off => return,
            Arm::Next => cq.is_due(),
            Arm::Solicited => error,
        };
        if fires {
            self.fire(cqn);
        } else if cq.arm == Arm::Next
            && cq.context.period_us != 0
            && cq.producer != cq.notified
            && !cq.timer
        {
            cq.timer = true;
            self.timers.push(cqn);
        }
    }

    /// One completion event per arm.
    pub(crate) fn fire(&mut self, cqn: u32) {
        let Some(cq) = self.cq(cqn) else { return };
        let had_timer = std::mem::take(&mut cq.timer);
        cq.arm = Arm::Off;
        cq.sn = cq.sn.map(|sn| (sn + 1) & 3);
        cq.notified = cq.producer;
        let (producer, eqn) = (cq.producer, cq.context.eqn);
        if had_timer {
            self.timers.retain(|&t| t != cqn);
        }
        self.stats.fired += 1;
        emit(Event::CqFired { cq: cqn, producer });
        self.push_eqe(eqn, eqe::TYPE_COMP, cqn, 0);
    }

    /// An arm request: `first` is `sn << 28 | cmd | cqn`, `second` the consumer index.
    ///
    /// The sequence number that counts is the first that comes; it advances when the CQ fires. The
    /// same one again only refreshes the consumer index; another one is stale: its event is on its
    /// way already. With completions beyond the consumer index the CQ fires at once, without
    /// moderation (assumed), which closes the race between last poll and arm.
    pub(crate) fn arm_cq(&mut self, cqn: u32, first: u32, second: u32, at: u64) {
        let cmd = first & db::CMD_MASK;
        if cmd != db::CMD_NEXT && cmd != db::CMD_SOLICITED {
            return self.misuse("arm command that is not modelled", at);
        }
        let sn = first >> db::SN_SHIFT & 3;
        let consumer = second & db::INDEX_MASK;
        let Some(cq) = self.cqs.get_mut(cqn as usize).and_then(Option::as_mut) else {
            return self.misuse("arm of a CQ that does not exist", at);
        };
        if cq.stopped {
            return self.misuse("arm of a CQ that stopped", u64::from(cqn));
        }
        let accepted = cq.sn.is_none_or(|expected| expected == sn) || bug("M-CQ-STALE");
        // The record is read after each CQE and is stale most of the time: no news.
        if accepted || self.params.arm != ArmSource::Record {
            emit(Event::CqArmed { cq: cqn, consumer, sn, accepted });
        }
        if !accepted {
            self.stats.stale_arms += 1;
            return;
        }
        self.stats.arms += 1;
        cq.sn = Some(sn);
        let sound = cq.set_consumer(consumer);
        cq.arm = if cmd == db::CMD_NEXT { Arm::Next } else { Arm::Solicited };
        let pending = cq.pending(consumer) != 0;
        if !sound {
            self.misuse("arm with a consumer index that passes the producer", at);
        }
        self.armed(cqn, pending, cmd == db::CMD_NEXT);
    }

    fn armed(&mut self, cqn: u32, pending: bool, next: bool) {
        if pending && next {
            self.fire(cqn);
        } else if let Some(cq) = self.cq(cqn) {
            // The driver has seen all: moderation counts from here.
            cq.notified = cq.producer;
            if std::mem::take(&mut cq.timer) {
                self.timers.retain(|&t| t != cqn);
            }
        }
    }
}
