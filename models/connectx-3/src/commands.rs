//! Firmware commands, as methods. A value that the device could not live with is refused.

use crate::cq::Cq;
use crate::eq::Eq;
use crate::rq::Rq;
use crate::rss::Rss;
use crate::ConnectX3;
use pollproof_events::What;
use pollproof_regs::mlx4::{eqe, wqe, CmdStatus, CqContext, EqContext, RqContext, RssContext};

/// PRM: log2 of the largest EQ.
const EQ_LOG_MAX: u32 = 22;
/// PRM: log2 of the largest CQ.
const CQ_LOG_MAX: u32 = 17;
/// The producer counter has 16 bits, and full must differ from empty.
const RQ_LOG_MAX: u32 = 15;
/// Largest WQE: 16 segments; mlx4_en uses up to 4.
const WQE_STRIDE_MAX: u32 = 256;
/// Moderation fields are 16 bits wide.
const MODERATION_MAX: u32 = 0xffff;
/// Rings of one RSS context, log2 (`QUERY_DEV_CAP` offers 7 or more).
const RSS_LOG_MAX: u32 = 7;

fn require(sound: bool) -> Result<(), CmdStatus> {
    if sound {
        Ok(())
    } else {
        Err(CmdStatus::BadParam)
    }
}

/// Whether `count` entries of `stride` at `buf` are aligned and do not wrap around.
fn is_sound(buf: u64, count: u64, stride: u32, align: u32) -> bool {
    let stride = u64::from(stride);
    buf.is_multiple_of(u64::from(align))
        && buf.checked_add(count * stride).is_some_and(|end| end < 1 << 52)
}

fn is_record(addr: u64, align: u64) -> bool {
    addr.is_multiple_of(align) && addr < 1 << 52
}

/// Puts a new queue into its table.
fn put<T>(table: &mut Vec<Option<T>>, n: u32, queue: T) {
    let n = n as usize;
    if table.len() <= n {
        table.resize_with(n + 1, || None);
    }
    table[n] = Some(queue);
}

fn get<T>(table: &[Option<T>], n: u32) -> Result<&T, CmdStatus> {
    table.get(n as usize).and_then(Option::as_ref).ok_or(CmdStatus::BadResource)
}

fn get_mut<T>(table: &mut [Option<T>], n: u32) -> Result<&mut T, CmdStatus> {
    table.get_mut(n as usize).and_then(Option::as_mut).ok_or(CmdStatus::BadResource)
}

/// Checks that queue `n` can be made.
fn is_new<T>(table: &[Option<T>], n: u32, limit: u32) -> Result<(), CmdStatus> {
    if n >= limit {
        Err(CmdStatus::BadResource)
    } else if get(table, n).is_ok() {
        Err(CmdStatus::ResourceBusy)
    } else {
        Ok(())
    }
}

impl ConnectX3 {
    fn new_epoch(&mut self) -> u32 {
        self.epoch = self.epoch.wrapping_add(1);
        self.epoch
    }

    /// SW2HW_EQ: makes an EQ, armed, and sets the owner bit of all its entries. Linux hands the
    /// buffer over zeroed and takes a clear bit as valid on the first lap (`eq.c`).
    pub fn sw2hw_eq(&mut self, eqn: u32, context: EqContext) -> Result<(), CmdStatus> {
        is_new(&self.eqs, eqn, self.params.eqs)?;
        require(context.log_size <= EQ_LOG_MAX)?;
        require(is_sound(context.buf, 1 << context.log_size, eqe::BYTES, eqe::BYTES))?;
        require(context.vector < 2048)?;
        require(context.period_us <= MODERATION_MAX && context.max_count <= MODERATION_MAX)?;
        if context.period_us != 0 || context.max_count != 0 {
            self.misuse("EQ moderation is not modelled", u64::from(eqn));
        }
        put(&mut self.eqs, eqn, Eq::new(context));
        self.out.fill_owner(context.buf, eqe::BYTES, 1 << context.log_size, What::Eqe);
        Ok(())
    }

    /// HW2SW_EQ: takes an EQ away.
    pub fn hw2sw_eq(&mut self, eqn: u32) -> Result<(), CmdStatus> {
        get(&self.eqs, eqn)?;
        if self.cqs.iter().flatten().any(|cq| cq.context.eqn == eqn) {
            return Err(CmdStatus::ResourceBusy);
        }
        self.eqs[eqn as usize] = None;
        Ok(())
    }

