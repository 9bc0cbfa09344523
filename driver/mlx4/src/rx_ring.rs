//! Receive ring: `struct mlx4_en_rx_ring` and its refill, `en_rx.c` (6.12).
//!
//! WQE i and CQE i belong together: the device completes in order, so the consumer index of the CQ
//! is the ring's too.

use crate::cq::RECORD;
use crate::{lock, POST_BEFORE_DOORBELL};
use pollproof_events::{emit, Event};
use pollproof_kapi::{Below, DmaAddr, Layout, NoMemory};
use pollproof_regs::mlx4::{be, db, wqe};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{dma_wmb, PlainU32, What};
use std::sync::Mutex;

/// The ring.
pub struct RxRing {
    /// Number of the receive queue.
    pub rqn: u32,
    /// Bus address of the WQEs.
    pub buf: DmaAddr,
    /// Bus address of the doorbell record.
    pub db: DmaAddr,
    /// Entries, a power of two.
    pub size: u32,
    /// `prod`: free running.
    prod: PlainU32,
    /// `cons`: free running.
    cons: PlainU32,
    /// Buffer of each entry; 0 is none. Private to the consumer.
    bufs: Mutex<Vec<DmaAddr>>,
}

impl RxRing {
    pub(crate) fn alloc(below: &Below, rqn: u32, size: u32) -> Result<Self, NoMemory> {
        let layout = Layout {
            name: "rq",
            rule: POST_BEFORE_DOORBELL,
            stride_bytes: wqe::DATA_SEG_BYTES,
            marked: 0,
        };
        let buf = below.dma.alloc_coherent((size * wqe::DATA_SEG_BYTES) as usize, layout)?;
        let db = below.dma.alloc_coherent(db::RECORD_BYTES, RECORD)?;
        let word = |name| PlainU32::new(0, What { rule: "SINGLE-CONSUMER", name });
        Ok(Self {
            rqn,
            buf,
            db,
            size,
            prod: word("ring->prod"),
            cons: word("ring->cons"),
            bufs: Mutex::new(vec![0; size as usize]),
        })
    }

    /// Entries that are posted.
    pub fn posted(&self) -> u32 {
        self.prod.get().wrapping_sub(self.cons.get())
    }

    /// `mlx4_en_is_ring_empty`.
    pub(crate) fn is_empty(&self) -> bool {
        self.posted() == 0
    }

    /// Takes the buffer of a completed entry out of the ring.
    pub(crate) fn take_buf(&self, index: u32) -> Option<DmaAddr> {
        let slot = (index & (self.size - 1)) as usize;
        let mut bufs = lock(&self.bufs);
        let buf = std::mem::take(&mut bufs[slot]);
        (buf != 0).then_some(buf)
    }

    /// The consumer index moved on.
    pub(crate) fn set_cons(&self, cons: u32) {
        self.cons.set(cons);
    }

    /// `mlx4_en_refill_rx_buffers`: posts what is missing, if it is worth it, and tells the device.
    /// False when memory ran out.
    pub(crate) fn refill(&self, below: &Below, at_least: u32) -> bool {
        let missing = self.size - self.posted().min(self.size);
        if missing < at_least.min(self.size) || missing == 0 {
            return true;
        }
        let mut prod = self.prod.get();
        let mut complete = true;
        for _ in 0..missing {
            if self.prepare_rx_desc(below, prod).is_err() {
                complete = false;
                break;
            }
            prod = prod.wrapping_add(1);
        }
        self.prod.set(prod);
        let (ring, size) = (self.rqn, self.size);
        emit(Event::Refill { ring, producer: prod, consumer: self.cons.get(), size });
        if !complete {
            emit(Event::RefillFailed { ring, posted: self.posted() });
        }
        self.update_rx_prod_db(below, prod);
        complete
    }

    /// `mlx4_en_prepare_rx_desc`: one buffer into one entry.
    fn prepare_rx_desc(&self, below: &Below, prod: u32) -> Result<(), NoMemory> {
        let buf = below.dma.alloc_buf()?;
        below.dma.map_buf(buf);
        let slot = prod & (self.size - 1);
        lock(&self.bufs)[slot as usize] = buf;
        let at = self.buf + u64::from(slot * wqe::DATA_SEG_BYTES);
        let write = |offset: u32, value: u32| below.dma.write32(at + u64::from(offset), be(value));
        write(wqe::BYTE_COUNT, below.dma.buf_len() as u32);
        write(wqe::LKEY, 0);
        write(wqe::ADDR_HI, (buf >> 32) as u32);
        write(wqe::ADDR_LO, buf as u32);
        Ok(())
    }

    /// `mlx4_en_update_rx_prod_db`: the device may fetch up to here.
    fn update_rx_prod_db(&self, below: &Below, prod: u32) {
        // The entries must be in memory before the record that covers them, and so must the
        // consumer index of the CQ: the device must find room for what it may now receive.
        dma_wmb();
        let counter = prod & db::RQ_MASK;
        emit(Event::Doorbell { ring: self.rqn, producer: prod });
        below.dma.store32(self.db + db::RQ_PRODUCER, be(counter), Relaxed);
    }

    /// `mlx4_en_free_rx_buf`: takes all posted buffers back; the device is stopped.
    pub(crate) fn free_bufs(&self, below: &Below) {
        let bufs: Vec<DmaAddr> = lock(&self.bufs).iter_mut().map(std::mem::take).collect();
        for buf in bufs.into_iter().filter(|b| *b != 0) {
            below.dma.unmap_buf(buf);
            below.dma.free_buf(buf);
        }
        self.cons.set(self.prod.get());
    }

    pub(crate) fn release(&self, below: &Below) {
        below.dma.free_coherent(self.buf);
        below.dma.free_coherent(self.db);
    }
}
