//! The objects of [`crate::rt`] with methods that note their caller's place: for programs that are
//! written for this explorer. An adapter passes places on and calls the functions.

use crate::rt::{self, Atomic, Lock, Ordering, Plain};
use crate::trace::What;
use std::panic::Location;

impl Atomic {
    /// A 64-bit atomic.
    pub fn new(init: u64) -> Self {
        rt::atomic_new(init, 64)
    }

    /// Atomic load.
    #[track_caller]
    pub fn load(self, order: Ordering) -> u64 {
        rt::load(self, order, Location::caller())
    }

    /// Atomic store.
    #[track_caller]
    pub fn store(self, value: u64, order: Ordering) {
        rt::store(self, value, order, Location::caller());
    }

    /// Atomic store that may pass earlier stores of its thread; see [`rt::store_unord`].
    #[track_caller]
    pub fn store_unord(self, value: u64) {
        rt::store_unord(self, value, Location::caller());
    }

    /// Replaces the value; gives the one before.
    #[track_caller]
    pub fn swap(self, value: u64, order: Ordering) -> u64 {
        rt::rmw(self, |_| value, order, Location::caller())
    }

    /// Compare-exchange that may also fail when the value is the expected one.
    #[track_caller]
    pub fn compare_exchange_weak(
        self,
        expected: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let at = Location::caller();
        if rt::choose(2, at) == 1 {
            return Err(rt::load(self, failure, at));
        }
        rt::cas(self, (expected, new), (success, failure), at)
    }

    /// Adds, wrapping; gives the value before.
    #[track_caller]
    pub fn fetch_add(self, by: u64, order: Ordering) -> u64 {
        rt::rmw(self, |value| value.wrapping_add(by), order, Location::caller())
    }

    /// Strong compare-exchange.
    #[track_caller]
    pub fn compare_exchange(
        self,
        expected: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        rt::cas(self, (expected, new), (success, failure), Location::caller())
    }

    /// Blocks until `ready(value)`; gives that value.
    #[track_caller]
    pub fn wait(self, order: Ordering, ready: impl Fn(u64) -> bool) -> u64 {
        rt::wait(self, &ready, order, Location::caller())
    }
}

impl Plain {
    /// A plain cell of this name; its races break the rule `RACE`.
    #[track_caller]
    pub fn new(name: &'static str) -> Self {
        rt::plain_new(What { rule: "RACE", name }, Location::caller())
    }

    /// The cell is read.
    #[track_caller]
    pub fn read(self) {
        rt::read(self, Location::caller());
    }

    /// The cell is written.
    #[track_caller]
    pub fn write(self) {
        rt::write(self, Location::caller());
    }
}

impl Lock {
    /// A free lock.
    pub fn new() -> Self {
        rt::lock_new()
    }

    /// Runs `body` while the lock is held.
    #[track_caller]
    pub fn with<R>(self, body: impl FnOnce() -> R) -> R {
        let at = Location::caller();
        rt::lock(self, at);
        let result = body();
        rt::unlock(self, at);
        result
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

/// A memory fence.
#[track_caller]
pub fn fence(order: Ordering) {
    rt::fence_at(order, Location::caller());
}

/// A started thread.
#[derive(Debug)]
pub struct Thread(usize);

/// Starts a thread.
#[track_caller]
pub fn start(body: impl FnOnce() + 'static) -> Thread {
    Thread(rt::spawn(Box::new(body), Location::caller()))
}

impl Thread {
    /// Waits until it has ended.
    #[track_caller]
    pub fn join(self) {
        rt::join(self.0, Location::caller());
    }
}
