//! What the timed house asks of a NIC: a device model, a driver, and how they belong together.

use super::world::World;
use super::{Options, QueueReport, TimedError, TimedHost};
use pollproof_netcore::Net;
use pollproof_pcie::Outbound;
use pollproof_wire::Frame;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// A device model without input and output of its own.
pub trait Device {
    /// The MSI-X table is part of the model, which sends what the table lets through.
    const OWNS_MSIX: bool;
    /// A request stays in the model until it arrives: see [`Self::depart`].
    const KEEPS_REQUESTS: bool = false;
    /// Tells the time, picoseconds; it never goes back.
    fn set_time(&mut self, now_ps: u64);
    /// When it next does something by itself.
    fn next_deadline(&self) -> Option<u64>;
    /// Does what is due.
    fn expire(&mut self);
    /// Its next request to the bus, when it does not keep them.
    fn pop(&mut self) -> Option<Outbound> {
        None
    }
    /// Its next request leaves for the bus, when it keeps them.
    fn depart(&mut self) -> Option<&Outbound> {
        None
    }
    /// The request that arrives next, when it keeps them.
    fn on_bus(&self) -> Option<&Outbound> {
        None
    }
    /// That request arrived.
    fn arrived(&mut self) {}
    /// Whether there is one.
    fn has_output(&self) -> bool;
    /// The next request where it waits, if taking it changes nothing else.
    fn front(&self) -> Option<&Outbound>;
    /// That request was performed.
    fn front_done(&mut self);
    /// Whether nothing waits to be taken.
    fn is_settled(&self) -> bool {
        !self.has_output()
    }
    /// A DMA read is answered.
    fn dma_complete(&mut self, tag: u32, bytes: &[u8]);
    /// A frame reaches its port.
    fn rx_frame(&mut self, frame: Frame);
    /// A register is written.
    fn mmio_write32(&mut self, bar: u8, offset: u64, value: u32);
    /// A register of 64 bits is written.
    fn mmio_write64(&mut self, bar: u8, offset: u64, value: u64);
    /// A register is read.
    fn mmio_read32(&mut self, bar: u8, offset: u64) -> u32;
    /// Frames inside it.
    fn held(&self) -> u64;
    /// Masks or unmasks a vector of a table of its own.
    fn mask_vector(&mut self, _vector: u32, _masked: bool) {}
}

/// Vectors and contexts of a port.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// First vector that a queue has.
    pub first_vector: u32,
    /// Vectors of queues; their contexts are numbered alike.
    pub queue_vectors: u32,
    /// Vectors behind those.
    pub other_vectors: u32,
    /// NAPI weight.
    pub weight: i32,
}

impl Shape {
    /// Vectors of the function, those before the first queue's included.
    pub fn vectors(&self) -> u32 {
        self.first_vector.saturating_add(self.queue_vectors).saturating_add(self.other_vectors)
    }
}

/// What a NIC adds to a report.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Frames that reached the port.
    pub port_frames: u64,
    /// Completed frames that the driver has not taken.
    pub queued: u64,
    /// MSI-X messages.
    pub msix: u64,
    /// Completion events.
    pub cq_events: u64,
    /// Arm requests that counted, and those that were stale.
    pub arms: (u64, u64),
    /// Drops by counter; none is 0.
    pub drops: BTreeMap<&'static str, u64>,
    /// Each queue.
    pub queues: Vec<QueueReport>,
    /// Polls, and those that used their whole weight.
    pub polls: (u64, u64),
}

/// A NIC: the opened driver of a port, and what it takes to open one.
pub trait Nic: Clone + Debug + 'static {
    /// Device model.
    type Device: Device + Send;
    /// Options of the driver.
    type Driver: Clone + Debug;
    /// Parameters of the device model.
    type Params: Copy + Debug;

    /// Vectors and contexts by options.
    fn shape(driver: &Self::Driver) -> Shape;
    /// Whether the options make sense to a timed run.
    fn check(options: &Options<Self>) -> Result<(), TimedError>;
    /// The device of a run.
    fn device(options: &Options<Self>) -> Self::Device;
    /// Opens the port.
    fn open(
        options: &Options<Self>,
        host: &Arc<TimedHost<Self>>,
        net: &Arc<Net>,
    ) -> Result<Self, TimedError>;
    /// The bytes of a frame as the wire carries them.
    fn on_wire(bytes: Arc<[u8]>) -> Arc<[u8]> {
        bytes
    }
    /// Whether frames may come.
    fn is_ready(&self) -> bool {
        true
    }
    /// A timer of the driver fired, in a softirq; false when it is not the driver's.
    fn run_timer(&self, timer: u32) -> bool;
    /// A timer that comes again for ever, so that nobody need wait for it.
    fn is_background(_timer: u32) -> bool {
        false
    }
    /// Whether work waits for process context.
    fn has_work(&self) -> bool {
        false
    }
    /// Does it.
    fn run_work(&self) {}
    /// State of each queue at the end, as events.
    fn emit_rest(&self, world: &mut World<Self>);
    /// What is counted.
    fn parts(&self, world: &World<Self>, net: &Net) -> Parts;
}
