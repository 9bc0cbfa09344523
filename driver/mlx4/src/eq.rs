//! Event queue and the table from CQ numbers to CQs: `eq.c`, `cq.c` (6.12).

use crate::{lock, Mlx4Port, RxQueue, FIRST_CQN, VALID_BEFORE_USE};
use pollproof_kapi::{Below, DmaAddr, Layout, NoMemory};
use pollproof_regs::mlx4::{be, db, eqe, BAR_UAR};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{dma_rmb, AtomicU32, PlainU32, What};
use std::sync::{Arc, Mutex};

/// `MLX4_NUM_SPARE_EQE`: entries that may be consumed before the index is told to the device.
const SPARE_EQE: u32 = 0x80;

/// `struct mlx4_eq`.
pub struct Eq {
    /// Number.
    pub eqn: u32,
    /// Bus address of the entries.
    pub buf: DmaAddr,
    /// Entries, a power of two.
    pub size: u32,
    /// MSI-X vector.
    pub vector: u32,
    cons_index: PlainU32,
}

impl Eq {
    pub(crate) fn alloc(below: &Below, eqn: u32, size: u32, vector: u32) -> Result<Self, NoMemory> {
        let layout = Layout {
            name: "eq",
            rule: VALID_BEFORE_USE,
            stride_bytes: eqe::BYTES,
            marked: 1 << (eqe::OWNER_WORD / 4),
        };
        let buf = below.dma.alloc_coherent((size * eqe::BYTES) as usize, layout)?;
        let cons = What { rule: "SINGLE-CONSUMER", name: "eq->cons_index" };
        Ok(Self { eqn, buf, size, vector, cons_index: PlainU32::new(0, cons) })
    }

    /// `next_eqe_sw`: type and CQ number of the entry at the consumer index, if it is ours.
    fn next_eqe(&self, below: &Below) -> Option<(u32, u32)> {
        let ci = self.cons_index.get();
        let at = self.buf + u64::from((ci & (self.size - 1)) * eqe::BYTES);
        let owner = be(below.dma.load32(at + u64::from(eqe::OWNER_WORD), Relaxed));
        if (owner & eqe::OWNER != 0) != (ci & self.size != 0) {
            return None;
        }
        // Make sure that the entry is read after its owner bit.
        dma_rmb();
        let kind = be(below.dma.read32(at + u64::from(eqe::TYPE))) >> 16 & 0xff;
        let cqn = be(below.dma.read32(at + u64::from(eqe::CQN))) & db::INDEX_MASK;
        Some((kind, cqn))
    }

    /// `eq_set_ci`.
    pub(crate) fn set_ci(&self, below: &Below, arm: bool) {
        let ci = self.cons_index.get() & db::INDEX_MASK;
        let value = ci | if arm { db::EQ_ARM } else { 0 };
        below.mmio.write32(BAR_UAR, db::eq_offset(self.eqn), be(value));
    }

    pub(crate) fn release(&self, below: &Below) {
        below.dma.free_coherent(self.buf);
    }
}

/// `cq_table->tree`: CQ number to CQ. Read in interrupt context under RCU; a CQ that was found is
/// used until the handler returns, so its free waits for the handler (`synchronize_irq`).
pub(crate) struct CqTable {
    present: Vec<AtomicU32>,
    /// Memory of the entries; stays readable, the CQ's lifetime token tells of a use after free.
    memory: Mutex<Vec<Option<Arc<RxQueue>>>>,
}

impl CqTable {
    pub(crate) fn new(cqs: u32) -> Self {
        Self {
            present: (0..cqs).map(|_| AtomicU32::new(0)).collect(),
            memory: Mutex::new(vec![None; cqs as usize]),
        }
    }

    pub(crate) fn insert(&self, queue: &Arc<RxQueue>) {
        let slot = (queue.cq.cqn - FIRST_CQN) as usize;
        lock(&self.memory)[slot] = Some(queue.clone());
        // Ordered before its first event by the barrier of the arm that asks for one.
        self.present[slot].store(1, Relaxed);
    }

    pub(crate) fn delete(&self, cqn: u32) {
        if let Some(present) = self.present.get((cqn - FIRST_CQN) as usize) {
            present.store(0, Relaxed);
        }
    }

    fn lookup(&self, cqn: u32) -> Option<Arc<RxQueue>> {
        let slot = cqn.checked_sub(FIRST_CQN)? as usize;
        if self.present.get(slot)?.load(Relaxed) == 0 {
            return None;
        }
        lock(&self.memory).get(slot)?.clone()
    }
}

impl Mlx4Port {
    /// `mlx4_msi_x_interrupt`, `mlx4_eq_int`: handles all events, then arms the EQ.
    pub(crate) fn eq_int(&self, eq: &Eq) {
        let mut since_told = 0;
        while let Some((kind, cqn)) = eq.next_eqe(&self.below) {
            if kind == eqe::TYPE_COMP {
                self.cq_completion(cqn);
            }
            eq.cons_index.set(eq.cons_index.get().wrapping_add(1));
            since_told += 1;
            if since_told >= SPARE_EQE {
                eq.set_ci(&self.below, false);
                since_told = 0;
            }
        }
        eq.set_ci(&self.below, true);
    }

    /// `mlx4_cq_completion`.
    fn cq_completion(&self, cqn: u32) {
        let Some(queue) = self.cq_table.lookup(cqn) else { return };
        queue.cq.lifetime.used();
        queue.cq.event_seen();
        queue.rx_irq();
        queue.cq.lifetime.used();
    }
}
