//! What an event says of a queue, a ring or a port as a whole.

use crate::{CqId, NapiId};

/// State of one completion queue when nothing runs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestCq {
    /// The queue.
    pub cq: CqId,
    /// NAPI that serves it.
    pub napi: NapiId,
    /// Completions that the device wrote and the driver did not consume.
    pub unconsumed: u32,
    /// Receive buffers posted.
    pub posted: u32,
    /// Whether the queue is in use (opened, not stopped).
    pub enabled: bool,
    /// Whether the device would signal the next completion.
    pub armed: bool,
    /// Whether somebody is still coming: an interrupt, a poll, a timer or a retry is pending.
    pub wakeup: bool,
}

/// A ring in memory with its tail in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailRing {
    /// BAR of the register.
    pub bar: u8,
    /// Offset of the register: names the ring.
    pub tail: u64,
    /// Entries.
    pub entries: u32,
    /// Its completion queue, if the device fills the ring; `None` if it empties it.
    pub cq: Option<CqId>,
}

/// Where a port is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// The driver knows the device; nothing runs.
    Probed,
    /// The device was reset.
    Reset,
    /// Queues, contexts and interrupts work.
    Up,
    /// Nothing of it may run.
    Down,
    /// The driver knows that the device is gone.
    Removed,
}
