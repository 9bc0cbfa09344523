//! Linux's ixgbe for one port of an 82599: bring-up, rings, poll, interrupts, watchdog, removal.
//!
//! Modules follow the kernel's files (`drivers/net/ethernet/intel/ixgbe/`, Linux 6.12; the lock of
//! busy polling and `ixgbe_low_latency_recv` as of 3.11 to 4.4). Left out: other MACs than the
//! 82599, SFP+ modules and PHYs, DCB, virtual functions, flow director, receive side coalescing,
//! XDP and AF_XDP, VLAN stripping, timestamps, IPsec, FCoE, wake up, ethtool, MSI.

mod common;
mod hw;
mod irq;
mod itr;
mod netdev;
mod poll;
mod qv_lock;
mod rss;
mod rx;
mod rx_ring;
mod service;
mod tx;
mod tx_clean;
mod tx_ring;

pub use itr::{Container, ItrSetting, Traffic};
pub use netdev::OpenError;
pub use poll::QVector;
pub use qv_lock::{QvLock, QvLockForm};
pub use rss::TOEPLITZ_KEY;
pub use rx_ring::{RxRing, RxRingState};
pub use tx::{Checksum, TxFrag, TxPacket, TxRefused};
pub use tx_ring::TxRing;

use hw::Hw;
use pollproof_kapi::Below;
use pollproof_netcore::Net;
use pollproof_sync::AtomicU32;
use pollproof_sync::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// Settings of a port.
#[derive(Clone, Debug)]
pub struct IxgbeOptions {
    /// Pairs of a receive and a transmit ring, 1 to 16 (`rss_indices`).
    pub queues: u32,
    /// Queue vectors; rings are dealt out to them in turn. More than queues makes no difference.
    pub vectors: u32,
    /// Receive descriptors of a ring: a multiple of 8, 8 to 8192 and more than a refill; Linux
    /// takes 64 and up.
    pub rx_ring_count: u32,
    /// Descriptors that are worth a refill (`IXGBE_RX_BUFFER_WRITE`); 16 in Linux.
    pub rx_buffer_write: u32,
    /// Transmit descriptors of a ring: a multiple of 8, 48 to 8192; Linux takes 64 and up.
    pub tx_ring_count: u32,
    /// Interrupt moderation of the queue vectors.
    pub itr: ItrSetting,
    /// Transmit descriptors that a poll cleans; 256 in Linux.
    pub tx_work_limit: u32,
    /// NAPI weight; 64 in Linux.
    pub weight: i32,
    /// Sockets may poll the queues (`ndo_ll_poll`), with this form of the lock.
    pub busy_poll_lock: Option<QvLockForm>,
    /// Hash UDP by ports too (`ethtool -N rx-flow-hash udp4 sdfn`); off in Linux.
    pub rss_udp: bool,
    /// Key of the hash.
    pub rss_key: [u8; 40],
    /// MSI-X, or one legacy interrupt that other devices may share.
    pub interrupts: Interrupts,
    /// Obey pause frames.
    pub rx_pause: bool,
    /// Send pause frames: then full queues do not drop, they hold back the others.
    pub tx_pause: bool,
    /// `IFF_PROMISC`: take frames to any address.
    pub promiscuous: bool,
    /// Longest frame, bytes with FCS; above 1518 jumbo frames are on.
    pub max_frame: u32,
    /// Number of the port in events.
    pub port: u32,
}

/// How the device interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupts {
    /// A vector for each queue vector, and one for the rest.
    Msix,
    /// INTx: one queue vector, one line.
    Legacy,
}

impl Default for IxgbeOptions {
    fn default() -> Self {
        Self {
            queues: 1,
            vectors: 16,
            rx_ring_count: 512,
            rx_buffer_write: 16,
            tx_ring_count: 512,
            itr: ItrSetting::Adaptive,
            tx_work_limit: 256,
            weight: pollproof_netcore::POLL_WEIGHT,
            busy_poll_lock: None,
            rss_udp: false,
            rss_key: TOEPLITZ_KEY,
            interrupts: Interrupts::Msix,
            rx_pause: false,
            tx_pause: false,
            promiscuous: false,
            max_frame: 1518,
            port: 0,
        }
    }
}

/// Bits of `adapter->state`.
pub(crate) mod state {
    /// `__IXGBE_DOWN`.
    pub const DOWN: u32 = 1 << 0;
    /// `__IXGBE_RESETTING`.
    pub const RESETTING: u32 = 1 << 1;
    /// `__IXGBE_SERVICE_SCHED`.
    pub const SERVICE_SCHED: u32 = 1 << 2;
    /// `__IXGBE_RESET_REQUESTED`.
    pub const RESET_REQUESTED: u32 = 1 << 3;
    /// `IXGBE_FLAG_NEED_LINK_UPDATE`.
    pub const NEED_LINK_UPDATE: u32 = 1 << 4;
    /// `netif_carrier_ok`.
    pub const CARRIER: u32 = 1 << 5;
    /// `netif_running`: opened and not closed, whether it is up or not.
    pub const RUNNING: u32 = 1 << 6;
}

/// What rings, vectors and the port share.
pub(crate) struct Core {
    pub options: IxgbeOptions,
    pub below: Below,
    pub net: Arc<Net>,
    pub hw: Hw,
    /// `adapter->state` and the flags that are bits here.
    pub state: AtomicU32,
}

impl Core {
    /// Whether any of `bits` is set.
    pub fn has(&self, bits: u32) -> bool {
        self.state.load(Relaxed) & bits != 0
    }

    /// `set_bit`; gives whether one of them was set before.
    pub fn set(&self, bits: u32) -> bool {
        self.state.fetch_or(bits, Relaxed) & bits != 0
    }

    /// `clear_bit`; gives whether one of them was set.
    pub fn clear(&self, bits: u32) -> bool {
        self.state.fetch_and(!bits, Relaxed) & bits != 0
    }

    /// `ixgbe_service_event_schedule`.
    pub fn service_event_schedule(&self) {
        if !self.set(state::SERVICE_SCHED) {
            self.below.timer.start(SERVICE_WORK, 0);
        }
    }
}

/// One port (`struct ixgbe_adapter`).
pub struct Adapter {
    pub(crate) core: Arc<Core>,
    pub(crate) q_vectors: OnceLock<Vec<Arc<QVector>>>,
    mac: OnceLock<[u8; 6]>,
    /// Transmit hangs that were reported, interrupts of other causes, arms of queue vectors.
    pub(crate) hangs: std::sync::atomic::AtomicU64,
}

/// Timer that stands for `adapter->service_task` being queued: its callback is
/// [`Adapter::service_task`], in process context. Lower ones belong to NAPI contexts, by slot.
pub const SERVICE_WORK: u32 = 0x2000;
/// `adapter->service_timer`: every two seconds; its callback is [`Adapter::service_timer`].
pub const SERVICE_TIMER: u32 = 0x2001;

/// The rules that a race on a ring's words breaks.
pub(crate) const VALID_BEFORE_USE: &str = "VALID-BEFORE-USE";

/// Takes a lock of std that serves as plain memory: never held across an engine's operation.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
