//! The receive side of Linux's mlx4: event queue, completion queue, receive ring, poll.
//!
//! Modules follow the kernel's files (`drivers/net/ethernet/mellanox/mlx4/`, Linux 6.12, with the
//! forms of November 2014 where they differ). Left out: transmit, XDP, checksum repair for
//! `CHECKSUM_COMPLETE`, several fragments a packet, timestamping, command interface by mailbox
//! (commands are calls of [`CommandPort`]).

mod cmd;
mod cq;
mod cq_lock;
mod en_netdev;
mod en_rx;
mod eq;
mod poll_end;
mod rx_ring;

pub use cmd::CommandPort;
pub use cq::Cq;
pub use cq_lock::CqLock;
pub use en_netdev::{OpenError, RingState};
pub use en_rx::RxQueue;
pub use eq::Eq;
pub use poll_end::{PollEnd, PollEndForm};
pub use rx_ring::RxRing;

use pollproof_kapi::Below;
use pollproof_netcore::Net;
use pollproof_sync::AtomicU32;
use std::sync::{Arc, OnceLock};

/// How the driver asks for the next interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmForm {
    /// Record, then doorbell: the device fires at once when it is ahead. What mlx4_en does.
    Doorbell,
    /// Record in host memory alone, which the device reads after each completion: the driver must
    /// look again after arming, with a full barrier between.
    RecordAndRecheck,
}

/// Settings of a port.
#[derive(Clone, Debug)]
pub struct Mlx4Options {
    /// Receive rings, a power of two.
    pub rings: u32,
    /// Log2 of the entries of a ring and its CQ.
    pub log_ring_size: u32,
    /// Distance of CQEs, 32 or 64 bytes.
    pub cqe_stride_bytes: u32,
    /// Refill when at least this many buffers are missing; 8 in Linux.
    pub refill_min: u32,
    /// CQ moderation: completions.
    pub rx_frames: u32,
    /// CQ moderation: microseconds.
    pub rx_usecs: u32,
    /// End of the poll method.
    pub poll_end: PollEndForm,
    /// How to arm.
    pub arm: ArmForm,
    /// Mask the MSI-X vector while a poll is scheduled. mlx4 does not; drivers of devices whose
    /// interrupt is a level do.
    pub mask_vector: bool,
    /// `mlx4_en_cq_lock_napi` and friends (3.11 to 4.4): sockets may poll the queue.
    pub busy_poll_lock: bool,
    /// Poll in a kthread instead of the softirq.
    pub threaded: bool,
    /// NAPI weight; 64 in Linux.
    pub weight: i32,
    /// MSI-X vector of the first completion EQ.
    pub first_vector: u32,
}

impl Default for Mlx4Options {
    fn default() -> Self {
        Self {
            rings: 1,
            log_ring_size: 10,
            cqe_stride_bytes: 32,
            refill_min: 8,
            rx_frames: 44,
            rx_usecs: 16,
            poll_end: PollEndForm::V6_12,
            arm: ArmForm::Doorbell,
            mask_vector: false,
            busy_poll_lock: false,
            threaded: false,
            weight: pollproof_netcore::POLL_WEIGHT,
            first_vector: 1,
        }
    }
}

/// One Ethernet port (`struct mlx4_en_priv`).
pub struct Mlx4Port {
    /// Settings.
    pub options: Mlx4Options,
    pub(crate) below: Below,
    pub(crate) net: Arc<Net>,
    pub(crate) cmd: Arc<dyn CommandPort>,
    /// `priv->port_up`.
    pub(crate) port_up: AtomicU32,
    pub(crate) queues: OnceLock<Vec<Arc<RxQueue>>>,
    pub(crate) eqs: OnceLock<Vec<Arc<Eq>>>,
    pub(crate) cq_table: eq::CqTable,
}

/// First CQ number that the driver uses; lower ones are reserved.
pub const FIRST_CQN: u32 = 0x80;
/// First receive queue number.
pub const FIRST_RQN: u32 = 0x40;
/// First completion EQ number.
pub const FIRST_EQN: u32 = 4;
/// First timer that retries a refill; lower ones belong to NAPI contexts, by slot.
pub const FIRST_OOM_TIMER: u32 = 0x1000;

/// The rule that a race of the device's and the driver's words breaks, by direction.
pub(crate) const VALID_BEFORE_USE: &str = "VALID-BEFORE-USE";
pub(crate) const POST_BEFORE_DOORBELL: &str = "POST-BEFORE-DOORBELL";

/// Takes a lock of std that serves as plain memory: never held across an engine's operation.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
