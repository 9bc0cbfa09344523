//! The engine behind the types of this crate: std, or whatever was entered on this thread.
//!
//! An object asks for its engine once, when it is made. With the feature `engines` off there is
//! nothing to ask and an object is its std value alone. Every engine that we drive (explore, loom,
//! shuttle) runs its threads on one OS thread, so a thread-local that is set on entry is enough.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;
pub use std::sync::atomic::Ordering;

/// A place in the source: passed on explicitly, since a trait object loses `#[track_caller]`.
pub type Loc = &'static Location<'static>;

/// What a plain cell stands for: the rule that a race on it breaks, and its name in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// Stable id of the rule, such as `LIFETIME`.
    pub rule: &'static str,
    /// Name of the cell, such as `napi`.
    pub name: &'static str,
}

/// Read-modify-write operations; arithmetic wraps at the width of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmwOp {
    /// Replace the value.
    Swap,
    /// Add, wrapping.
    Add,
    /// Subtract, wrapping.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
}

/// Number of bits of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

/// An atomic as an engine sees it; values are carried in 64 bits.
pub trait AtomicCell: Send + Sync {
    /// Atomic load.
    fn load(&self, order: Ordering, at: Loc) -> u64;
    /// Atomic store.
    fn store(&self, value: u64, order: Ordering, at: Loc);
    /// Atomic read-modify-write; gives the value before.
    fn rmw(&self, op: RmwOp, operand: u64, order: Ordering, at: Loc) -> u64;
    /// Strong compare-exchange; `Ok(old)` on success.
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
        at: Loc,
    ) -> Result<u64, u64>;
    /// One atomic transition: `next` gives the new value (`Ok(old)`) or refuses (`Err(seen)`, then
    /// a relaxed read). The kernel's compare-exchange loop; `next` may be called several times.
    fn update(
        &self,
        next: &mut dyn FnMut(u64) -> Option<u64>,
        order: Ordering,
        at: Loc,
    ) -> Result<u64, u64>;
    /// Blocks until `ready(value)`; gives that value. An engine may disable the thread meanwhile.
    fn wait(&self, ready: &dyn Fn(u64) -> bool, order: Ordering, at: Loc) -> u64;
}

/// The race detector's half of a plain (non-atomic) cell.
pub trait PlainCell: Send + Sync {
    /// The cell is about to be read.
    fn read(&self, at: Loc);
    /// The cell is about to be written.
    fn write(&self, at: Loc);
}

/// A lock: blocks instead of spinning.
pub trait LockCell: Send + Sync {
    /// Takes the lock.
    fn lock(&self, at: Loc);
    /// Gives it back.
    fn unlock(&self, at: Loc);
}

/// A scheduler and memory model under which the code runs.
pub trait Engine {
    /// `explore`, `loom`, `shuttle`.
    fn name(&self) -> &'static str;
    /// A new atomic.
    fn atomic(&self, init: u64, width: Width, at: Loc) -> Box<dyn AtomicCell>;
    /// A new plain cell.
    fn plain(&self, what: What, at: Loc) -> Box<dyn PlainCell>;
    /// A new lock.
    fn lock(&self, at: Loc) -> Box<dyn LockCell>;
    /// A memory fence.
    fn fence(&self, order: Ordering, at: Loc);
    /// Starts a thread and gives its number (the first thread is 0).
    fn spawn(&self, body: Box<dyn FnOnce() + Send>, at: Loc) -> usize;
    /// Waits for a thread to end.
    fn join(&self, thread: usize, at: Loc);
    /// Number of the running thread.
    fn thread(&self) -> usize;
    /// Lets others run.
    fn yield_now(&self, at: Loc);
    /// Waits until no other thread can run, and is ordered after all of them. False when the engine
    /// can not tell; the caller must then bring the threads to an end by other means.
    fn rest(&self, at: Loc) -> bool {
        let _ = at;
        false
    }
    /// A choice that the engine makes: a number below `n`.
    fn choose(&self, n: usize, at: Loc) -> usize;
    /// Steps taken so far in this execution; stamps events.
    fn step(&self) -> u64;
}

thread_local! {
    static ENGINE: RefCell<Option<Rc<dyn Engine>>> = const { RefCell::new(None) };
    /// Whether there is one: most runs ask, and have none.
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// Whether an engine was entered on this OS thread.
#[inline]
pub(crate) fn is_entered() -> bool {
    cfg!(feature = "engines") && ENTERED.get()
}

/// The engine that was entered on this OS thread, if any.
#[inline]
pub fn current() -> Option<Rc<dyn Engine>> {
    if is_entered() {
        entered()
    } else {
        None
    }
}

#[inline(never)]
fn entered() -> Option<Rc<dyn Engine>> {
    ENGINE.with(|e| e.borrow().clone())
}

/// Runs `body` with `engine` behind every object that it makes.
///
/// The previous engine comes back when `body` ends, also by a panic.
pub fn enter<R>(engine: Rc<dyn Engine>, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Rc<dyn Engine>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let previous = self.0.take();
            ENTERED.set(previous.is_some());
            ENGINE.with(|e| *e.borrow_mut() = previous);
        }
    }
    let _restore = Restore(ENGINE.with(|e| e.borrow_mut().replace(engine)));
    ENTERED.set(true);
    body()
}
