//! What an explored scene asks of a NIC: a device model, a driver, and how they belong together.

use super::{ExploredDevice, Scene, SceneOptions};
use crate::timed::Device;
use pollproof_kapi::Below;
use pollproof_netcore::{Napi, Net};
use pollproof_pcie::Outbound;
use std::fmt::Debug;
use std::sync::Arc;

/// How an access to a register gets to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A write is posted and taken in a later step.
    Posted,
    /// A write is taken at once, after all that were posted before it: one of the orders that a
    /// bus allows, for registers whose delay would be nothing but more of the same.
    AtOnce,
    /// At once while a port is opened before the agents start, and plain memory afterwards: tables
    /// that are written again on each way up.
    Setup,
    /// It is plain memory: a table or a counter that no scenario looks at.
    Kept,
}

/// A device as explored runs need it.
pub trait Silicon: Device + Send + 'static {
    /// The way of a register.
    fn route(_bar: u8, _offset: u64) -> Route {
        Route::Posted
    }
    /// Its next request to the bus.
    fn take(&mut self) -> Option<Outbound>;
    /// Does what is due although no time passes.
    fn settle(&mut self) {}
    /// Level of the legacy interrupt.
    fn intx(&self) -> bool {
        false
    }
    /// Lets a moderation period that runs come to its end; false when none does.
    fn expire_any(&mut self) -> bool;
}

/// A driver's port.
pub trait Nic: Sized + Send + Sync + 'static {
    /// Device model.
    type Device: Silicon;
    /// Options of the driver.
    type Options: Clone + Debug;
    /// What a scene may choose of the device.
    type Choices: Clone + Debug + Default;

    /// The device of a scene.
    fn device(options: &SceneOptions<Self>) -> Self::Device;
    /// The driver on it; not open.
    fn attach(
        options: &SceneOptions<Self>,
        below: Below,
        net: Arc<Net>,
        device: &Arc<ExploredDevice<Self::Device>>,
    ) -> Arc<Self>;
    /// Whether it interrupts by the legacy line.
    fn has_line(_options: &SceneOptions<Self>) -> bool {
        false
    }
    /// Opens the port.
    fn open_port(self: &Arc<Self>) -> Result<(), String>;
    /// Its contexts, by queue.
    fn contexts(&self) -> Vec<Arc<Napi>>;
    /// A timer fired, in a softirq; false when it is not the driver's.
    fn run_timer(self: &Arc<Self>, timer: u32) -> bool;
    /// Work that the driver queued, in process context.
    fn run_work(self: &Arc<Self>) {}
    /// What happens soon after a port was opened and is of no interest.
    fn settle_open(self: &Arc<Self>) {}
    /// A softirq whose poll was refused tries again at once, over and over; nothing changes until
    /// the socket is done, so here it waits for that.
    fn wait_for_sockets(&self) {}
    /// State of each queue, as events.
    fn emit_rest(scene: &Scene<Self>, wakeup: bool);
}
