//! The host of timed runs: kapi on the world, for one thread.
//!
//! No access outlives its call, so the driver's handlers run with nothing held. From another thread
//! every call does nothing, and allocations fail.

use super::world::World;
use super::Nic;
use pollproof_events::{emit, Event};
use pollproof_hostmem::AreaLayout;
use pollproof_kapi::{self as kapi, DmaAddr, Layout, Mapping, NoMemory};
use pollproof_sync::engine::Loc;
use pollproof_sync::{cpu, LocalCell, Ordering};
use std::sync::Arc;

/// Marked loads between two starts of a CPU after which the driver is held to be in a loop without
/// end: a softirq pass takes a few hundred.
pub(super) const LOADS_MAX: u64 = 1_000_000;

/// First words of the panic that ends a driver call without end.
pub(super) const ENDLESS: &str = "a call into the driver does not end";

/// Only unwinding gets out of a driver that never returns; the run catches it.
#[cold]
fn endless_call() -> ! {
    panic!("{ENDLESS}: it loaded {LOADS_MAX} words of host memory")
}

/// Everything below the driver in a timed run.
pub struct TimedHost<N: Nic> {
    world: LocalCell<World<N>>,
}

impl<N: Nic> TimedHost<N> {
    pub(super) fn new(world: World<N>) -> Arc<Self> {
        Arc::new(Self { world: LocalCell::new(world) })
    }

    #[inline]
    pub(super) fn with<R>(&self, body: impl FnOnce(&mut World<N>) -> R) -> Option<R> {
        self.world.with(body)
    }
}

impl<N: Nic> kapi::Mmio for TimedHost<N> {
    fn write32(&self, bar: u8, offset: u64, value: u32) {
        emit(Event::MmioWrite { bar, offset, value: value.into() });
        self.with(|w| w.post(bar, offset, value.into(), 4));
    }

    fn write64(&self, bar: u8, offset: u64, value: u64) {
        emit(Event::MmioWrite { bar, offset, value });
        self.with(|w| w.post(bar, offset, value, 8));
    }

    fn read32(&self, bar: u8, offset: u64) -> u32 {
        let value = self.with(|w| w.read_register(bar, offset)).unwrap_or(0);
        emit(Event::MmioRead { bar, offset, value: value.into() });
        value
    }
}

impl<N: Nic> kapi::Dma for TimedHost<N> {
    fn alloc_coherent(&self, len: usize, layout: Layout) -> Result<DmaAddr, NoMemory> {
        let layout = AreaLayout {
            name: layout.name,
            rule: layout.rule,
            stride_bytes: layout.stride_bytes,
            marked: layout.marked,
        };
        let area = self.with(|w| w.mem.alloc_coherent(len, layout));
        area.and_then(Result::ok).ok_or(NoMemory)
    }

    fn free_coherent(&self, addr: DmaAddr) {
        self.with(|w| w.mem.free_coherent(addr));
    }

    #[inline]
    fn load32_at(&self, addr: DmaAddr, order: Ordering, _at: Loc) -> u32 {
        let load = |w: &mut World<N>| (w.mem.load32(addr, order), !w.may_load());
        let (value, endless) = self.with(load).unwrap_or_default();
        if endless {
            endless_call();
        }
        value
    }

    fn store32_at(&self, addr: DmaAddr, value: u32, order: Ordering, _at: Loc) {
        self.with(|w| {
            w.counts.stores();
            w.mem.store32(addr, value, order);
        });
    }

    #[inline]
    fn read32_at(&self, addr: DmaAddr, _at: Loc) -> u32 {
        self.with(|w| w.mem.read32(addr)).unwrap_or(0)
    }

    #[inline]
    fn write32_at(&self, addr: DmaAddr, value: u32, _at: Loc) {
        self.with(|w| w.mem.write32(addr, value));
    }

