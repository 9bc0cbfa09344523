//! What events say of buffers, lists and packets, and of a queue, a ring, a context or a port as a
//! whole.

use crate::{CqId, NapiId};

/// Who may touch a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Nobody: it is not allocated.
    Free,
    /// The driver: allocated, not mapped for the device.
    Driver,
    /// The device: mapped and posted.
    Device,
    /// The network stack: handed up as packet data.
    Stack,
}

/// What a DMA access carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Packet bytes.
    Data,
    /// A completion queue entry.
    Cqe,
    /// An event queue entry.
    Eqe,
    /// A work queue entry (receive descriptor).
    Wqe,
    /// A doorbell record in host memory.
    Record,
    /// What a firmware command brings or takes.
    Mailbox,
    /// Entries of a translation table.
    Mtt,
}

/// Which list a NAPI context is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `softnet_data.poll_list` of a CPU.
    Poll,
    /// The private `repoll` list of `net_rx_action`.
    Repoll,
    /// The private list that `net_rx_action` took over.
    Taken,
}

/// How an skb left the driver's hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkbEnd {
    /// Queued to this socket.
    Socket(u32),
    /// Dropped for a counted reason.
    Dropped(&'static str),
}

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

/// State of a transmit ring when nothing runs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestTx {
    /// Register of the ring's tail.
    pub tail: u64,
    /// Descriptors that the device is done with and the driver did not take back.
    pub uncleaned: u32,
    /// The queue takes no packets although it has room.
    pub stopped: bool,
    /// Whether the ring is in use.
    pub enabled: bool,
    /// Whether somebody is still coming.
    pub wakeup: bool,
}

/// What a device keeps when nothing runs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestDevice {
    /// Frames that wait for others although their own queue could take them.
    pub blocked: u64,
    /// Interrupt causes that are set and enabled, as bits, and have led to nothing.
    pub causes: u64,
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

/// A step in the life of a NAPI context that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NapiStep {
    /// `netif_napi_del` was called.
    Deleted,
    /// `napi_disable` is under way: nobody new may take the context. It returns later.
    Disabling,
    /// Its owner gave it up: the next schedule is granted.
    Released,
    /// Its owner leaves it to the kthread.
    ForKthread,
    /// A busy poller took it.
    BusyTaken,
    /// The busy poller goes on as any owner: it polls once more, to get the interrupt enabled.
    BusyLeft,
}
