//! Mutexes and spinlocks: std's exclusion, with the engine's lock in front of it.
//!
//! A spinlock differs from a mutex in context, not in exclusion: it may be taken where sleeping is
//! not allowed, and while it is held sleeping is not allowed. In which order and contexts locks are
//! taken is watched by class, see `lockdep`.

use crate::cpu;
use crate::engine::Loc;
#[cfg(feature = "engines")]
use crate::engine::{current, LockCell};
use crate::lockdep::{self, Class};
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::{Mutex as StdMutex, MutexGuard, PoisonError};

/// A sleeping lock around a value.
pub struct Mutex<T>(Inner<T>);
/// A spinning lock around a value; its holder may not sleep.
pub struct SpinLock<T>(Inner<T>);

struct Inner<T> {
    std: StdMutex<T>,
    class: Class,
    #[cfg(feature = "engines")]
    cell: Option<Box<dyn LockCell>>,
}

/// Exclusive access until dropped.
pub struct Guard<'a, T> {
    value: Option<MutexGuard<'a, T>>,
    #[cfg(feature = "engines")]
    cell: Option<&'a dyn LockCell>,
    spinning: bool,
    class: Class,
    at: Loc,
}

/// A spinlock with BH off until dropped.
pub struct BhGuard<'a, T>(Option<Guard<'a, T>>);

impl<T> Inner<T> {
    fn new(value: T, class: Class, at: Loc) -> Self {
        let _ = at;
        Self {
            std: StdMutex::new(value),
            class,
            #[cfg(feature = "engines")]
            cell: current().map(|e| e.lock(at)),
        }
    }

    fn lock(&self, spinning: bool, at: Loc) -> Guard<'_, T> {
        lockdep::takes(self.class, spinning, at);
        #[cfg(feature = "engines")]
        if let Some(cell) = &self.cell {
            crate::irq::point();
            cell.lock(at);
        }
        if spinning {
            cpu::spin_depth(1);
        }
        lockdep::has(self.class);
        Guard {
            value: Some(self.std.lock().unwrap_or_else(PoisonError::into_inner)),
            #[cfg(feature = "engines")]
            cell: self.cell.as_deref(),
            spinning,
            class: self.class,
            at,
        }
    }
}

impl<T> Mutex<T> {
    /// A new lock around `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let at = Location::caller();
        Self(Inner::new(value, Class::of(at), at))
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
        let at = Location::caller();
        Self(Inner::new(value, Class::of(at), at))
    }

    /// A lock that stands for hardware, or for something else that is no lock of a kernel: its
    /// order and its contexts are not watched.
    #[track_caller]
    pub fn unwatched(value: T) -> Self {
        Self(Inner::new(value, Class::NONE, Location::caller()))
    }

    /// Takes the lock.
    #[track_caller]
    pub fn lock(&self) -> Guard<'_, T> {
        self.0.lock(true, Location::caller())
    }

    /// `spin_lock_bh`: no softirq of this CPU comes while it is held.
    #[track_caller]
    pub fn lock_bh(&self) -> BhGuard<'_, T> {
        cpu::local_bh_disable();
        BhGuard(Some(self.0.lock(true, Location::caller())))
    }
}

impl<T> Deref for BhGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match &self.0 {
            Some(guard) => guard,
            None => unreachable!("a guard is there until it is dropped"),
        }
    }
}

impl<T> DerefMut for BhGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(guard) => guard,
            None => unreachable!("a guard is there until it is dropped"),
        }
    }
}

impl<T> Drop for BhGuard<'_, T> {
    fn drop(&mut self) {
        self.0 = None;
        cpu::local_bh_enable();
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
        lockdep::gives(self.class);
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