    fn mapping(&self, addr: DmaAddr) -> Option<Mapping> {
        let map = |w: &mut World<N>| {
            let pollproof_hostmem::Mapped { words, freed } = w.mem.mapped(addr)?;
            let (watched, loads_left) = (w.counts.refilling.clone(), w.loads_left.clone());
            Some(Mapping { words, freed, watched, loads_left })
        };
        self.with(map).flatten()
    }

    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory> {
        let alloc = |w: &mut World<N>| {
            w.counts.allocates();
            w.mem.alloc_buf()
        };
        self.with(alloc).and_then(Result::ok).ok_or(NoMemory)
    }

    fn free_buf(&self, buf: DmaAddr) {
        self.with(|w| w.mem.free_buf(buf));
    }

    fn map_buf(&self, buf: DmaAddr) {
        self.with(|w| w.mem.map_buf(buf));
    }

    fn unmap_buf(&self, buf: DmaAddr) {
        self.with(|w| w.mem.unmap_buf(buf));
    }

    /// One packet is on its way up: its cost is charged.
    fn hand_up(&self, buf: DmaAddr) {
        self.with(|w| {
            w.counts.packet();
            w.charge(w.counts.costs_ps.packet);
            w.mem.hand_up(buf);
        });
    }

    fn give_back(&self, buf: DmaAddr) {
        self.with(|w| w.mem.give_back(buf));
    }

    fn write_buf(&self, buf: DmaAddr, offset: usize, from: &[u8]) {
        self.with(|w| w.mem.write_buf(buf, offset, from));
    }

    fn read_buf(&self, buf: DmaAddr, offset: usize, into: &mut [u8]) {
        self.with(|w| w.mem.read_buf(buf, offset, into));
    }

    fn buf_len(&self) -> usize {
        self.with(|w| w.mem.buf_len()).unwrap_or(0)
    }
}

impl<N: Nic> kapi::Irq for TimedHost<N> {
    fn request(&self, vector: u32, handler: Arc<dyn Fn() + Send + Sync>) {
        self.with(|w| {
            if let Some(entry) = w.vectors.get_mut(vector as usize) {
                entry.handler = Some(handler);
            }
        });
    }

    fn free(&self, vector: u32) {
        self.synchronize(vector);
        // Dropped outside: it may own much.
        let handler = self.with(|w| w.vectors.get_mut(vector as usize)?.handler.take());
        drop(handler);
    }

    /// At once, although the table is a register of the device: nothing between is modelled.
    fn mask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: true });
        self.with(|w| w.mask_vector(vector));
    }

    fn unmask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: false });
        self.with(|w| w.unmask_vector(vector));
    }

    fn affinity(&self, vector: u32) -> u32 {
        self.with(|w| w.vectors.get(vector as usize).map_or(0, |v| v.affinity)).unwrap_or(0)
    }

    /// Handlers run to their end, so none runs here; one that waits for its CPU comes no more.
    fn synchronize(&self, vector: u32) {
        cpu::might_sleep("synchronize_irq");
        self.with(|w| w.synchronize(vector));
    }
}

impl<N: Nic> kapi::Clock for TimedHost<N> {
    fn now_ns(&self) -> u64 {
        self.with(|w| w.local_ps.max(w.now_ps) / 1000).unwrap_or(0)
    }

    fn poll_begins(&self, napi: u32) {
        self.with(|w| {
            w.counts.poll_begins(napi);
            w.charge(w.counts.costs_ps.poll);
        });
    }

    fn sleep_ns(&self, ns: u64) {
        self.with(|w| w.sleep(ns));
    }
}

impl<N: Nic> kapi::Timer for TimedHost<N> {
    fn start(&self, timer: u32, delay_ns: u64) {
        self.with(|w| w.start_timer(timer, delay_ns));
    }

    fn cancel(&self, timer: u32) -> bool {
        self.with(|w| w.cancel_timer(timer)).unwrap_or(false)
    }
}
