//! Completion queue: `cq.c`, `include/linux/mlx4/cq.h`, `mlx4_en.h` (6.12).

use crate::{ArmForm, VALID_BEFORE_USE};
use pollproof_events::{emit, Event};
use pollproof_kapi::{Below, DmaAddr, Layout, NoMemory};
use pollproof_regs::mlx4::{be, cqe, db, BAR_UAR};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, dma_rmb, wmb, AtomicU32, Lifetime, PlainU32, What};

/// Doorbell records: two words, both marked.
pub(crate) const RECORD: Layout = Layout {
    name: "record",
    rule: "POST-BEFORE-DOORBELL",
    stride_bytes: db::RECORD_BYTES as u32,
    marked: 0b11,
};

/// `struct mlx4_cq` with its buffer.
pub struct Cq {
    /// Number.
    pub cqn: u32,
    /// Bus address of the entries.
    pub buf: DmaAddr,
    /// Bus address of the doorbell record.
    pub db: DmaAddr,
    /// Entries, a power of two.
    pub size: u32,
    /// Lifetime: the completion handler must not outlive the CQ.
    pub lifetime: Lifetime,
    stride_bytes: u32,
    /// `cons_index`: free running, whole width. Only the consumer touches it.
    cons_index: PlainU32,
    /// `arm_sn`: counted up by the completion handler.
    arm_sn: AtomicU32,
}

/// What the driver uses of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Free-running index.
    pub index: u32,
    pub rss_hash: u32,
    pub byte_cnt: u32,
    pub checksum_ok: bool,
    pub error: bool,
}

impl Cq {
    pub(crate) fn alloc(below: &Below, cqn: u32, size: u32, stride: u32) -> Result<Self, NoMemory> {
        let words = stride / 4;
        let layout = Layout {
            name: "cq",
            rule: VALID_BEFORE_USE,
            stride_bytes: stride,
            marked: 1 << (words - 1),
        };
        let buf = below.dma.alloc_coherent((size * stride) as usize, layout)?;
        let db = below.dma.alloc_coherent(db::RECORD_BYTES, RECORD)?;
        let cons = What { rule: "SINGLE-CONSUMER", name: "cq->cons_index" };
        Ok(Self {
            cqn,
            buf,
            db,
            size,
            lifetime: Lifetime::new("cq"),
            stride_bytes: stride,
            cons_index: PlainU32::new(0, cons),
            arm_sn: AtomicU32::new(1),
        })
    }

    /// `cons_index` as its owner sees it.
    pub fn cons_index(&self) -> u32 {
        self.cons_index.get()
    }

    /// Owner bit 1 in every entry: none is valid on the first lap (`mlx4_en_activate_cq`).
    pub(crate) fn init_ownership(&self, below: &Below) {
        for i in 0..self.size {
            below.dma.store32(
                self.entry(i) + u64::from(cqe::OWNER_OPCODE),
                be(cqe::OWNER),
                Relaxed,
            );
        }
    }

    fn entry(&self, index: u32) -> DmaAddr {
        let body = u64::from(self.stride_bytes - cqe::BYTES);
        self.buf + u64::from(index & (self.size - 1)) * u64::from(self.stride_bytes) + body
    }

    /// Whether the entry at the consumer index is the driver's: its owner bit has the parity of the
    /// lap. The lap is counted by the whole index, the position by the masked one.
    fn owner_word_if_valid(&self, below: &Below) -> Option<u32> {
        let ci = self.cons_index.get();
        let at = self.entry(ci) + u64::from(cqe::OWNER_OPCODE);
        let word = be(below.dma.load32(at, Relaxed));
        let lap = if bug("F-9") { ci & (self.size - 1) } else { ci };
        ((word & cqe::OWNER != 0) == (lap & self.size != 0)).then_some(word)
    }

    /// Whether a completion waits.
    pub(crate) fn has_work(&self, below: &Below) -> bool {
        self.owner_word_if_valid(below).is_some()
    }

    /// The completion at the consumer index, if it is ours.
    pub(crate) fn peek(&self, below: &Below) -> Option<Completion> {
        let owner = self.owner_word_if_valid(below)?;
        if !bug("E-1") {
            // The other words may be read only after the owner bit was seen.
            dma_rmb();
        }
        let index = self.cons_index.get();
        let at = self.entry(index);
        let word = |offset: u32| be(below.dma.read32(at + u64::from(offset)));
        let status = word(cqe::STATUS) >> 16;
        Some(Completion {
            index,
            rss_hash: word(cqe::RSS_HASH),
            byte_cnt: word(cqe::BYTE_CNT),
            checksum_ok: status & cqe::STATUS_IPOK != 0
                && status & (cqe::STATUS_TCP | cqe::STATUS_UDP) != 0
                && word(cqe::WQE_INDEX_CHECKSUM) & 0xffff == 0xffff,
            error: owner & cqe::OPCODE_MASK == cqe::OPCODE_ERROR,
        })
    }

    /// `++cons_index`.
    pub(crate) fn consume(&self) {
        self.cons_index.set(self.cons_index.get().wrapping_add(1));
    }

    /// `mlx4_cq_set_ci`: publishes the consumer index in the record.
    pub(crate) fn set_ci(&self, below: &Below) {
        let ci = self.cons_index.get() & db::INDEX_MASK;
        emit(Event::CqSetCi { cq: self.cqn, consumer: ci });
        below.dma.store32(self.db + db::CQ_SET_CI, be(ci), Relaxed);
    }

    /// `++cq->arm_sn` of the completion handler.
    pub(crate) fn event_seen(&self) {
        self.arm_sn.fetch_add(1, Relaxed);
    }

    /// `mlx4_cq_arm`: asks for the next completion's event, from `ci` on.
    pub(crate) fn arm(&self, below: &Below, form: ArmForm, napi: u32, ci: u32) {
        let sn = self.arm_sn.load(Relaxed) & 3;
        emit(Event::ArmCq { cq: self.cqn, napi, consumer: ci, sn });
        let first = sn << db::SN_SHIFT | db::CMD_NEXT;
        below.dma.store32(self.db + db::CQ_ARM, be(first | ci), Relaxed);
        if form == ArmForm::Doorbell {
            // The record must be in memory before the device is told to look.
            wmb();
            let doorbell = u64::from(be(first | self.cqn)) | u64::from(be(ci)) << 32;
            below.mmio.write64(BAR_UAR, db::CQ_DOORBELL, doorbell);
        }
    }

    pub(crate) fn release(&self, below: &Below) {
        below.dma.free_coherent(self.buf);
        below.dma.free_coherent(self.db);
    }
}
