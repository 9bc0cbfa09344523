//! A transmit ring: `struct ixgbe_ring`, `ixgbe_maybe_stop_tx`, `ixgbe_clean_tx_ring` (6.12).

use crate::{lock, TxFrag, VALID_BEFORE_USE};
use pollproof_events::{emit, Event, TailRing};
use pollproof_kapi::{Below, Dma, DmaAddr, Layout, NoMemory};
use pollproof_regs::ixgbe::pci::BAR_CSR;
use pollproof_regs::ixgbe_desc::BYTES;
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{smp_mb, AtomicU32, PlainU32, What};
use std::sync::atomic::AtomicU64;
use std::sync::Mutex;

/// Descriptors that a packet may need (`DESC_NEEDED`): 17 fragments, a context, a gap of two.
pub(crate) const DESC_NEEDED: u32 = 21;
/// Free descriptors from which a stopped queue goes on (`TX_WAKE_THRESHOLD`).
const WAKE: u32 = 2 * DESC_NEEDED;

/// Word of a descriptor whose lowest bit is DD in a write-back.
pub(crate) const STATUS_WORD: u64 = 12;

/// Bits of a ring's state.
pub(crate) mod tx_state {
    /// `__IXGBE_TX_DETECT_HANG`: the watchdog wants to know.
    pub const CHECK: u32 = 1;
    /// `__IXGBE_HANG_CHECK_ARMED`: nothing had moved when it looked before.
    pub const ARMED: u32 = 2;
    /// The queue takes no packets (`netif_tx_stop_queue`).
    pub const STOPPED: u32 = 4;
}

/// What a descriptor stands for (`struct ixgbe_tx_buffer`).
#[derive(Clone, Debug, Default)]
pub(crate) struct TxBuffer {
    pub frag: Option<TxFrag>,
    /// In the first of a packet: its bytes on the wire.
    pub bytes: u32,
}

/// Counters of a transmit ring.
#[derive(Debug, Default)]
pub struct TxStats {
    /// Packets that the device has sent, segments counted.
    pub packets: AtomicU64,
    /// Their bytes.
    pub bytes: AtomicU64,
    /// Packets that were turned away (`tx_busy`).
    pub busy: AtomicU64,
    /// Times that the queue went on after it was stopped (`restart_queue`).
    pub restarts: AtomicU64,
    /// Polls by NAPI that found the vector taken by a socket.
    pub yields: AtomicU64,
}

/// A transmit ring.
pub struct TxRing {
    /// Number of the queue.
    pub index: u32,
    /// Descriptors.
    pub count: u32,
    /// Bus address of the descriptors.
    pub desc: DmaAddr,
    /// Counters.
    pub stats: TxStats,
    /// Written by who sends, read by who cleans, and the other way round.
    next_to_use: AtomicU32,
    next_to_clean: AtomicU32,
    pub(crate) state: AtomicU32,
    /// `tx_done_old`: the cleaner's.
    pub(crate) done_old: PlainU32,
    /// By the first descriptor of a packet, the one whose write-back ends it, plus one
    /// (`next_to_watch`); 0 is none. Who sees it sees the packet's buffers.
    watch: Vec<AtomicU32>,
    /// Packets on the wire of the packet that begins there (`gso_segs`): as all that belongs to a
    /// packet the sender's until it is watched, then the cleaner's until `next_to_clean` passes.
    pub(crate) packets: Vec<PlainU32>,
    pub(crate) buffers: Mutex<Vec<TxBuffer>>,
}

impl TxRing {
    /// `ixgbe_setup_tx_resources`.
    pub(crate) fn setup(below: &Below, index: u32, count: u32) -> Result<Self, NoMemory> {
        let layout = Layout {
            name: "tx ring",
            rule: VALID_BEFORE_USE,
            stride_bytes: BYTES,
            marked: 1 << (STATUS_WORD / 4),
        };
        let desc = below.dma.alloc_coherent((count * BYTES) as usize, layout)?;
        let done = What { rule: "SINGLE-CONSUMER", name: "tx_ring->tx_done_old" };
        let of_packet = What { rule: "PUBLISH-AFTER-INIT", name: "tx_buffer" };
        Ok(Self {
            index,
            count,
            desc,
            stats: TxStats::default(),
            next_to_use: AtomicU32::new(0),
            next_to_clean: AtomicU32::new(0),
            state: AtomicU32::new(0),
            done_old: PlainU32::new(0, done),
            watch: (0..count).map(|_| AtomicU32::new(0)).collect(),
            packets: (0..count).map(|_| PlainU32::new(0, of_packet)).collect(),
            buffers: Mutex::new(vec![TxBuffer::default(); count as usize]),
        })
    }

    /// The packet that begins at `first` ends at `last`; all of it is in place.
    pub(crate) fn set_watch(&self, first: u32, last: u32) {
        if let Some(watch) = self.watch.get(first as usize) {
            watch.store(last + 1, Release);
        }
    }

