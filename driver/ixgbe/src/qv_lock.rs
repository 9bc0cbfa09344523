//! Who receives from a queue vector: NAPI, a socket, or nobody any more. `ixgbe_qv_lock_napi` and
//! friends of `ixgbe.h`, in the three forms of their history.
//!
//! - [`QvLockForm::Spin`], 3.11: a spinlock around a word of bits, taken plainly. Disabling takes
//!   the lock as NAPI would and keeps it.
//! - [`QvLockForm::SpinBh`], 27d9ce4fd0e2: the same with BH off around it, and a bit that says that
//!   the vector is disabled, which outlasts its owners.
//! - [`QvLockForm::Cmpxchg`], the last before 4.5: one word and compare-exchange.
//!
//! 3.11 kept BH off while it waited for NAPI; that is a bug's story and not a form.

use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{bug, cpu, AtomicU32, SpinLock};

/// The lock of a queue vector.
pub trait QvLock: Send + Sync {
    /// For NAPI; when it is refused the poll must stay scheduled.
    fn lock_napi(&self) -> bool;
    /// From NAPI; true when a socket wanted it meanwhile.
    fn unlock_napi(&self) -> bool;
    /// For a socket.
    fn lock_poll(&self) -> bool;
    /// From a socket; true when NAPI wanted it meanwhile.
    fn unlock_poll(&self) -> bool;
    /// Waits until no socket has it; for a bench whose softirq would try again for ever.
    fn wait_released(&self);
    /// Whether a socket has it or wants it.
    fn ll_polling(&self) -> bool;
    /// Opens the vector; it is new or was disabled.
    fn enable(&self);
    /// Closes the vector: waits for the present owner and keeps later ones out. Sleeps.
    fn disable(&self);
}

/// Which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QvLockForm {
    /// The first series.
    Spin,
    /// With BH off, and a disabled state.
    SpinBh,
    /// Without a lock.
    Cmpxchg,
}

impl QvLockForm {
    /// A lock of this form, disabled.
    pub fn new_lock(self) -> Box<dyn QvLock> {
        // A netpoll comes with interrupts off: BHs must not be enabled there.
        let form = if bug("B-3") { Self::SpinBh } else { self };
        match form {
            Self::Spin => Box::new(Spin { lock: SpinLock::new(()), state: AtomicU32::new(NAPI) }),
            Self::SpinBh => {
                Box::new(SpinBh { lock: SpinLock::new(()), state: AtomicU32::new(DISABLED) })
            }
            Self::Cmpxchg => Box::new(Cmpxchg { state: AtomicU32::new(DISABLED) }),
        }
    }
}

const NAPI: u32 = 1;
const POLL: u32 = 2;
const DISABLED: u32 = 4;
/// NAPI wanted it while a socket had it.
const NAPI_YIELD: u32 = 8;
/// A socket wanted it while somebody had it.
const POLL_YIELD: u32 = 16;
const LOCKED: u32 = NAPI | POLL | DISABLED;

struct Spin {
    lock: SpinLock<()>,
    /// Changed under the lock alone; a word of its own so that a waiter can look without it.
    state: AtomicU32,
}

/// `who` takes a word that is changed under a lock; else `yields` remembers that it wanted to.
fn take(state: &AtomicU32, who: u32, yields: u32) -> bool {
    let now = state.load(Relaxed);
    let free = now & LOCKED == 0;
    state.store(if free { who } else { now | yields }, Relaxed);
    free
}

/// Gives such a word back; whether the other side wanted it.
fn give(state: &AtomicU32, yields: u32) -> bool {
    let now = state.load(Relaxed);
    state.store(now & DISABLED, Relaxed);
    now & yields != 0
}

impl Spin {
    /// As NAPI takes it, from process context: a softirq of this CPU would spin for ever.
    fn lock_napi_bh(&self) -> bool {
        let _guard = self.lock.lock_bh();
        take(&self.state, NAPI, NAPI_YIELD)
    }
}

impl QvLock for Spin {
    fn wait_released(&self) {
        self.state.wait(Relaxed, |s| s & POLL == 0);
    }

    fn lock_napi(&self) -> bool {
        let _guard = self.lock.lock();
        take(&self.state, NAPI, NAPI_YIELD)
    }

    fn unlock_napi(&self) -> bool {
        let _guard = self.lock.lock();
        give(&self.state, POLL_YIELD)
    }

    fn lock_poll(&self) -> bool {
        let _guard = self.lock.lock();
        take(&self.state, POLL, POLL_YIELD)
    }

    fn unlock_poll(&self) -> bool {
        let _guard = self.lock.lock();
        give(&self.state, NAPI_YIELD)
    }

    fn ll_polling(&self) -> bool {
        self.state.load(Relaxed) & (POLL | POLL_YIELD) != 0
    }

    fn enable(&self) {
        let _guard = self.lock.lock_bh();
        self.state.store(0, Relaxed);
    }

    fn disable(&self) {
        cpu::might_sleep("ixgbe_qv_disable");
        while !self.lock_napi_bh() {
            self.state.wait(Relaxed, |s| s & LOCKED == 0);
        }
    }
}

struct SpinBh {
    lock: SpinLock<()>,
    state: AtomicU32,
}

