//! What a driver needs from below: registers, DMA memory, interrupts, time.
//!
//! A driver talks to hardware only through these traits. The bench, the explorer's agents and a
//! recorder implement them; somebody else's Rust driver plugs in here too. All methods take `&self`
//! and all traits are `Send + Sync`, since a driver's contexts run beside each other.

mod coherent;

pub use coherent::{Coherent, Mapping};

use pollproof_sync::engine::Loc;
use pollproof_sync::Ordering;
use std::panic::Location;
use std::sync::Arc;

/// Bus address of DMA memory.
pub type DmaAddr = u64;

/// Memory could not be had; the driver must cope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of DMA memory")]
pub struct NoMemory;

/// Layout of a coherent area, as far as memory order is concerned.
///
/// In each `stride_bytes` the 32-bit words whose bit is set in `marked` are accessed by both sides
/// without further protection (ownership bits, doorbell records); all others are plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name in reports: `cq`, `eq`, `rq`, `record`.
    pub name: &'static str,
    /// Rule that a race on a plain word breaks.
    pub rule: &'static str,
    /// Size of an entry; a multiple of 4, at most 128.
    pub stride_bytes: u32,
    /// Words of an entry that are marked.
    pub marked: u32,
}

/// Device registers. Writes are posted: they reach the device in order, later.
pub trait Mmio: Send + Sync {
    /// Writes a 32-bit register, as `writel`: after all earlier accesses to memory.
    fn write32(&self, bar: u8, offset: u64, value: u32);
    /// Writes a 64-bit register in one transaction, as `__raw_writeq`: the caller orders it after
    /// earlier accesses to memory by a `wmb`.
    fn write64(&self, bar: u8, offset: u64, value: u64);
    /// Reads a 32-bit register; flushes earlier posted writes.
    fn read32(&self, bar: u8, offset: u64) -> u32;
}

/// DMA memory. Values are as the bytes lie in memory, read as little endian.
pub trait Dma: Send + Sync {
    /// Coherent zeroed memory, aligned to 4 KiB.
    fn alloc_coherent(&self, len: usize, layout: Layout) -> Result<DmaAddr, NoMemory>;
    /// Gives coherent memory back.
    fn free_coherent(&self, addr: DmaAddr);
    /// Marked load of a word of coherent memory (`READ_ONCE` and stronger), for the code at `at`.
    fn load32_at(&self, addr: DmaAddr, order: Ordering, at: Loc) -> u32;
    /// Marked store of a word of coherent memory (`WRITE_ONCE` and stronger).
    fn store32_at(&self, addr: DmaAddr, value: u32, order: Ordering, at: Loc);
    /// Plain load of a word of coherent memory.
    fn read32_at(&self, addr: DmaAddr, at: Loc) -> u32;
    /// Plain store of a word of coherent memory.
    fn write32_at(&self, addr: DmaAddr, value: u32, at: Loc);
    /// The memory of the area at `addr` itself, where the host need not see each access.
    fn mapping(&self, _addr: DmaAddr) -> Option<Mapping> {
        None
    }

    /// A packet buffer, owned by the driver.
    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory>;
    /// Frees a packet buffer that the driver or the stack owns.
    fn free_buf(&self, buf: DmaAddr);
    /// `dma_map_page`: the device may write the buffer from here on.
    fn map_buf(&self, buf: DmaAddr);
    /// `dma_unmap_page`: the buffer is the driver's again.
    fn unmap_buf(&self, buf: DmaAddr);
    /// The buffer becomes packet data of the stack.
    fn hand_up(&self, buf: DmaAddr);
    /// The stack is done with packet data of which the driver keeps the memory: the buffer is the
    /// driver's again. A host without it keeps such buffers with the stack.
    fn give_back(&self, _buf: DmaAddr) {}
    /// Writes packet data that is to be sent, as its owner. A host without it sends what was there.
    fn write_buf(&self, _buf: DmaAddr, _offset: usize, _from: &[u8]) {}
    /// Reads packet data, as the driver or the stack.
    fn read_buf(&self, buf: DmaAddr, offset: usize, into: &mut [u8]);
    /// Size of a packet buffer in bytes.
    fn buf_len(&self) -> usize;
}

/// The same with the caller's place: a trait object loses `#[track_caller]`.
impl dyn Dma {
    /// Marked load, see [`Dma::load32_at`].
    #[inline]
    #[track_caller]
    pub fn load32(&self, addr: DmaAddr, order: Ordering) -> u32 {
        self.load32_at(addr, order, Location::caller())
    }

    /// Marked store, see [`Dma::store32_at`].
    #[inline]
    #[track_caller]
    pub fn store32(&self, addr: DmaAddr, value: u32, order: Ordering) {
        self.store32_at(addr, value, order, Location::caller());
    }

    /// Plain load, see [`Dma::read32_at`].
    #[inline]
    #[track_caller]
    pub fn read32(&self, addr: DmaAddr) -> u32 {
        self.read32_at(addr, Location::caller())
    }

    /// Plain store, see [`Dma::write32_at`].
    #[inline]
    #[track_caller]
    pub fn write32(&self, addr: DmaAddr, value: u32) {
        self.write32_at(addr, value, Location::caller());
    }
}

/// Interrupts by MSI-X vector.
pub trait Irq: Send + Sync {
    /// Installs the handler of a vector.
    fn request(&self, vector: u32, handler: Arc<dyn Fn() + Send + Sync>);
    /// Removes the handler; waits for a running one.
    fn free(&self, vector: u32);
    /// Masks the vector in the MSI-X table; a message meanwhile becomes pending.
    fn mask(&self, vector: u32);
    /// Unmasks it; a pending message is sent.
    fn unmask(&self, vector: u32);
    /// CPU that the vector is bound to now.
    fn affinity(&self, vector: u32) -> u32;
    /// `synchronize_irq`: returns when no handler of the vector runs. May sleep.
    fn synchronize(&self, vector: u32);
}

/// One monotonic clock.
pub trait Clock: Send + Sync {
    /// Nanoseconds since the start of the run.
    fn now_ns(&self) -> u64;
    /// The poll method of a NAPI context is entered: a simulated clock charges for it.
    fn poll_begins(&self, _napi: u32) {}
    /// A round of a loop that waits by looking at the clock is over: a clock that does not move by
    /// itself moves by a little more than a microsecond, for the thread that called.
    fn spin_round(&self) {}
    /// `msleep`, `usleep_range`: at least so many nanoseconds pass. A clock that stands still, as
    /// that of explored runs, comes back at once.
    fn sleep_ns(&self, _ns: u64) {}
}

/// One-shot timers, numbered by their owner.
pub trait Timer: Send + Sync {
    /// (Re)starts a timer.
    fn start(&self, timer: u32, delay_ns: u64);
    /// Stops a timer; true when it was pending. When it returns no callback runs.
    fn cancel(&self, timer: u32) -> bool;
}

/// Everything below a driver.
#[derive(Clone)]
pub struct Below {
    /// Registers.
    pub mmio: Arc<dyn Mmio>,
    /// DMA memory.
    pub dma: Arc<dyn Dma>,
    /// Interrupts.
    pub irq: Arc<dyn Irq>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Timers.
    pub timer: Arc<dyn Timer>,
}

impl Below {
    /// Everything from one host.
    pub fn of<H>(host: Arc<H>) -> Self
    where
        H: Mmio + Dma + Irq + Clock + Timer + 'static,
    {
        Self {
            mmio: host.clone(),
            dma: host.clone(),
            irq: host.clone(),
            clock: host.clone(),
            timer: host,
        }
    }
}
