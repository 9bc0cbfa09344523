//! The core of receiving in the shape of Linux: NAPI, softirq, napi_hash, skb and sockets.
//!
//! Names and behaviour follow `net/core/dev.c` of Linux 6.12, with the differences of the kernels
//! that the public threads were written against as options ([`Era`]). Left out: RPS, XDP; see
//! docs/FIDELITY.md.

mod busy_loop;
mod chain;
mod cost;
mod gro;
mod hash;
mod inet;
mod list;
mod ll_poll;
mod meta;
mod napi;
mod netpoll;
mod page;
mod recv;
mod skb;
mod sock;
mod socket;
mod softirq;
mod task;
mod threaded;

pub use busy_loop::{BusyPoll, BUSY_POLL_BUDGET};
pub use chain::SkbChain;
pub use cost::{RxCosts, L1};
pub use gro::{segment, Gro, GroOptions, GroResult, Gso, Merged};
pub use hash::NapiHash;
pub use list::SkbList;
pub use ll_poll::{LL_FLUSH_BUSY, LL_FLUSH_FAILED};
pub use meta::{Ext, Meta};
pub use napi::{Napi, NapiPoll, NapiState, POLL_WEIGHT};
pub use page::Page;
pub use recv::{Received, RecvError};
pub use skb::{Frag, SkBuff};
pub use sock::{Endpoint, Family, Flow, Protocol, Sock, SockState};
pub use socket::{Arrival, Keep, Ledger};

use cost::Cost;
use pollproof_events::{emit, Event};
use pollproof_kapi::Below;
use pollproof_sync::{AtomicU32, Counter, Rcu, RcuForm};
use softirq::Softnet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which kernel's rules apply where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// November 2014, before `repoll` lists and `NAPI_STATE_MISSED`: a polled context stays on its
    /// list, `napi_complete_done` gives no answer, a refused schedule is forgotten.
    V3_18,
    /// 6.12.
    V6_12,
}

/// Settings of the network core.
#[derive(Clone, Debug)]
pub struct NetOptions {
    /// Kernel whose rules apply.
    pub era: Era,
    /// CPUs.
    pub cpus: u32,
    /// Form of RCU.
    pub rcu: RcuForm,
    /// Buckets of `napi_hash`; 256 in Linux.
    pub hash_buckets: usize,
    /// `napi_hash_add` marks the context as hashed before it takes the lock, as of 3.11.
    pub hashed_before_lock: bool,
    /// First `napi_id` that may be issued; `NR_CPUS + 1` since 4.12, 1 before.
    pub min_napi_id: u32,
    /// Last id that was issued; near `u32::MAX` to try the wrap.
    pub last_napi_id: u32,
    /// `net.core.netdev_budget`, packets.
    pub netdev_budget: i32,
    /// `net.core.netdev_budget_usecs`.
    pub netdev_budget_usecs: u64,
    /// `gro_flush_timeout`, nanoseconds.
    pub gro_flush_timeout_ns: u64,
    /// `napi_defer_hard_irqs`.
    pub napi_defer_hard_irqs: u32,
    /// GRO, and how many packets go up together; `None` takes each up by itself.
    pub gro: Option<GroOptions>,
    /// A cache that counts what it misses of packets on their way up.
    pub l1: Option<L1>,
    /// How long a socket polls for its next packet, microseconds; 0 is not at all:
    /// `net.core.low_latency_poll` (3.11), `net.core.busy_read` (6.12).
    pub busy_poll_us: u64,
    /// How it polls in 6.12.
    pub busy_poll: BusyPoll,
    /// Devices have a netpoll (`dev->npinfo`).
    pub netpoll: bool,
    /// What the socket ledger keeps.
    pub keep: Keep,
    /// Packets that wait in sockets for their reader, with their buffers; 0 is read at once.
    pub rcv_queue: usize,
    /// The readers never come: what does not fit is dropped (`SO_RCVBUF`).
    pub rcv_full_drops: bool,
}

impl Default for NetOptions {
    fn default() -> Self {
        Self {
            era: Era::V6_12,
            cpus: 1,
            rcu: RcuForm::Locks,
            hash_buckets: 256,
            hashed_before_lock: false,
            min_napi_id: 1,
            last_napi_id: 0,
            netdev_budget: 300,
            netdev_budget_usecs: 2_000,
            gro_flush_timeout_ns: 0,
            napi_defer_hard_irqs: 0,
            gro: None,
            l1: None,
            busy_poll_us: 0,
            busy_poll: BusyPoll::default(),
            netpoll: false,
            keep: Keep::Counts,
            rcv_queue: 0,
            rcv_full_drops: false,
        }
    }
}

