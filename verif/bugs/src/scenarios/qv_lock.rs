//! The lock of an ixgbe queue vector in its three forms: NAPI, sockets and a disable want it.

use super::ENGINES;
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_ixgbe::{QvLock, QvLockForm};
use pollproof_sync::thread::{self, JoinHandle};
use pollproof_sync::{cpu, PlainU32, What};
use std::sync::Arc;

/// A lock with what it guards.
struct Guarded {
    lock: Box<dyn QvLock>,
    state: PlainU32,
}

impl Guarded {
    /// A vector that is closed.
    fn new(form: QvLockForm) -> Arc<Self> {
        let what = What { rule: "SINGLE-CONSUMER", name: "what the lock guards" };
        Arc::new(Self { lock: form.new_lock(), state: PlainU32::new(0, what) })
    }

    fn open(form: QvLockForm) -> Arc<Self> {
        let guarded = Self::new(form);
        guarded.lock.enable();
        guarded
    }

    fn work(&self) {
        self.state.set(self.state.get() + 1);
    }

    /// A poll of NAPI, as long as it is let in.
    fn poll(&self) {
        cpu::in_softirq(|| {
            if self.lock.lock_napi() {
                self.work();
                self.lock.unlock_napi();
            }
        });
    }

    /// A socket that polls, with BHs off.
    fn ll_poll(&self) {
        cpu::local_bh_disable();
        if self.lock.lock_poll() {
            self.work();
            self.lock.unlock_poll();
        }
        cpu::local_bh_enable();
    }

    /// On a thread of its own.
    fn on(self: &Arc<Self>, cpu: u32, body: fn(&Self)) -> JoinHandle {
        let guarded = self.clone();
        thread::spawn(cpu, move || body(&guarded))
    }
}

fn join_all(threads: [JoinHandle; 2]) {
    for thread in threads {
        thread.join();
    }
}

/// NAPI and two sockets.
fn lock_3(form: QvLockForm) {
    let guarded = Guarded::open(form);
    let sockets = [1, 2].map(|cpu| guarded.on(cpu, Guarded::ll_poll));
    guarded.poll();
    join_all(sockets);
}

/// NAPI, a socket, and the vector is opened, and closed for good.
fn lock_disable(form: QvLockForm) {
    let guarded = Guarded::new(form);
    let users = [guarded.on(1, Guarded::ll_poll), guarded.on(2, Guarded::poll)];
    guarded.work();
    guarded.lock.enable();
    guarded.lock.disable();
    guarded.work();
    join_all(users);
    // A driver that comes late is refused.
    guarded.poll();
}

/// A message is printed with interrupts off, and netpoll polls as NAPI does; a socket is there too.
fn lock_netpoll() {
    let guarded = Guarded::open(QvLockForm::Cmpxchg);
    let socket = guarded.on(1, Guarded::ll_poll);
    cpu::local_irq_disable();
    if guarded.lock.lock_napi() {
        guarded.work();
        guarded.lock.unlock_napi();
    }
    cpu::local_irq_enable();
    socket.join();
}

/// Without loom, which would spin in the wait until it is cut.
const NO_LOOM: &[EngineKind] = &[
    EngineKind::Explore,
    EngineKind::ExploreTso,
    EngineKind::ExploreRc11,
    EngineKind::Schedules,
    EngineKind::Shuttle,
];

macro_rules! scenario {
    ($name:ident, $id:literal, $threads:literal, $body:expr, $engines:expr, $about:literal) => {
        #[doc = $about]
        pub const $name: Scenario = Scenario {
            id: $id,
            about: $about,
            threads: $threads,
            body: $body,
            engines: $engines,
            must_reach: &[],
            loom_preemptions: Some(2),
        };
    };
}

scenario!(
    QV_LOCK_3_SPIN,
    "ixgbe/lock-3-spin",
    3,
    || lock_3(QvLockForm::Spin),
    ENGINES,
    "NAPI and two sockets want a vector's lock, the spinlock of 3.11."
);
scenario!(
    QV_LOCK_3_SPIN_BH,
    "ixgbe/lock-3-spin-bh",
    3,
    || lock_3(QvLockForm::SpinBh),
    ENGINES,
    "NAPI and two sockets want a vector's lock, the spinlock with BH off."
);
scenario!(
    QV_LOCK_3_CMPXCHG,
    "ixgbe/lock-3-cmpxchg",
    3,
    || lock_3(QvLockForm::Cmpxchg),
    ENGINES,
    "NAPI and two sockets want a vector's lock, the one that is a word."
);
scenario!(
    QV_LOCK_DISABLE_SPIN,
    "ixgbe/lock-disable-spin",
    3,
    || lock_disable(QvLockForm::Spin),
    NO_LOOM,
    "A vector is opened and closed while NAPI and a socket poll, with the spinlock of 3.11."
);
scenario!(
    QV_LOCK_DISABLE_SPIN_BH,
    "ixgbe/lock-disable-spin-bh",
    3,
    || lock_disable(QvLockForm::SpinBh),
    NO_LOOM,
    "A vector is opened and closed while NAPI and a socket poll, with the spinlock with BH off."
);
scenario!(
    QV_LOCK_DISABLE_CMPXCHG,
    "ixgbe/lock-disable-cmpxchg",
    3,
    || lock_disable(QvLockForm::Cmpxchg),
    NO_LOOM,
    "A vector is opened and closed while NAPI and a socket poll, with the lock that is a word."
);
scenario!(
    QV_LOCK_NETPOLL,
    "ixgbe/lock-netpoll",
    2,
    lock_netpoll,
    ENGINES,
    "netpoll takes a vector's lock with interrupts off, beside a socket."
);
