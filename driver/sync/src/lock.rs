//! Mutexes and spinlocks: std's exclusion, with the engine's lock in front of it.
//!
//! A spinlock differs from a mutex in context, not in exclusion: it may be taken where sleeping is
//! not allowed, and while it is held sleeping is not allowed.

use crate::cpu;
use crate::engine::Loc;
#[cfg(feature = "engines")]
use crate::engine::{current, LockCell};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{Mutex as StdMutex, MutexGuard, PoisonError};

/// A sleeping lock around a value.
pub struct Mutex<T>(Inner<T>);
/// A spinning lock around a value; its holder may not sleep.
pub struct SpinLock<T>(Inner<T>);

struct Inner<T> {
    std: StdMutex<T>,
    #[cfg(feature = "engines")]
    cell: Option<Box<dyn LockCell>>,
}

/// Exclusive access until dropped.
pub struct Guard<'a, T> {
    value: Option<MutexGuard<'a, T>>,
    #[cfg(feature = "engines")]
    cell: Option<&'a dyn LockCell>,
    spinning: bool,
    at: Loc,
}

impl<T> Inner<T> {
    fn new(value: T, at: Loc) -> Self {
        let _ = at;
        Self {
            std: StdMutex::new(value),
            #[cfg(feature = "engines")]
            cell: current().map(|e| e.lock(at)),
        }
    }

    fn lock(&self, spinning: bool, at: Loc) -> Guard<'_, T> {
        #[cfg(feature = "engines")]
        if let Some(cell) = &self.cell {
            crate::irq::point();
            cell.lock(at);
        }
        if spinning {
            cpu::spin_depth(1);
        }
        Guard {
            value: Some(self.std.lock().unwrap_or_else(PoisonError::into_inner)),
            #[cfg(feature = "engines")]
            cell: self.cell.as_deref(),
            spinning,
            at,
        }
    }
}

impl<T> Mutex<T> {
    /// A new lock around `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(Inner::new(value, Location::caller()))
    }

    /// Takes the lock; may sleep, so the context must allow it.
    #[track_caller]
    pub fn lock(&self) -> Guard<'_, T> {
        let at = Location::caller();
        cpu::might_sleep_at("mutex_lock", at);
        self.0.lock(false, at)
    }
}

impl<T> SpinLock<T> {
    /// A new lock around `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self(Inner::new(value, Location::caller()))
    }

    /// Takes the lock.
    #[track_caller]
    pub fn lock(&self) -> Guard<'_, T> {
        self.0.lock(true, Location::caller())
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match &self.value {
            Some(value) => value,
            None => unreachable!("a guard holds its value until it is dropped"),
        }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.value {
            Some(value) => value,
            None => unreachable!("a guard holds its value until it is dropped"),
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        if self.spinning {
            cpu::spin_depth(-1);
        }
        #[cfg(feature = "engines")]
        if let Some(cell) = self.cell {
            crate::irq::point();
            cell.unlock(self.at);
        }
        let _ = self.at;
    }
}