impl NetOptions {
    /// `MIN_NAPI_ID`.
    pub(crate) fn first_napi_id(&self) -> u32 {
        self.min_napi_id.max(1)
    }
}

/// One network namespace with its CPUs: what `net/core` keeps in globals.
pub struct Net {
    /// Settings.
    pub options: NetOptions,
    /// RCU domain of the network core.
    pub rcu: Rcu,
    /// `napi_hash`.
    pub hash: NapiHash,
    /// What arrived at the sockets.
    pub ledger: Ledger,
    /// `LINUX_MIB_LOWLATENCYRXPACKETS`: packets that sockets took from queues by themselves.
    low_latency_rx_packets: AtomicU64,
    /// `LINUX_MIB_BUSYPOLLRXPACKETS`: the same since 4.5.
    busy_poll_rx_packets: AtomicU64,
    /// Lists that went up.
    lists: Counter,
    /// Packets, merged or not, that the upper layer was called with.
    calls_up: Counter,
    pub(crate) cost: Cost,
    pub(crate) below: Below,
    softnet: Vec<Softnet>,
    /// What the task of each CPU is asked.
    asked: Vec<AtomicU32>,
    /// Sockets, in the order in which they were made: before packets come.
    socks: Mutex<Vec<Arc<Sock>>>,
    /// Whether there is any.
    has_socks: AtomicBool,
    /// Memory of all NAPI contexts, by slot. A stale slot stays readable: the lifetime token, not a
    /// crash, tells of a use after free.
    napis: Mutex<Vec<Arc<Napi>>>,
}

impl Net {
    /// A network core on top of `below`.
    pub fn new(options: NetOptions, below: Below) -> Arc<Self> {
        if options.first_napi_id() > 1 {
            emit(Event::NapiIds { first: options.first_napi_id() });
        }
        Arc::new(Self {
            rcu: Rcu::new(options.cpus, options.rcu),
            hash: NapiHash::new(&options),
            ledger: Ledger::new(options.keep),
            low_latency_rx_packets: AtomicU64::new(0),
            busy_poll_rx_packets: AtomicU64::new(0),
            lists: Counter::default(),
            calls_up: Counter::default(),
            cost: Cost::new(options.l1),
            asked: (0..options.cpus).map(|_| AtomicU32::new(0)).collect(),
            socks: Mutex::new(Vec::new()),
            has_socks: AtomicBool::new(false),
            softnet: (0..options.cpus).map(|_| Softnet::default()).collect(),
            napis: Mutex::new(Vec::new()),
            below,
            options,
        })
    }

    /// What this core stands on.
    pub fn below(&self) -> &Below {
        &self.below
    }

    /// `LowLatencyRxPackets` of `/proc/net/netstat`.
    pub fn low_latency_rx_packets(&self) -> u64 {
        self.low_latency_rx_packets.load(Relaxed)
    }

    /// `BusyPollRxPackets` of `/proc/net/netstat`.
    pub fn busy_poll_rx_packets(&self) -> u64 {
        self.busy_poll_rx_packets.load(Relaxed)
    }

    /// Lists of packets that went up.
    pub fn lists(&self) -> u64 {
        self.lists.get()
    }

    /// Packets, merged or not, that the upper layer was called with.
    pub fn calls_up(&self) -> u64 {
        self.calls_up.get()
    }

    fn count_busy_packets(&self, work: i32) {
        self.busy_poll_rx_packets.fetch_add(u64::try_from(work).unwrap_or(0), Relaxed);
    }

    /// Whether any CPU has a softirq to run; only for who knows that nothing runs.
    pub fn any_softirq_pending(&self) -> bool {
        self.softnet.iter().any(Softnet::is_raised)
    }

    /// Contexts that were ever added: the most that a chain of the hash can hold.
    pub(crate) fn contexts(&self) -> usize {
        lock(&self.napis).len()
    }

    /// The context in a slot, dead or alive.
    pub fn napi(&self, slot: u32) -> Option<Arc<Napi>> {
        lock(&self.napis).get(slot as usize).cloned()
    }
}

/// Takes a lock of std that serves as plain memory here: no engine sees it, so it must never be
/// held across an operation that an engine schedules.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