    /// The last descriptor of the packet that begins at `first`.
    pub(crate) fn watch(&self, first: u32) -> Option<u32> {
        self.watch.get(first as usize)?.load(Acquire).checked_sub(1)
    }

    /// No packet begins at `first` any more.
    pub(crate) fn clear_watch(&self, first: u32) {
        if let Some(watch) = self.watch.get(first as usize) {
            watch.store(0, Relaxed);
        }
    }

    /// Register of the tail.
    pub fn tail(&self) -> u64 {
        u64::from(map::TDT + 0x40 * self.index)
    }

    pub(crate) fn at(&self, index: u32) -> DmaAddr {
        self.desc + u64::from(index * BYTES)
    }

    pub(crate) fn after(&self, index: u32) -> u32 {
        if index + 1 == self.count {
            0
        } else {
            index + 1
        }
    }

    /// First descriptor that is free.
    pub fn use_at(&self) -> u32 {
        self.next_to_use.load(Relaxed)
    }

    /// First descriptor that is not cleaned. Who sees it move may use what was cleaned: the barrier
    /// of `has_room` stands between.
    pub(crate) fn clean_at(&self) -> u32 {
        self.next_to_clean.load(Relaxed)
    }

    pub(crate) fn set_use(&self, index: u32) {
        self.next_to_use.store(index, Relaxed);
    }

    pub(crate) fn set_clean(&self, index: u32) {
        self.next_to_clean.store(index, Release);
    }

    /// `ixgbe_desc_unused`.
    pub fn desc_unused(&self) -> u32 {
        let (clean, used) = (self.clean_at(), self.use_at());
        let lap = if clean > used { 0 } else { self.count };
        lap + clean - used - 1
    }

    /// `ixgbe_get_tx_pending`: descriptors that are not cleaned.
    pub fn pending(&self) -> u32 {
        self.count - 1 - self.desc_unused()
    }

    /// Whether the queue takes packets.
    pub fn is_stopped(&self) -> bool {
        self.state.load(Relaxed) & tx_state::STOPPED != 0
    }

    /// Whether the queue takes no packets although it is worth it; only when nothing runs.
    pub fn is_stalled(&self) -> bool {
        self.is_stopped() && self.desc_unused() >= WAKE.min(self.count / 2)
    }

    /// `ixgbe_maybe_stop_tx`: false when there is no room for `wanted`; the queue is stopped then.
    pub(crate) fn has_room(&self, wanted: u32) -> bool {
        if self.desc_unused() >= wanted {
            return true;
        }
        self.state.fetch_or(tx_state::STOPPED, Relaxed);
        // The cleaner looks for a stopped queue after it made room: one of both sees the other.
        smp_mb();
        if self.desc_unused() < wanted {
            return false;
        }
        self.state.fetch_and(!tx_state::STOPPED, Relaxed);
        self.stats.restarts.fetch_add(1, Relaxed);
        true
    }

    /// The cleaner made room: a stopped queue goes on when it is worth it.
    pub(crate) fn wake(&self, allowed: bool) {
        if self.desc_unused() < WAKE.min(self.count / 2) {
            return;
        }
        smp_mb();
        if self.is_stopped() && allowed {
            self.state.fetch_and(!tx_state::STOPPED, Relaxed);
            self.stats.restarts.fetch_add(1, Relaxed);
        }
    }

    /// An empty ring, as the device will find it.
    pub(crate) fn begin(&self, below: &Below) {
        for index in 0..self.count {
            below.dma.store32(self.at(index) + STATUS_WORD, 0, Relaxed);
        }
        self.set_use(0);
        self.set_clean(0);
        self.state.store(0, Relaxed);
        let (bar, entries) = (BAR_CSR, self.count);
        emit(Event::TailRing(TailRing { bar, tail: self.tail(), entries, cq: None }));
    }

    /// `ixgbe_clean_tx_ring`: packets that were not sent are dropped; the device is stopped.
    pub(crate) fn clean(&self, dma: &dyn Dma) {
        let all: Vec<TxFrag> =
            lock(&self.buffers).iter_mut().filter_map(|b| std::mem::take(b).frag).collect();
        (0..self.count).for_each(|first| self.clear_watch(first));
        for frag in all {
            unmap_and_free(dma, frag);
        }
        self.set_clean(self.use_at());
    }

    /// `ixgbe_free_tx_resources`.
    pub(crate) fn release(&self, below: &Below) {
        below.dma.free_coherent(self.desc);
    }
}

/// `dma_unmap_page`, `napi_consume_skb`.
pub(crate) fn unmap_and_free(dma: &dyn Dma, frag: TxFrag) {
    dma.unmap_buf(frag.buf);
    dma.free_buf(frag.buf);
}
