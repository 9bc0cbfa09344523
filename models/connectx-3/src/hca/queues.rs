//! Contexts of event queues, completion queues and queue pairs, from mailboxes to engines.

use super::bytes::{be16, be32, be64, byte};
use super::firmware::status;
use super::hcr::{Answer, Command};
use super::icm::Owner;
use super::send::SendQueue;
use super::Hca;
use pollproof_regs::mlx4::{cqe, eqe, CmdStatus, CqContext, EqContext, RqContext};
use pollproof_regs::mlx4_hca::{cqc, eqc, op, qpc, sq};

const BAD_PARAM: u8 = 3;
const BAD_STATE: u8 = 0x10;
/// Queue pairs whose numbers are beyond: more than the engines keep tables for.
const QPS: u32 = 4096;
/// Pages of a buffer: of 4 KiB, 16 MiB.
const PAGES_MAX: u64 = 4096;
/// log2 of the largest buffer: what a space of addresses holds.
const BUFFER_LOG_MAX: u32 = 28;
/// INIT_HCA: byte offset of the translation entries; log2 of something in the low bits.
const HCA_MTT_BASE: usize = 0x100;
/// MAP_EQ: the mask is taken back.
const UNMAP: u32 = 1 << 31;

/// State of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Init,
    Rtr,
    Rts,
}

/// A queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Qp {
    state: State,
    receives: bool,
}

/// Where a buffer's entries are, as a context says.
fn place(context: &[u8], log_page: usize, mtt: usize) -> (u32, u64) {
    let first = u64::from(byte(context, mtt)) << 32 | u64::from(be32(context, mtt + 1));
    (((byte(context, log_page) & 0x3f) + 12).min(BUFFER_LOG_MAX), first & !7)
}

/// Bytes of both queues of a pair: log2 of entries and stride from `log2 << 3 | log2 - 4`.
fn queue_bytes(size_stride: u32) -> (u32, u32) {
    (size_stride >> 3 & 0x1f, (size_stride & 7) + 4)
}

impl Hca {
    /// Which translation entries a command needs: address in context memory, bytes.
    pub(super) fn mtt_range(&self, command: &Command, mailbox: &[u8]) -> Option<(u64, u32)> {
        let log_size = || byte(mailbox, eqc::LOG_SIZE) & 0x1f;
        let (bytes, (log_page, first)) = match command.opcode {
            op::SW2HW_EQ => {
                (u64::from(eqe::BYTES) << log_size(), place(mailbox, eqc::LOG_PAGE, eqc::MTT))
            }
            op::SW2HW_CQ => {
                (u64::from(cqe::BYTES) << log_size(), place(mailbox, eqc::LOG_PAGE, eqc::MTT))
            }
            op::INIT2RTR_QP => {
                let context = mailbox.get(8..)?;
                if be32(context, qpc::FLAGS) & qpc::RSS != 0 {
                    return None;
                }
                let bytes = [qpc::RQ_SIZE_STRIDE, qpc::SQ_SIZE_STRIDE].map(|at| {
                    let (size, stride) = queue_bytes(byte(context, at));
                    1_u64 << (size + stride)
                });
                (bytes[0] + bytes[1], place(context, qpc::LOG_PAGE, qpc::MTT))
            }
            _ => return None,
        };
        let pages = bytes.div_ceil(1 << log_page).clamp(1, PAGES_MAX);
        Some((self.mtt_base.wrapping_add(first), 8 * pages as u32))
    }

    pub(super) fn init_hca(&mut self, mailbox: &[u8]) -> Answer {
        self.mtt_base = be64(mailbox, HCA_MTT_BASE) & !0x1f;
        Answer::default()
    }

    pub(super) fn close_hca(&mut self) -> Answer {
        if !self.qps.is_empty() {
            self.engine.misuse("the HCA is closed with queue pairs in use", 0);
        }
        Answer::default()
    }

