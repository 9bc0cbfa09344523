//! The device of explored runs: the same engine as in timed runs, its steps taken by agents.
//!
//! A step of the device is atomic against other steps of it. Each marked word (owner bits, doorbell
//! records) that it reads or writes in host memory, and each MSI-X message, is a step of its own
//! that the CPUs can see in between; plain words go with the marked one that follows.

use super::host::{ExploredHost, Registers, STOP};
use super::nic::Silicon;
use pollproof_events::{emit, Event};
use pollproof_pcie::Outbound;
use pollproof_sync::Ordering::{Acquire, SeqCst};
use pollproof_sync::{fence, irq, SpinLock};
use pollproof_wire::Frame;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

/// A device on an explored host.
pub struct ExploredDevice<D> {
    core: SpinLock<D>,
    host: Arc<ExploredHost>,
    /// Posted writes that were taken; changed only while the core is locked.
    taken: AtomicUsize,
    /// The device left the bus; changed only while the core is locked.
    gone: AtomicBool,
    /// Level of the legacy line after the last step; changed only while the core is locked.
    line: AtomicBool,
}

impl<D: Silicon> ExploredDevice<D> {
    /// Plugs a device into a host.
    pub fn new(core: D, host: Arc<ExploredHost>) -> Arc<Self> {
        let taken = AtomicUsize::new(0);
        let gone = AtomicBool::new(false);
        let line = AtomicBool::new(false);
        let core = SpinLock::unwatched(core);
        let device = Arc::new(Self { core, host: host.clone(), taken, gone, line });
        let registers: Arc<dyn Registers> = device.clone();
        host.plug(Arc::downgrade(&registers), D::route, D::OWNS_MSIX);
        device
    }

    /// One step: gives the device an input and performs all that it asks for.
    pub fn step<R>(&self, input: impl FnOnce(&mut D) -> R) -> R {
        let _step = irq::hold();
        let mut core = self.core.lock();
        let result = input(&mut core);
        self.perform_all(&mut core);
        result
    }

    /// Whether the device left the bus; inside a step.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// The device leaves the bus: reads give all ones, writes and frames go nowhere, and it asks
    /// for nothing any more.
    pub fn unplug(&self) {
        self.step(|_| {
            self.gone.store(true, Ordering::Relaxed);
            emit(Event::FunctionRemoved);
        });
    }

    fn perform_all(&self, core: &mut D) {
        core.settle();
        while let Some(request) = core.take() {
            if !self.is_gone() {
                self.perform(core, request);
            }
        }
        let line = core.intx() && !self.is_gone();
        if line && !self.line.swap(line, Ordering::Relaxed) {
            self.host.raise(0);
        }
        self.line.store(line, Ordering::Relaxed);
    }

    fn perform(&self, core: &mut D, request: Outbound) {
        match request {
            Outbound::DmaRead { tag, addr, len, what } => {
                // A read request does not pass the device's earlier posted writes (PCIe ordering
                // table): all of them are visible before it is answered.
                fence(SeqCst);
                let mut bytes = vec![0; len as usize];
                self.host.mem.dma_read(addr, &mut bytes, what);
                core.dma_complete(tag, &bytes);
            }
            Outbound::DmaWrite { addr, payload, what } => {
                self.host.mem.dma_write(addr, &payload, what);
            }
            Outbound::Msix { vector } => self.host.send_msix(vector),
        }
    }

    /// Takes the posted writes that have arrived, in order; the core is locked.
    fn take_posted(&self, core: &mut D) {
        if !self.host.delays() {
            return;
        }
        loop {
            let number = self.taken.load(Ordering::Relaxed);
            let Some(write) = self.host.posted_write(number) else { return };
            self.taken.store(number + 1, Ordering::Relaxed);
            if self.is_gone() {
                continue;
            }
            match write.wide {
                true => core.mmio_write64(write.bar, write.offset, write.value),
                false => core.mmio_write32(write.bar, write.offset, write.value as u32),
            }
            self.perform_all(core);
        }
    }

    /// A command is the last of the register writes that its CPU posted: those before it come
    /// first.
    pub fn command<R>(&self, command: impl FnOnce(&mut D) -> R) -> R {
        self.step(|core| {
            self.take_posted(core);
            command(core)
        })
    }

    /// Takes the posted writes that are there, before the agents start.
    pub fn settle(&self) {
        self.step(|core| self.take_posted(core));
    }

    /// The doorbell agent: takes posted writes in order until the queue ends.
    pub fn run_doorbells(&self) {
        let mut seen = self.taken.load(Ordering::Relaxed) as u32;
        loop {
            let posted = self.host.posted.wait(Acquire, |p| p & STOP != 0 || p > seen);
            seen = posted & !STOP;
            self.step(|core| self.take_posted(core));
            if posted & STOP != 0 {
                return;
            }
        }
    }

    /// The wire agent: frames come in one after the other.
    pub fn run_wire(&self, frames: Vec<Frame>) {
        for frame in frames {
            self.step(|core| {
                if !self.is_gone() {
                    core.rx_frame(frame);
                }
            });
        }
    }
}

impl<D: Silicon> Registers for ExploredDevice<D> {
    fn write(&self, bar: u8, offset: u64, value: u32) {
        self.command(|core| {
            if !self.is_gone() {
                core.mmio_write32(bar, offset, value);
            }
        });
    }

    fn read(&self, bar: u8, offset: u64) -> u32 {
        self.command(|core| match self.is_gone() {
            true => u32::MAX,
            false => core.mmio_read32(bar, offset),
        })
    }

    fn mask(&self, vector: u32, masked: bool) {
        self.command(|core| core.mask_vector(vector, masked));
    }

    fn line(&self) -> bool {
        self.command(|core| core.intx() && !self.is_gone())
    }
}
