//! Who polls a CQ: NAPI, a socket, or nobody any more. `mlx4_en_cq_lock_napi` and friends (3.11 to
//! 4.4) with the DISABLED state that ixgbe got in 27d9ce4fd0e2; as one word and compare-exchange.

use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{bug, cpu, AtomicU32};

const IDLE: u32 = 0;
const NAPI: u32 = 1;
const POLL: u32 = 2;
const DISABLED: u32 = 4;
const LOCKED: u32 = NAPI | POLL | DISABLED;
/// NAPI wanted it while a socket had it.
const NAPI_YIELD: u32 = 8;
/// A socket wanted it while somebody had it.
const POLL_YIELD: u32 = 16;

/// The lock.
pub struct CqLock {
    state: AtomicU32,
}

impl Default for CqLock {
    fn default() -> Self {
        Self::new()
    }
}

impl CqLock {
    /// A lock that is disabled; [`CqLock::enable`] opens the queue.
    pub fn new() -> Self {
        Self { state: AtomicU32::new(DISABLED) }
    }

    fn take(&self, who: u32, yields: u32) -> bool {
        let mut granted = false;
        let _ = self.state.update(Acquire, |s| {
            granted = s & LOCKED == 0;
            Some(if granted { who } else { s | yields })
        });
        granted
    }

    /// Gives the lock back; whether the other side wanted it meanwhile.
    fn give(&self, yields: u32) -> bool {
        let kept = |s: u32| Some(s & DISABLED);
        self.state.update(Release, kept).is_ok_and(|s| s & yields != 0)
    }

    /// For NAPI. When refused the poll must stay scheduled.
    pub fn lock_napi(&self) -> bool {
        self.take(NAPI, NAPI_YIELD)
    }

    /// From NAPI; true when a socket wanted it.
    pub fn unlock_napi(&self) -> bool {
        self.give(POLL_YIELD)
    }

    /// For a socket.
    pub fn lock_poll(&self) -> bool {
        self.take(POLL, POLL_YIELD)
    }

    /// From a socket; true when NAPI wanted it.
    pub fn unlock_poll(&self) -> bool {
        self.give(NAPI_YIELD)
    }

    /// Opens the queue.
    pub fn enable(&self) {
        self.state.store(IDLE, Release);
    }

    /// Closes the queue: waits for the present owner, refuses all later ones. Sleeps.
    pub fn disable(&self) {
        cpu::might_sleep("cq_lock disable");
        let free = |s: u32| s & LOCKED == 0;
        loop {
            self.state.wait(Relaxed, free);
            // The first version took the lock as NAPI and gave it back: later owners got in.
            let closed = if bug("B-1") { NAPI } else { DISABLED };
            if self.state.update(Acquire, |s| free(s).then_some(closed)).is_ok() {
                break;
            }
        }
        if bug("B-1") {
            self.unlock_napi();
        }
    }
}
