//! The host of timed runs: kapi on the world, for one thread.
//!
//! No access outlives its call, so the driver's handlers run with nothing held. From another thread
//! every call does nothing, and allocations fail.

use super::world::World;
use pollproof_connectx_3::ConnectX3;
use pollproof_events::{emit, Event};
use pollproof_hostmem::AreaLayout;
use pollproof_kapi::{self as kapi, DmaAddr, Layout, NoMemory};
use pollproof_mlx4::CommandPort;
use pollproof_regs::mlx4::{CmdStatus, CqContext, EqContext, RqContext, RssContext};
use pollproof_sync::engine::Loc;
use pollproof_sync::{cpu, LocalCell, Ordering};
use std::sync::Arc;

/// Marked loads between two starts of a CPU after which the driver is held to be in a loop without
/// end: a softirq pass takes a few hundred.
const LOADS_MAX: u64 = 1_000_000;

/// First words of the panic that ends a driver call without end.
pub(super) const ENDLESS: &str = "a call into the driver does not end";

/// Only unwinding gets out of a driver that never returns; the run catches it.
#[cold]
fn endless_call() -> ! {
    panic!("{ENDLESS}: it loaded {LOADS_MAX} words of host memory")
}

/// Everything below the driver in a timed run.
pub struct TimedHost {
    world: LocalCell<World>,
}

impl TimedHost {
    pub(super) fn new(world: World) -> Arc<Self> {
        Arc::new(Self { world: LocalCell::new(world) })
    }

    #[inline]
    pub(super) fn with<R>(&self, body: impl FnOnce(&mut World) -> R) -> Option<R> {
        self.world.with(body)
    }
}

impl kapi::Mmio for TimedHost {
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

impl kapi::Dma for TimedHost {
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
        let load = |w: &mut World| {
            w.loads += 1;
            (w.mem.load32(addr, order), w.loads > LOADS_MAX)
        };
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

    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory> {
        let alloc = |w: &mut World| {
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

    fn read_buf(&self, buf: DmaAddr, offset: usize, into: &mut [u8]) {
        self.with(|w| w.mem.read_buf(buf, offset, into));
    }

    fn buf_len(&self) -> usize {
        self.with(|w| w.mem.buf_len()).unwrap_or(0)
    }
}

impl kapi::Irq for TimedHost {
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
        self.with(|w| w.msix.mask(vector));
    }

    fn unmask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: false });
        self.with(|w| {
            if w.msix.unmask(vector) {
                w.raise(vector);
            }
        });
    }

    fn affinity(&self, vector: u32) -> u32 {
        self.with(|w| w.vectors.get(vector as usize).map_or(0, |v| v.affinity)).unwrap_or(0)
    }

    /// Handlers run to their end, so none runs here.
    fn synchronize(&self, _vector: u32) {
        cpu::might_sleep("synchronize_irq");
    }
}

impl kapi::Clock for TimedHost {
    fn now_ns(&self) -> u64 {
        self.with(|w| w.local_ps.max(w.now_ps) / 1000).unwrap_or(0)
    }

    fn poll_begins(&self, napi: u32) {
        self.with(|w| {
            w.counts.poll_begins(napi);
            w.charge(w.counts.costs_ps.poll);
        });
    }
}

impl kapi::Timer for TimedHost {
    fn start(&self, timer: u32, delay_ns: u64) {
        self.with(|w| w.start_timer(timer, delay_ns));
    }

    fn cancel(&self, timer: u32) -> bool {
        self.with(|w| w.cancel_timer(timer)).unwrap_or(false)
    }
}

impl TimedHost {
    fn command(
        &self,
        command: impl FnOnce(&mut ConnectX3) -> Result<(), CmdStatus>,
    ) -> Result<(), CmdStatus> {
        self.with(|w| w.command(command)).unwrap_or(Err(CmdStatus::ResourceBusy))
    }
}

impl CommandPort for TimedHost {
    fn sw2hw_eq(&self, eqn: u32, context: EqContext) -> Result<(), CmdStatus> {
        self.command(|d| d.sw2hw_eq(eqn, context))
    }

    fn hw2sw_eq(&self, eqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.hw2sw_eq(eqn))
    }

    fn sw2hw_cq(&self, cqn: u32, context: CqContext) -> Result<(), CmdStatus> {
        self.command(|d| d.sw2hw_cq(cqn, context))
    }

    fn hw2sw_cq(&self, cqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.hw2sw_cq(cqn))
    }

    fn start_rq(&self, rqn: u32, context: RqContext) -> Result<(), CmdStatus> {
        self.command(|d| d.start_rq(rqn, context))
    }

    fn stop_rq(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.stop_rq(rqn))
    }

    fn set_default_rqn(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.set_default_rqn(Some(rqn)))
    }

    fn set_rss(&self, context: RssContext) -> Result<(), CmdStatus> {
        self.command(|d| d.set_rss(Some(context)))
    }
}
