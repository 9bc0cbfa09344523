//! Memory that no engine sees: of one user at a time, as the code around it makes sure, and
//! counters.
//!
//! Never use what an engine schedules inside of [`Private::with`].

use crate::alone::is_alone;
use crate::LocalCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Plain memory. Std's lock keeps it sound even when the code around it is wrong; on a thread that
/// is alone a flag does.
pub struct Private<T>(Kind<T>);

enum Kind<T> {
    Shared(Mutex<T>),
    Alone(LocalCell<T>),
}

impl<T> Private<T> {
    /// Memory that holds `value`.
    pub fn new(value: T) -> Self {
        Self(if is_alone() {
            Kind::Alone(LocalCell::new(value))
        } else {
            Kind::Shared(Mutex::new(value))
        })
    }

    /// Access for `body`. `None` when it was made on a thread that is alone and this is another, or
    /// inside itself there.
    #[inline(always)]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        match &self.0 {
            Kind::Alone(cell) => cell.with(body),
            Kind::Shared(lock) => {
                Some(body(&mut lock.lock().unwrap_or_else(PoisonError::into_inner)))
            }
        }
    }
}

/// A statistic.
#[derive(Debug)]
pub struct Counter {
    value: AtomicU64,
    alone: bool,
}

impl Default for Counter {
    fn default() -> Self {
        Self { value: AtomicU64::new(0), alone: is_alone() }
    }
}

impl Counter {
    /// Counts so many, wrapping.
    #[inline]
    pub fn add(&self, n: u64) {
        if self.alone {
            self.value.store(self.value.load(Relaxed).wrapping_add(n), Relaxed);
        } else {
            self.value.fetch_add(n, Relaxed);
        }
    }

    /// What was counted.
    #[inline]
    pub fn get(&self) -> u64 {
        self.value.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn memory_of_a_thread_that_is_alone_is_given_to_no_other() {
        let shared = Arc::new(Private::new(1));
        let alone = crate::alone::enter();
        let mine = Arc::new(Private::new(1));
        drop(alone);
        let others = [shared.clone(), mine.clone()];
        let add = move || others.map(|cell| cell.with(|v| *v += 1).is_some());
        assert_eq!(std::thread::spawn(add).join().ok(), Some([true, false]));
        assert_eq!((shared.with(|v| *v), mine.with(|v| *v)), (Some(2), Some(1)));
    }

    #[test]
    fn a_counter_counts_alone_and_shared() {
        for alone in [false, true] {
            let scope = alone.then(crate::alone::enter);
            let counter = Counter::default();
            drop(scope);
            counter.add(3);
            counter.add(u64::MAX);
            assert_eq!((counter.get(), counter.alone), (2, alone));
        }
    }
}