    pub(super) fn map_eq(&mut self, command: &Command) -> Answer {
        let eqn = command.in_modifier & 0xff_ffff;
        let unmap = command.in_modifier & UNMAP != 0;
        for (kind, slot) in self.event_eqs.iter_mut().enumerate() {
            if command.in_param >> kind & 1 != 0 {
                *slot = (!unmap).then_some(eqn);
            }
        }
        Answer::default()
    }

    /// The buffer of a queue gets its pages; the queue is made by `make` with its address there.
    fn with_space(
        &mut self,
        owner: Owner,
        log_page: u32,
        mtt: &[u8],
        make: impl FnOnce(&mut Self, u64) -> Result<(), CmdStatus>,
    ) -> Answer {
        if !self.icm.add_space(owner, log_page, mtt) {
            self.engine.misuse("translation entry that is not present", owner.base());
            return Answer::status(BAD_PARAM);
        }
        let result = make(self, owner.base());
        if result.is_err() {
            self.icm.remove_space(owner);
        }
        status(result)
    }

    pub(super) fn sw2hw_eq(&mut self, eqn: u32, context: &[u8], mtt: &[u8]) -> Answer {
        let (log_page, _) = place(context, eqc::LOG_PAGE, eqc::MTT);
        if eqn >= self.params.engine.eqs || self.engine.eq_view(eqn).is_some() {
            return Answer::status(BAD_PARAM);
        }
        self.with_space(Owner::Eq(eqn), log_page, mtt, |hca, buf| {
            let context = EqContext {
                buf,
                log_size: byte(context, eqc::LOG_SIZE) & 0x1f,
                vector: be16(context, eqc::VECTOR) & 0x3ff,
                period_us: be16(context, eqc::PERIOD),
                max_count: be16(context, eqc::MAX_COUNT),
            };
            hca.engine.sw2hw_eq(eqn, context)
        })
    }

    pub(super) fn hw2sw_eq(&mut self, eqn: u32) -> Answer {
        let result = self.engine.hw2sw_eq(eqn);
        if result.is_ok() {
            self.icm.remove_space(Owner::Eq(eqn));
            self.event_eqs.iter_mut().filter(|slot| **slot == Some(eqn)).for_each(|s| *s = None);
        }
        status(result)
    }

    pub(super) fn sw2hw_cq(&mut self, cqn: u32, opmod: u32, context: &[u8], mtt: &[u8]) -> Answer {
        let (log_page, _) = place(context, eqc::LOG_PAGE, eqc::MTT);
        if cqn >= self.params.engine.cqs || self.engine.cq_view(cqn).is_some() {
            return Answer::status(BAD_PARAM);
        }
        self.with_space(Owner::Cq(cqn), log_page, mtt, |hca, buf| {
            let context = CqContext {
                buf,
                log_size: byte(context, eqc::LOG_SIZE) & 0x1f,
                stride_bytes: cqe::BYTES,
                eqn: byte(context, cqc::EQN),
                period_us: be16(context, eqc::PERIOD),
                max_count: be16(context, eqc::MAX_COUNT),
                db_record: be64(context, cqc::DB_RECORD),
                sw_init: opmod & 1 != 0,
            };
            hca.engine.sw2hw_cq(cqn, context)
        })
    }

    pub(super) fn modify_cq(&mut self, cqn: u32, context: &[u8]) -> Answer {
        let (period_us, max_count) = (be16(context, eqc::PERIOD), be16(context, eqc::MAX_COUNT));
        status(self.engine.modify_cq(cqn, period_us, max_count))
    }

    pub(super) fn hw2sw_cq(&mut self, cqn: u32) -> Answer {
        let result = self.engine.hw2sw_cq(cqn);
        if result.is_ok() {
            self.icm.remove_space(Owner::Cq(cqn));
        }
        status(result)
    }

