//! Scenarios: what driver, device and CPUs do beside each other, in the smallest form that matters.

mod arm;
mod asked;
mod busy;
mod core;
mod fq;
mod fq_alone;
mod fq_house;
pub mod gro;
mod gro_nic;
mod gro_packets;
mod hash;
mod inline;
mod ixgbe;
mod ixgbe_control;
mod ixgbe_poll;
mod ixgbe_tx;
mod macros;
mod nic;
mod optima;
mod port;
mod qv_lock;
mod sfc;
mod sock;
mod task;

pub use arm::{ARM_DOORBELL, ARM_RECORD, BUDGET_RACE};
pub use asked::*;
pub use busy::{
    BUSY_DISABLE, BUSY_KTHREAD, BUSY_PREFER, BUSY_PREFER_EARLY, BUSY_RESCHED, BUSY_SOFTIRQ,
    BUSY_STOP, BUSY_TWO, KTHREAD_DISABLE, KTHREAD_STOP, NETPOLL_BUSY, NETPOLL_DISABLE,
    NETPOLL_OWNER, PREFER_SOFTIRQ, SCHEDULE_3_18,
};
pub use core::{
    BUDGET_SWEEP, COMPLETE_SCHEDULE, DISABLE_USE, ENABLE_SCHEDULE, KTHREAD_ENABLE, LOCK_3,
    LOCK_DISABLE, NETPOLL_TWICE, WATCHDOG_SCHEDULE,
};
pub use fq::*;
pub use fq_alone::*;
pub use gro::{GRO_DATAGRAMS, GRO_MIXED, GRO_RUNS, GRO_SIZES, GRO_SPLIT};
pub use gro_packets::*;
pub use hash::{
    ADD_ADD_LOOKUP, ADD_DEL_LOOKUP, ADD_LOOKUP, BUSY_POLL_FREE, DEL_FREE_1, DEL_FREE_2, DEL_FREE_3,
    DEL_FREE_4, DEL_FREE_5, DEL_FREE_6, DEL_FREE_COUNTERS, DEL_LOOKUP, ID_WRAP, TWO_ADDERS,
    WRAP_LOOKUP,
};
pub use inline::{INLINE_BUSY_POLL, INLINE_STOP};
pub use ixgbe::*;
pub use ixgbe_control::*;
pub use ixgbe_poll::*;
pub use ixgbe_tx::*;
pub use optima::optimal;
pub use port::{
    AFFINITY, BUSY_POLLERS, BUSY_POLL_STOP, FULL_BUDGET, MASKED_KTHREAD, MODERATION, NETPOLL, OOM,
    OOM_STOP, OPEN, OPEN_BUSY_POLL, RX, STOP, STOP_THREADED, TIMER, TWO_LISTS_3_18, TWO_LISTS_6_12,
    WRAP,
};
pub use qv_lock::{
    QV_LOCK_3_CMPXCHG, QV_LOCK_3_SPIN, QV_LOCK_3_SPIN_BH, QV_LOCK_DISABLE_CMPXCHG,
    QV_LOCK_DISABLE_SPIN, QV_LOCK_DISABLE_SPIN_BH, QV_LOCK_NETPOLL,
};
pub use sfc::*;
pub use sock::{SOCK_BUSY_LOOP, SOCK_LL_POLL, SOCK_LL_POLL_FREE, SOCK_LOOPBACK};
pub use task::{BUSY_LOOP_RX, LL_POLL_SOFTIRQ, SERVICE_TASK, STOP_TWICE};

use pollproof_bench::explored::ExploredHost;
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_hostmem::{Config, SharedMem};
use pollproof_kapi::Below;
use pollproof_netcore::{Net, NetOptions};
use pollproof_sync::RcuForm;
use std::sync::Arc;

/// Every scenario that is checked in its own right.
pub const ALL: &[&Scenario] = &JOINED;

const PARTS: [&[&Scenario]; 11] = [
    CORE_AND_MLX4,
    gro::ALL,
    gro_nic::ALL,
    gro_packets::ALL,
    ixgbe::ALL,
    ixgbe_poll::ALL,
    ixgbe_control::ALL,
    ixgbe_tx::ALL,
    sfc::ALL,
    fq::ALL,
    fq_alone::ALL,
];
const JOINED: [&Scenario; count()] = join();

const fn count() -> usize {
    let (mut n, mut part) = (0, 0);
    while part < PARTS.len() {
        n += PARTS[part].len();
        part += 1;
    }
    n
}