    /// SW2HW_CQ: makes a CQ, not armed; without `sw_init` it sets the owner bit of all entries.
    pub fn sw2hw_cq(&mut self, cqn: u32, context: CqContext) -> Result<(), CmdStatus> {
        is_new(&self.cqs, cqn, self.params.cqs)?;
        get(&self.eqs, context.eqn)?;
        let stride = context.stride_bytes;
        require(context.log_size <= CQ_LOG_MAX && (stride == 32 || stride == 64))?;
        require(is_sound(context.buf, 1 << context.log_size, stride, stride))?;
        require(is_record(context.db_record, 8))?;
        require(context.period_us <= MODERATION_MAX && context.max_count <= MODERATION_MAX)?;
        let epoch = self.new_epoch();
        put(&mut self.cqs, cqn, Cq::new(context, epoch));
        if !context.sw_init {
            self.out.fill_owner(context.buf, stride, 1 << context.log_size, What::Cqe);
        }
        Ok(())
    }

    /// MODIFY_CQ, opmod 1: changes moderation.
    pub fn modify_cq(&mut self, cqn: u32, period_us: u32, max_count: u32) -> Result<(), CmdStatus> {
        let cq = get_mut(&mut self.cqs, cqn)?;
        require(period_us <= MODERATION_MAX && max_count <= MODERATION_MAX)?;
        cq.context.period_us = period_us;
        cq.context.max_count = max_count;
        if period_us == 0 && std::mem::take(&mut cq.timer) {
            self.timers.retain(|&t| t != cqn);
        }
        self.moderate(cqn, false);
        Ok(())
    }

    /// HW2SW_CQ: takes a CQ away.
    pub fn hw2sw_cq(&mut self, cqn: u32) -> Result<(), CmdStatus> {
        if get(&self.cqs, cqn)?.rings != 0 {
            return Err(CmdStatus::ResourceBusy);
        }
        self.cqs[cqn as usize] = None;
        self.events.retain(|event| event.cqn != cqn);
        self.timers.retain(|&t| t != cqn);
        Ok(())
    }

    /// The QP transitions up to RTS, for a receive queue.
    pub fn start_rq(&mut self, rqn: u32, context: RqContext) -> Result<(), CmdStatus> {
        is_new(&self.rqs, rqn, self.params.rqs)?;
        let stride = context.stride_bytes;
        let size = wqe::DATA_SEG_BYTES..=WQE_STRIDE_MAX;
        require(context.log_size <= RQ_LOG_MAX)?;
        require(stride.is_power_of_two() && size.contains(&stride))?;
        require(is_sound(context.buf, 1 << context.log_size, stride, wqe::DATA_SEG_BYTES))?;
        require(is_record(context.db_record, 4))?;
        get_mut(&mut self.cqs, context.cqn)?.rings += 1;
        let epoch = self.new_epoch();
        let rq = Rq::new(context, epoch, self.params.prefetch_wqes);
        put(&mut self.rqs, rqn, rq);
        self.pump();
        Ok(())
    }

    /// 2RST: stops a receive queue. WQEs that it held are not flushed to the CQ.
    pub fn stop_rq(&mut self, rqn: u32) -> Result<(), CmdStatus> {
        let cqn = get(&self.rqs, rqn)?.context.cqn;
        self.rqs[rqn as usize] = None;
        if let Some(cq) = self.cq(cqn) {
            cq.rings -= 1;
        }
        self.pump();
        Ok(())
    }

    /// Spreads frames over rings; the first ring takes what has no hash. The rings must be
    /// started.
    pub fn set_rss(&mut self, context: Option<RssContext>) -> Result<(), CmdStatus> {
        if let Some(context) = &context {
            require(context.log_queues <= RSS_LOG_MAX)?;
            for i in 0..1 << context.log_queues {
                let rqn = context.base_rqn.checked_add(i).ok_or(CmdStatus::BadParam)?;
                get(&self.rqs, rqn)?;
            }
        }
        self.rss = context.map(Rss::new);
        self.pump();
        Ok(())
    }

    /// Sends all frames to one ring while there is no RSS.
    pub fn set_default_rqn(&mut self, rqn: Option<u32>) -> Result<(), CmdStatus> {
        if let Some(rqn) = rqn {
            get(&self.rqs, rqn)?;
        }
        self.default_rqn = rqn;
        self.pump();
        Ok(())
    }
}
