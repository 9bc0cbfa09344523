//! What drivers see of the host of explored runs: kapi on [`ExploredHost`].

use super::host::{lock, timer_bit, ExploredHost, Posted, SPIN_NS, WORK};
use super::nic::Route;
use pollproof_events::{emit, Event};
use pollproof_hostmem::AreaLayout;
use pollproof_kapi::{self as kapi, DmaAddr, Layout, NoMemory};
use pollproof_sync::engine::Loc;
use pollproof_sync::switch::fault;
use pollproof_sync::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use pollproof_sync::{cpu, irq, thread};
use std::panic::Location;
use std::sync::Arc;

impl kapi::Mmio for ExploredHost {
    fn write32(&self, bar: u8, offset: u64, value: u32) {
        match self.route(bar, offset) {
            // As writel: ordered after all that the CPU did before.
            Route::Posted if self.delays() => {
                let value = value.into();
                self.post(Posted { bar, offset, value, wide: false }, Release);
            }
            route @ (Route::Posted | Route::AtOnce) => {
                if route == Route::Posted || !self.is_quiet() {
                    emit(Event::MmioWrite { bar, offset, value: value.into() });
                }
                if let Some(device) = self.registers() {
                    device.write(bar, offset, value);
                }
            }
            _ => drop(lock(&self.kept).insert(offset, value)),
        }
    }

    fn write64(&self, bar: u8, offset: u64, value: u64) {
        self.post(Posted { bar, offset, value, wide: true }, Relaxed);
    }

    fn read32(&self, bar: u8, offset: u64) -> u32 {
        if self.route(bar, offset) == Route::Kept {
            return lock(&self.kept).get(&offset).copied().unwrap_or(0);
        }
        let value = self.registers().map_or(0, |device| device.read(bar, offset));
        if !self.is_quiet() {
            emit(Event::MmioRead { bar, offset, value: value.into() });
        }
        value
    }
}

impl kapi::Dma for ExploredHost {
    fn alloc_coherent(&self, len: usize, layout: Layout) -> Result<DmaAddr, NoMemory> {
        let layout = AreaLayout {
            name: layout.name,
            rule: layout.rule,
            stride_bytes: layout.stride_bytes,
            marked: layout.marked,
        };
        self.mem.alloc_coherent(len, layout).map_err(|_| NoMemory)
    }

    fn free_coherent(&self, addr: DmaAddr) {
        self.mem.free_coherent(addr);
    }

    fn load32_at(&self, addr: DmaAddr, order: Ordering, at: Loc) -> u32 {
        self.mem.load32(addr, order, at)
    }

    fn store32_at(&self, addr: DmaAddr, value: u32, order: Ordering, at: Loc) {
        self.mem.store32(addr, value, order, at);
    }

    fn read32_at(&self, addr: DmaAddr, at: Loc) -> u32 {
        self.mem.read32(addr, at)
    }

    fn write32_at(&self, addr: DmaAddr, value: u32, at: Loc) {
        self.mem.write32(addr, value, at);
    }

    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory> {
        self.mem.alloc_buf().map_err(|_| NoMemory)
    }

    fn free_buf(&self, buf: DmaAddr) {
        self.mem.free_buf(buf);
    }

    fn map_buf(&self, buf: DmaAddr) {
        self.mem.map_buf(buf);
    }

    fn unmap_buf(&self, buf: DmaAddr) {
        self.mem.unmap_buf(buf);
    }

    fn hand_up(&self, buf: DmaAddr) {
        self.mem.hand_up(buf);
    }

    fn give_back(&self, buf: DmaAddr) {
        self.mem.give_back(buf);
    }

    fn write_buf(&self, buf: DmaAddr, offset: usize, from: &[u8]) {
        self.mem.write_buf(buf, offset, from);
    }

    fn read_buf(&self, buf: DmaAddr, offset: usize, into: &mut [u8]) {
        self.mem.read_buf(buf, offset, into);
    }

    fn buf_len(&self) -> usize {
        self.mem.buf_len()
    }
}

impl kapi::Irq for ExploredHost {
    fn request(&self, vector: u32, handler: Arc<dyn Fn() + Send + Sync>) {
        if let Some(entry) = self.vectors.get(vector as usize) {
            *lock(&entry.handler) = Some(handler);
        }
    }

    fn free(&self, vector: u32) {
        self.synchronize(vector);
        if let Some(entry) = self.vectors.get(vector as usize) {
            *lock(&entry.handler) = None;
        }
    }

    fn mask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: true });
        let _step = irq::hold();
        match self.registers() {
            Some(device) if self.owns_msix() => device.mask(vector, true),
            _ => self.msix.lock().mask(vector),
        }
    }

    fn unmask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: false });
        let _step = irq::hold();
        match self.registers() {
            Some(device) if self.owns_msix() => device.mask(vector, false),
            _ => {
                let sent = self.msix.lock().unmask(vector);
                if sent {
                    self.raise(vector);
                }
            }
        }
    }

    fn affinity(&self, vector: u32) -> u32 {
        self.vectors.get(vector as usize).map_or(0, |v| v.affinity.load(Relaxed))
    }

    fn synchronize(&self, vector: u32) {
        cpu::might_sleep("synchronize_irq");
        if let Some(entry) = self.vectors.get(vector as usize) {
            let _step = irq::hold();
            drop(entry.running.lock());
        }
    }
}

impl kapi::Clock for ExploredHost {
    fn now_ns(&self) -> u64 {
        lock(&self.spun).get(&thread::current()).copied().unwrap_or(0)
    }

    fn spin_round(&self) {
        *lock(&self.spun).entry(thread::current()).or_default() += SPIN_NS;
    }
}

impl kapi::Timer for ExploredHost {
    fn start(&self, timer: u32, _delay_ns: u64) {
        if timer == pollproof_ixgbe::SERVICE_WORK {
            self.work.fetch_or(WORK, Release);
            return;
        }
        match timer_bit(timer) {
            Some(bit) => {
                let _step = irq::hold();
                *self.live.lock() |= bit;
                self.armed.fetch_or(bit, Release);
            }
            None => {
                fault("BENCH-BOUND", format!("timer {timer} is unknown"), Location::caller());
            }
        }
    }

    fn cancel(&self, timer: u32) -> bool {
        if timer == pollproof_ixgbe::SERVICE_WORK {
            let was = self.work.fetch_and(!WORK, AcqRel) & WORK != 0;
            // Not from the work itself: that would wait for its own end, as in Linux.
            self.work_running.wait(Acquire, |running| running == 0);
            return was;
        }
        let Some(bit) = timer_bit(timer) else { return false };
        let _step = irq::hold();
        let mut live = self.live.lock();
        let was = *live & bit != 0;
        *live &= !bit;
        drop(live);
        if was {
            self.armed.fetch_and(!bit, AcqRel);
        }
        // No callback runs when this returns.
        drop(self.timer_running.lock());
        was
    }
}
