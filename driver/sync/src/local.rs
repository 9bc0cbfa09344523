//! A cell that belongs to the OS thread that made it: shared by type, never by threads.
//!
//! A seam asks for `Send + Sync` and `&self`; a timed run has one thread and many small accesses,
//! for which a mutex costs more than the access. This cell compares the thread and a flag instead.

use std::cell::{Cell, UnsafeCell};

/// A value of one thread. [`LocalCell::with`] gives nothing to other threads, and nothing inside
/// itself.
pub struct LocalCell<T> {
    owner: usize,
    taken: Cell<bool>,
    value: UnsafeCell<T>,
}

thread_local! {
    static HERE: u8 = const { 0 };
}

/// Tells live threads apart: the address of a thread-local of this thread.
#[inline]
fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

// SAFETY: `taken` and `value` are touched by the owner alone, which `with` checks. A thread that
// gets the owner's address after the owner ended runs after it, and then the value has moved
// between threads, which `T: Send` allows.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for LocalCell<T> {}

impl<T> LocalCell<T> {
    /// A cell of this thread.
    pub fn new(value: T) -> Self {
        Self { owner: here(), taken: Cell::new(false), value: UnsafeCell::new(value) }
    }

    /// Exclusive access for `body`; `None` on another thread, or inside another `with`.
    #[inline(always)]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        struct Taken<'a>(&'a Cell<bool>);
        impl Drop for Taken<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        if here() != self.owner || self.taken.replace(true) {
            return None;
        }
        let _taken = Taken(&self.taken);
        // SAFETY: this thread owns the cell, and the flag was clear, so that nobody else holds a
        // reference; it stays set until this one is gone, also by a panic.
        #[allow(unsafe_code)]
        Some(body(unsafe { &mut *self.value.get() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_cell_gives_access_to_its_thread_and_once() {
        let cell = Arc::new(LocalCell::new(1));
        assert_eq!(cell.with(|v| std::mem::replace(v, 2)), Some(1));
        assert_eq!(cell.with(|_| cell.with(|v| *v)), Some(None));
        assert_eq!(cell.with(|v| *v), Some(2));
        let other = cell.clone();
        let seen = std::thread::spawn(move || other.with(|v| *v)).join();
        assert_eq!(seen.ok(), Some(None));
    }
}
