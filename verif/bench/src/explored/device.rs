//! The device of explored runs: the same engine as in timed runs, its steps taken by agents.
//!
//! A step of the device is atomic against other steps of it. Each marked word (owner bits, doorbell
//! records) that it reads or writes in host memory, and each MSI-X message, is a step of its own
//! that the CPUs can see in between; plain words go with the marked one that follows.

use super::host::{ExploredHost, STOP};
use pollproof_connectx_3::ConnectX3;
use pollproof_mlx4::CommandPort;
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{CmdStatus, CqContext, EqContext, RqContext, RssContext};
use pollproof_sync::Ordering::{Acquire, SeqCst};
use pollproof_sync::{fence, irq, SpinLock};
use pollproof_wire::Frame;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// A ConnectX-3 on an explored host.
pub struct ExploredDevice {
    core: SpinLock<ConnectX3>,
    host: Arc<ExploredHost>,
    /// Posted writes that were taken; changed only while the core is locked.
    taken: AtomicUsize,
}

impl ExploredDevice {
    /// Plugs a device into a host.
    pub fn new(core: ConnectX3, host: Arc<ExploredHost>) -> Arc<Self> {
        Arc::new(Self { core: SpinLock::unwatched(core), host, taken: AtomicUsize::new(0) })
    }

    /// One step: gives the device an input and performs all that it asks for.
    pub fn step<R>(&self, input: impl FnOnce(&mut ConnectX3) -> R) -> R {
        let _step = irq::hold();
        let mut core = self.core.lock();
        let result = input(&mut core);
        self.perform_all(&mut core);
        result
    }

    fn perform_all(&self, core: &mut ConnectX3) {
        while let Some(request) = core.pop() {
            self.perform(core, request);
        }
    }

    fn perform(&self, core: &mut ConnectX3, request: Outbound) {
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
    fn take_posted(&self, core: &mut ConnectX3) {
        loop {
            let number = self.taken.load(Ordering::Relaxed);
            let Some(write) = self.host.posted_write(number) else { return };
            self.taken.store(number + 1, Ordering::Relaxed);
            match write.wide {
                true => core.mmio_write64(write.bar, write.offset, write.value),
                false => core.mmio_write32(write.bar, write.offset, write.value as u32),
            }
            self.perform_all(core);
        }
    }

    /// A command is the last of the register writes that its CPU posted: those before it come
    /// first.
    fn command<R>(&self, command: impl FnOnce(&mut ConnectX3) -> R) -> R {
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
            self.step(|core| core.rx_frame(frame));
        }
    }
}

impl CommandPort for ExploredDevice {
    fn sw2hw_eq(&self, eqn: u32, context: EqContext) -> Result<(), CmdStatus> {
        self.command(|core| core.sw2hw_eq(eqn, context))
    }

    fn hw2sw_eq(&self, eqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.hw2sw_eq(eqn))
    }

    fn sw2hw_cq(&self, cqn: u32, context: CqContext) -> Result<(), CmdStatus> {
        self.command(|core| core.sw2hw_cq(cqn, context))
    }

    fn hw2sw_cq(&self, cqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.hw2sw_cq(cqn))
    }

    fn start_rq(&self, rqn: u32, context: RqContext) -> Result<(), CmdStatus> {
        self.command(|core| core.start_rq(rqn, context))
    }

    fn stop_rq(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.stop_rq(rqn))
    }

    fn set_rss(&self, context: RssContext) -> Result<(), CmdStatus> {
        self.command(|core| core.set_rss(Some(context)))
    }

    fn set_default_rqn(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.set_default_rqn(Some(rqn)))
    }
}