    /// Transitions of a queue pair. It receives from RTR on and sends from RTS on.
    pub(super) fn modify_qp(
        &mut self,
        qpn: u32,
        opcode: u32,
        mailbox: &[u8],
        mtt: &[u8],
    ) -> Answer {
        let context = mailbox.get(8..).unwrap_or(&[]);
        let before = self.qps.get(&qpn).map(|qp| qp.state);
        let (from, to) = match opcode {
            op::RST2INIT_QP => (None, State::Init),
            op::INIT2RTR_QP => (Some(State::Init), State::Rtr),
            op::RTR2RTS_QP => (Some(State::Rtr), State::Rts),
            _ => (Some(State::Rts), State::Rts),
        };
        if before != from {
            self.engine.misuse("transition from another state of the queue pair", qpn.into());
            return Answer::status(BAD_STATE);
        }
        if be32(context, qpc::FLAGS) & qpc::RSS != 0 {
            self.not_modelled.entry(qpn).or_insert(Some("RSS queue pair"));
        } else if to == State::Rtr {
            let (log_page, _) = place(context, qpc::LOG_PAGE, qpc::MTT);
            let answer = self.with_space(Owner::Qp(qpn), log_page, mtt, |hca, buf| {
                hca.make_queues(qpn, context, buf)
            });
            if answer.status != 0 {
                return answer;
            }
        } else if to == State::Rts {
            if let Some(queue) = self.sends.get_mut(&qpn) {
                queue.enable();
            }
        }
        let receives = self.engine.rq_view(qpn).is_some();
        self.qps.insert(qpn, Qp { state: to, receives });
        Answer::default()
    }

    /// The larger stride lies first in the buffer; a pair that only sends has no receive queue.
    fn make_queues(&mut self, qpn: u32, context: &[u8], buf: u64) -> Result<(), CmdStatus> {
        let (rq_size, rq_stride) = queue_bytes(byte(context, qpc::RQ_SIZE_STRIDE));
        let (sq_size, sq_stride) = queue_bytes(byte(context, qpc::SQ_SIZE_STRIDE));
        let has_rq = byte(context, qpc::RQ_SIZE_STRIDE) != 0;
        if rq_size + rq_stride >= BUFFER_LOG_MAX || sq_size + sq_stride >= BUFFER_LOG_MAX {
            return Err(CmdStatus::BadParam);
        }
        let rq_first = has_rq && rq_stride > sq_stride;
        let rq_at = if rq_first { 0 } else { 1 << (sq_size + sq_stride) };
        let sq_at = if rq_first { 1 << (rq_size + rq_stride) } else { 0 };
        if has_rq {
            if qpn >= QPS {
                return Err(CmdStatus::BadResource);
            }
            let context = RqContext {
                buf: buf + rq_at,
                log_size: rq_size,
                stride_bytes: 1 << rq_stride,
                db_record: be64(context, qpc::DB_RECORD) & !3,
                cqn: be32(context, qpc::CQN_RECV) & 0xff_ffff,
            };
            self.engine.start_rq(qpn, context)?;
        }
        if sq_size > 0 && 1 << sq_stride == sq::TXBB_BYTES {
            let cqn = be32(context, qpc::CQN_SEND) & 0xff_ffff;
            self.sends.insert(qpn, SendQueue::new(buf + sq_at, sq_size, cqn));
        }
        Ok(())
    }

    /// 2RST.
    pub(super) fn reset_qp(&mut self, qpn: u32) -> Answer {
        let Some(qp) = self.qps.remove(&qpn) else { return Answer::status(BAD_STATE) };
        self.sends.remove(&qpn);
        if qp.receives {
            if self.engine.default_rqn == Some(qpn) {
                self.engine.default_rqn = None;
            }
            let result = self.engine.stop_rq(qpn);
            self.icm.remove_space(Owner::Qp(qpn));
            return status(result);
        }
        self.icm.remove_space(Owner::Qp(qpn));
        Answer::default()
    }

    /// The queue pair that takes what no rule takes.
    pub(super) fn set_default_qp(&mut self, qpn: u32) -> Answer {
        status(self.engine.set_default_rqn(Some(qpn)))
    }
}
