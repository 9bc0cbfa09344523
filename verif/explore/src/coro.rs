//! The threads of a program: pooled coroutines on one OS thread. The only unsafe code here.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::ptr;

/// What a parked thread is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resume {
    /// Take the step.
    Go,
    /// Say whether the step could be taken, or would write, if the object held this value.
    Probe(u64),
}

/// What came back from a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// It parked again; the answer to a probe.
    Parked(bool),
    /// It ended.
    Ended,
}

type Yield = Yielder<Resume, bool>;

thread_local! {
    static YIELDER: Cell<*const Yield> = const { Cell::new(ptr::null()) };
}

/// A thread's coroutine.
pub(crate) struct Coro(Coroutine<Resume, bool, (), DefaultStack>);

/// Stacks that are free. A stack is dearer than a whole execution, so they are kept for the next
/// search on this OS thread.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
    size: usize,
}

thread_local! {
    /// Stacks of the last search, and their size.
    static KEPT: RefCell<(usize, Vec<DefaultStack>)> = const { RefCell::new((0, Vec::new())) };
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // The thread may be ending, and with it what is kept.
        let _ = KEPT.try_with(|kept| kept.replace((self.size, std::mem::take(&mut self.free))));
    }
}

impl Stacks {
    pub(crate) fn new(size: usize) -> Self {
        let (of_size, kept) = KEPT.with(RefCell::take);
        Self { free: if of_size == size { kept } else { Vec::new() }, size }
    }

    /// A coroutine that runs `body` when it is resumed; `None` when there is no memory for it.
    pub(crate) fn start(&mut self, body: Box<dyn FnOnce()>) -> Option<Coro> {
        let stack = match self.free.pop() {
            Some(stack) => stack,
            None => DefaultStack::new(self.size).ok()?,
        };
        Some(Coro(Coroutine::with_stack(stack, move |yielder: &Yield, _: Resume| {
            YIELDER.set(yielder);
            body();
        })))
    }

    /// Takes back the stack of an ended coroutine.
    pub(crate) fn recycle(&mut self, coro: Coro) {
        if coro.0.done() {
            self.free.push(coro.0.into_stack());
        }
    }
}

impl Coro {
    pub(crate) fn resume(&mut self, with: Resume) -> Back {
        match self.0.resume(with) {
            CoroutineResult::Yield(answer) => Back::Parked(answer),
            CoroutineResult::Return(()) => Back::Ended,
        }
    }

    /// Unwinds an unfinished coroutine so that it drops what it owns.
    pub(crate) fn unwind(&mut self) {
        self.0.force_unwind();
    }
}

/// Parks the running coroutine until it is resumed.
#[allow(unsafe_code)]
pub(crate) fn park(answer: bool) -> Resume {
    let yielder = YIELDER.get();
    // SAFETY: only code that runs in a coroutine gets here, and each coroutine sets the pointer to
    // its own yielder when it starts and again when it comes back from `suspend`. The yielder lives
    // on the coroutine's stack for as long as its body runs.
    let resume = unsafe { (*yielder).suspend(answer) };
    YIELDER.set(yielder);
    resume
}

/// The yielder that is set, so that a search inside another one can put it back.
pub(crate) fn save() -> impl FnOnce() {
    let yielder = YIELDER.get();
    move || YIELDER.set(yielder)
}

/// Gives `program` the lifetime that a coroutine asks for.
///
/// The caller keeps `program` borrowed until every coroutine that runs it is unwound.
#[allow(unsafe_code)]
pub(crate) fn erase(program: &dyn Fn()) -> &'static dyn Fn() {
    // SAFETY: `Session` holds the borrow and unwinds its coroutines before it is dropped.
    unsafe { std::mem::transmute::<&dyn Fn(), &'static dyn Fn()>(program) }
}
