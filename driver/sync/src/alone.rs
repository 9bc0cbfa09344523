//! Runs of one OS thread without an engine: objects that are made in them do without the machine's
//! atomicity, which costs as much as ten plain instructions.
//!
//! Values stay in std's atomics, so that a second thread finds no undefined behaviour; it finds
//! that a read-modify-write is a load and a store.

use std::cell::Cell;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Until dropped, objects that this thread makes are for this thread alone.
#[derive(Debug)]
pub struct Alone(bool);

/// From here on this thread is alone.
pub fn enter() -> Alone {
    Alone(ALONE.replace(true))
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.set(self.0);
    }
}

/// Whether this thread is alone; never under an engine, whose threads share an OS thread.
#[inline]
pub(crate) fn is_alone() -> bool {
    ALONE.get() && !crate::engine::is_entered()
}