const fn join<const N: usize>() -> [&'static Scenario; N] {
    let mut all = [CORE_AND_MLX4[0]; N];
    let (mut n, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut at = 0;
        while at < PARTS[part].len() {
            all[n] = PARTS[part][at];
            (n, at) = (n + 1, at + 1);
        }
        part += 1;
    }
    all
}

const CORE_AND_MLX4: &[&Scenario] = &[
    &ADD_LOOKUP,
    &DEL_LOOKUP,
    &ADD_ADD_LOOKUP,
    &ADD_DEL_LOOKUP,
    &TWO_ADDERS,
    &DEL_FREE_1,
    &DEL_FREE_2,
    &DEL_FREE_3,
    &DEL_FREE_4,
    &DEL_FREE_5,
    &DEL_FREE_6,
    &DEL_FREE_COUNTERS,
    &BUSY_POLL_FREE,
    &ID_WRAP,
    &ENABLE_SCHEDULE,
    &COMPLETE_SCHEDULE,
    &NETPOLL_TWICE,
    &DISABLE_USE,
    &KTHREAD_ENABLE,
    &WATCHDOG_SCHEDULE,
    &LOCK_DISABLE,
    &LOCK_3,
    &BUDGET_SWEEP,
    &RX,
    &FULL_BUDGET,
    &WRAP,
    &AFFINITY,
    &OPEN,
    &OPEN_BUSY_POLL,
    &STOP,
    &STOP_THREADED,
    &OOM,
    &OOM_STOP,
    &TIMER,
    &MODERATION,
    &NETPOLL,
    &MASKED_KTHREAD,
    &BUSY_POLL_STOP,
    &BUSY_POLLERS,
    &BUDGET_RACE,
    &ARM_DOORBELL,
    &ARM_RECORD,
    &INLINE_STOP,
    &INLINE_BUSY_POLL,
    // The core: busy polling, kthreads, netpoll, sockets.
    &SCHEDULE_3_18,
    &WRAP_LOOKUP,
    &BUSY_SOFTIRQ,
    &BUSY_STOP,
    &BUSY_DISABLE,
    &BUSY_KTHREAD,
    &BUSY_TWO,
    &BUSY_PREFER,
    &BUSY_RESCHED,
    &NETPOLL_OWNER,
    &NETPOLL_BUSY,
    &NETPOLL_DISABLE,
    &PREFER_SOFTIRQ,
    &KTHREAD_DISABLE,
    &KTHREAD_STOP,
    &SOCK_LL_POLL,
    &SOCK_LL_POLL_FREE,
    &SOCK_BUSY_LOOP,
    &SOCK_LOOPBACK,
    &QV_LOCK_3_SPIN,
    &QV_LOCK_3_SPIN_BH,
    &QV_LOCK_3_CMPXCHG,
    &QV_LOCK_DISABLE_SPIN,
    &QV_LOCK_DISABLE_SPIN_BH,
    &QV_LOCK_DISABLE_CMPXCHG,
    &QV_LOCK_NETPOLL,
    &STOP_TWICE,
    &SERVICE_TASK,
    &LL_POLL_SOFTIRQ,
    &BUSY_LOOP_RX,
];

/// Only our explorer: the agents of these scenarios run until nothing is left to do, which the
/// others can not tell.
const EXPLORE: &[EngineKind] =
    &[EngineKind::Explore, EngineKind::ExploreTso, EngineKind::ExploreRc11, EngineKind::Schedules];
/// Only our search over graphs: a CPU that waits and takes interrupts meanwhile waits in a loop.
const GRAPHS: &[EngineKind] =
    &[EngineKind::Explore, EngineKind::ExploreTso, EngineKind::ExploreRc11];
const ENGINES: &[EngineKind] = &EngineKind::ALL;

/// A network core without a device.
fn bare_net(cpus: u32) -> Arc<Net> {
    bare_net_with(cpus, RcuForm::Locks)
}

fn bare_net_with(cpus: u32, rcu: RcuForm) -> Arc<Net> {
    bare_net_of(NetOptions { cpus, rcu, hash_buckets: 1, ..NetOptions::default() })
}

fn bare_net_of(options: NetOptions) -> Arc<Net> {
    let cpus = options.cpus;
    let config = Config { max_bufs: 0, buf_bytes: 64, ..Config::default() };
    let host = ExploredHost::new(SharedMem::new(config), cpus, 0);
    let below = Below::of(host);
    Net::new(options, below)
}