impl SpinBh {
    fn locked<R>(&self, body: impl FnOnce(&AtomicU32) -> R) -> R {
        cpu::local_bh_disable();
        let guard = self.lock.lock();
        let result = body(&self.state);
        drop(guard);
        cpu::local_bh_enable();
        result
    }
}

impl QvLock for SpinBh {
    fn wait_released(&self) {
        self.state.wait(Relaxed, |s| s & POLL == 0);
    }

    fn lock_napi(&self) -> bool {
        self.locked(|s| take(s, NAPI, NAPI_YIELD))
    }

    fn unlock_napi(&self) -> bool {
        self.locked(|s| give(s, POLL_YIELD))
    }

    fn lock_poll(&self) -> bool {
        self.locked(|s| take(s, POLL, POLL_YIELD))
    }

    fn unlock_poll(&self) -> bool {
        self.locked(|s| give(s, NAPI_YIELD))
    }

    fn ll_polling(&self) -> bool {
        self.state.load(Relaxed) & (POLL | POLL_YIELD) != 0
    }

    fn enable(&self) {
        self.locked(|s| s.store(0, Relaxed));
    }

    fn disable(&self) {
        cpu::might_sleep("ixgbe_qv_disable");
        // From the first look on nobody new gets in; who is in goes out by itself.
        let owned = self.locked(|s| s.fetch_or(DISABLED, Relaxed) & (NAPI | POLL) != 0);
        if owned {
            self.state.wait(Relaxed, |s| s & (NAPI | POLL) == 0);
            // What the owner did is seen after it let the lock go.
            self.locked(|_| ());
        }
    }
}

struct Cmpxchg {
    state: AtomicU32,
}

impl Cmpxchg {
    fn take(&self, who: u32, yields: u32) -> bool {
        let mut granted = false;
        let _ = self.state.update(Acquire, |s| {
            granted = s & LOCKED == 0;
            Some(if granted { who } else { s | yields })
        });
        granted
    }

    fn give(&self, yields: u32) -> bool {
        self.state.update(Release, |_| Some(0)).is_ok_and(|s| s & yields != 0)
    }
}

impl QvLock for Cmpxchg {
    fn wait_released(&self) {
        self.state.wait(Relaxed, |s| s & POLL == 0);
    }

    fn lock_napi(&self) -> bool {
        self.take(NAPI, NAPI_YIELD)
    }

    fn unlock_napi(&self) -> bool {
        self.give(POLL_YIELD)
    }

    fn lock_poll(&self) -> bool {
        self.take(POLL, POLL_YIELD)
    }

    fn unlock_poll(&self) -> bool {
        self.give(NAPI_YIELD)
    }

    fn ll_polling(&self) -> bool {
        self.state.load(Relaxed) & (POLL | POLL_YIELD) != 0
    }

    fn enable(&self) {
        self.state.store(0, Release);
    }

    fn disable(&self) {
        cpu::might_sleep("ixgbe_qv_disable");
        loop {
            self.state.wait(Relaxed, |s| s & LOCKED == 0);
            let closed = |s: u32| (s & LOCKED == 0).then_some(DISABLED);
            if self.state.update(Acquire, closed).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [QvLockForm; 3] = [QvLockForm::Spin, QvLockForm::SpinBh, QvLockForm::Cmpxchg];

    #[test]
    fn a_new_lock_keeps_everybody_out_until_it_is_enabled() {
        for form in FORMS {
            let lock = form.new_lock();
            assert!(!lock.lock_napi() && !lock.lock_poll(), "{form:?}");
            lock.enable();
            assert!(lock.lock_napi(), "{form:?}");
        }
    }

    #[test]
    fn one_owner_at_a_time_and_a_refusal_is_remembered() {
        for form in FORMS {
            let lock = form.new_lock();
            lock.enable();
            assert!(lock.lock_napi() && !lock.ll_polling());
            assert!(!lock.lock_poll() && lock.ll_polling());
            assert!(lock.unlock_napi(), "{form:?}: the socket's try is told");
            assert!(lock.lock_poll() && lock.ll_polling());
            assert!(!lock.lock_napi());
            assert!(lock.unlock_poll(), "{form:?}: NAPI's try is told");
            assert!(lock.lock_napi());
            assert!(!lock.unlock_napi() && !lock.ll_polling(), "{form:?}: nobody tried");
        }
    }

    #[test]
    fn a_disabled_lock_refuses_and_opens_again() {
        for form in FORMS {
            let lock = form.new_lock();
            lock.enable();
            lock.disable();
            assert!(!lock.lock_poll() && !lock.lock_napi(), "{form:?}");
            lock.enable();
            assert!(lock.lock_poll(), "{form:?}");
            assert!(!lock.unlock_poll(), "{form:?}: tries before the disable are forgotten");
        }
    }

    #[test]
    fn the_disabled_state_outlasts_an_owner_that_leaves() {
        let lock = SpinBh { lock: SpinLock::new(()), state: AtomicU32::new(0) };
        assert!(lock.lock_poll());
        lock.locked(|s| s.fetch_or(DISABLED, Relaxed));
        lock.unlock_poll();
        assert!(!lock.lock_napi());
    }
}
