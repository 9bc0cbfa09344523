//! A host in a few lines: memory as bytes, one EQ, CQs and rings, all requests performed at once.

use pollproof_connectx_3::{ConnectX3, Params};
use pollproof_events::What;
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, db, CqContext, EqContext, RqContext, BAR_UAR};
use pollproof_wire::Frame;
use std::sync::Arc;

pub const EQ_BUF: u64 = 0x1000;
pub const CQ_BUF: u64 = 0x4000;
pub const RQ_BUF: u64 = 0x8000;
pub const RECORDS: u64 = 0xc000;
pub const DATA: u64 = 0x1_0000;
pub const BUF_BYTES: u32 = 256;

/// The host.
pub struct Host {
    pub dev: ConnectX3,
    pub mem: Vec<u8>,
    /// Vectors of the messages that came.
    pub msix: Vec<u32>,
    /// What was written, in order.
    pub writes: Vec<(What, u64, usize)>,
    pub reads: Vec<(What, u64)>,
}

impl Host {
    pub fn new(params: Params) -> Self {
        let mem = vec![0; 0x4_0000];
        Self { dev: ConnectX3::new(params), mem, msix: vec![], writes: vec![], reads: vec![] }
    }

    /// One EQ of 16 entries; `rings` CQs and rings of `1 << log_size` entries.
    pub fn with_rings(params: Params, rings: u32, log_size: u32, moderation: (u32, u32)) -> Self {
        let mut host = Self::new(params);
        host.dev.sw2hw_eq(0, eq_context()).expect("an EQ");
        for n in 0..rings {
            let cq = CqContext { log_size, ..cq_context(n, moderation) };
            host.dev.sw2hw_cq(n, cq).expect("a CQ");
            let rq = RqContext { log_size, ..rq_context(n) };
            host.dev.start_rq(n, rq).expect("a ring");
        }
        host.dev.set_default_rqn(Some(0)).expect("a ring");
        host.run();
        host
    }

    pub fn word(&self, addr: u64) -> u32 {
        let at = addr as usize;
        u32::from_be_bytes(self.mem[at..at + 4].try_into().expect("4 bytes"))
    }

    pub fn put(&mut self, addr: u64, word: u32) {
        let at = addr as usize;
        self.mem[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    /// Performs one request; false when there is none.
    pub fn step(&mut self) -> bool {
        match self.dev.pop() {
            None => return false,
            Some(Outbound::Msix { vector }) => self.msix.push(vector),
            Some(Outbound::DmaWrite { addr, payload, what }) => {
                self.writes.push((what, addr, payload.len()));
                let at = addr as usize;
                self.mem[at..at + payload.len()].copy_from_slice(&payload);
            }
            Some(Outbound::DmaRead { tag, addr, len, what }) => {
                self.reads.push((what, addr));
                let at = addr as usize;
                let bytes = self.mem[at..at + len as usize].to_vec();
                self.dev.dma_complete(tag, &bytes);
            }
        }
        true
    }

    pub fn run(&mut self) {
        while self.step() {}
    }

    /// Posts WQEs of a ring up to counter `producer`.
    pub fn post(&mut self, rqn: u32, log_size: u32, from: u32, producer: u32) {
        for counter in from..producer {
            let slot = counter & ((1 << log_size) - 1);
            let wqe = RQ_BUF + u64::from(rqn) * 0x400 + u64::from(slot) * 16;
            let data = DATA + u64::from(rqn) * 0x4000 + u64::from(slot * BUF_BYTES);
            self.put(wqe, BUF_BYTES);
            self.put(wqe + 4, 0x55);
            self.put(wqe + 8, (data >> 32) as u32);
            self.put(wqe + 12, data as u32);
        }
        self.put(rq_record(rqn), producer & db::RQ_MASK);
    }

    pub fn set_ci(&mut self, cqn: u32, ci: u32) {
        self.put(cq_record(cqn), ci & db::INDEX_MASK);
    }

    pub fn arm(&mut self, cqn: u32, sn: u32, ci: u32) {
        let first = sn << db::SN_SHIFT | db::CMD_NEXT | cqn;
        let value = u64::from(be(first)) | u64::from(be(ci & db::INDEX_MASK)) << 32;
        self.dev.mmio_write64(BAR_UAR, db::CQ_DOORBELL, value);
    }

    pub fn eq_doorbell(&mut self, ci: u32, arm: bool) {
        let word = (ci & db::INDEX_MASK) | if arm { db::EQ_ARM } else { 0 };
        self.dev.mmio_write32(BAR_UAR, db::eq_offset(0), be(word));
    }

    pub fn frame(&mut self, number: u64, len: usize) {
        let mut bytes = vec![0u8; len];
        for (at, byte) in number.to_le_bytes().iter().enumerate() {
            if let Some(to) = bytes.get_mut(14 + at) {
                *to = *byte;
            }
        }
        self.dev.rx_frame(Frame::new(number, Arc::from(bytes)));
    }
}

pub fn eq_context() -> EqContext {
    EqContext { buf: EQ_BUF, log_size: 4, vector: 3, period_us: 0, max_count: 0 }
}

pub fn cq_record(n: u32) -> u64 {
    RECORDS + u64::from(n) * 16
}

pub fn rq_record(n: u32) -> u64 {
    RECORDS + u64::from(n) * 16 + 8
}

pub fn cq_context(n: u32, (period_us, max_count): (u32, u32)) -> CqContext {
    CqContext {
        buf: CQ_BUF + u64::from(n) * 0x400,
        log_size: 2,
        stride_bytes: 32,
        eqn: 0,
        period_us,
        max_count,
        db_record: cq_record(n),
        sw_init: false,
    }
}

pub fn rq_context(n: u32) -> RqContext {
    RqContext {
        buf: RQ_BUF + u64::from(n) * 0x400,
        log_size: 2,
        stride_bytes: 16,
        db_record: rq_record(n),
        cqn: n,
    }
}
