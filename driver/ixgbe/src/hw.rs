//! Register access and surprise removal: `ixgbe_read_reg`, `ixgbe_check_remove`,
//! `ixgbe_remove_adapter` (6.12).
//!
//! A function that left the bus reads all ones. A register may hold that value by itself, so STATUS
//! decides, which never does. From then on the driver behaves as if there were no registers.

use pollproof_events::{emit, Event, PortState};
use pollproof_kapi::Below;
use pollproof_regs::ixgbe::pci::BAR_CSR;
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, AtomicU32};

/// What a function that is gone reads as (`IXGBE_FAILED_READ_REG`).
pub(crate) const FAILED_READ: u32 = u32::MAX;
/// How often STATUS may fail before it counts (`IXGBE_FAILED_READ_RETRIES`).
const RETRIES: u32 = 5;
const RETRY_NS: u64 = 3_000_000;

/// The registers of a port (`struct ixgbe_hw`).
pub(crate) struct Hw {
    below: Below,
    port: u32,
    /// `hw_addr` is not NULL.
    present: AtomicU32,
}

impl Hw {
    pub fn new(below: Below, port: u32) -> Self {
        Self { below, port, present: AtomicU32::new(1) }
    }

    /// `ixgbe_removed`.
    pub fn is_removed(&self) -> bool {
        self.present.load(Relaxed) == 0
    }

    /// `ixgbe_read_reg`; all ones once the function is gone.
    pub fn read(&self, register: u32) -> u32 {
        if self.is_removed() {
            return FAILED_READ;
        }
        let value = self.raw(register);
        if value == FAILED_READ && !bug("E-32") {
            return self.check_remove(register);
        }
        value
    }

    /// `ixgbe_write_reg`.
    pub fn write(&self, register: u32, value: u32) {
        if !self.is_removed() {
            self.raw_write(register, value);
        }
    }

    /// Writes the same to `count` registers. Whether the function is there is asked once: a block
    /// is written in no time.
    pub fn fill(&self, first: u32, stride: u32, count: u32, value: u32) {
        if !self.is_removed() {
            let registers = (0..count).map(|n| first + n * stride);
            registers.for_each(|at| self.raw_write(at, value));
        }
    }

    /// Changes the bits of `mask` in `count` registers; as [`Hw::fill`].
    pub fn update_block(&self, first: u32, stride: u32, count: u32, mask: u32, value: u32) {
        if self.is_removed() {
            return;
        }
        for at in (0..count).map(|n| first + n * stride) {
            let kept = self.raw(at) & !mask;
            self.raw_write(at, kept | value & mask);
        }
    }

    /// Reads `count` registers whose values are of no interest; as [`Hw::fill`].
    pub fn discard(&self, first: u32, stride: u32, count: u32) {
        if !self.is_removed() {
            for n in 0..count {
                let _ = self.raw(first + n * stride);
            }
        }
    }

    /// `IXGBE_WRITE_FLUSH`.
    pub fn flush(&self) {
        self.read(map::STATUS);
    }

    /// Changes the bits of `mask`.
    pub fn update(&self, register: u32, mask: u32, value: u32) {
        let kept = self.read(register) & !mask;
        self.write(register, kept | value & mask);
    }

    /// Looks every `step_ns`, at most `tries` times, until the bits are as wanted.
    pub fn poll(&self, register: u32, mask: u32, wanted: u32, tries: u32, step_ns: u64) -> bool {
        for _ in 0..tries {
            if self.is_removed() {
                return false;
            }
            if self.read(register) & mask == wanted {
                return true;
            }
            self.below.clock.sleep_ns(step_ns);
        }
        false
    }

    /// Writes whether the function is there or not: for blocks that asked before.
    pub fn raw_write(&self, register: u32, value: u32) {
        self.below.mmio.write32(BAR_CSR, u64::from(register), value);
    }

    fn raw(&self, register: u32) -> u32 {
        self.below.mmio.read32(BAR_CSR, u64::from(register))
    }

    /// All ones were read: is it the register or the function?
    fn check_remove(&self, register: u32) -> u32 {
        if register == map::STATUS {
            self.remove_adapter();
            return FAILED_READ;
        }
        for _ in 0..RETRIES {
            if self.raw(map::STATUS) != FAILED_READ {
                return self.raw(register);
            }
            self.below.clock.sleep_ns(RETRY_NS);
        }
        self.remove_adapter();
        FAILED_READ
    }

    fn remove_adapter(&self) {
        if self.present.update(Relaxed, |p| (p == 1).then_some(0)).is_ok() {
            emit(Event::Port { port: self.port, state: PortState::Removed });
            // The service task takes the interface down.
            self.below.timer.start(crate::SERVICE_WORK, 0);
        }
    }
}
