//! The recorder of a run: stamps each event and shows it to the visitor of this OS thread.
//!
//! Without a visitor an event costs one thread-local load.

use crate::Event;
use pollproof_sync::{cpu, thread};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

/// An event with its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Running number in this run.
    pub number: u64,
    /// Step of the engine; 0 in timed runs.
    pub step: u64,
    /// Simulated time in picoseconds; 0 in explored runs.
    pub time_ps: u64,
    /// Thread of the engine.
    pub thread: usize,
    /// Context of the CPU that emitted it.
    pub context: cpu::Context,
    /// Source file and line of the emitter.
    pub at: (&'static str, u32),
    /// The event.
    pub event: Event,
}

/// Sees every event of a run in order.
pub trait Visitor {
    /// One event.
    fn visit(&mut self, record: &Record);
}

impl Visitor for Vec<Record> {
    fn visit(&mut self, record: &Record) {
        self.push(*record);
    }
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static TIME_PS: Cell<u64> = const { Cell::new(0) };
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static VISITOR: RefCell<Option<Rc<RefCell<dyn Visitor>>>> = const { RefCell::new(None) };
}

/// Whether anybody looks; lets callers skip costly arguments.
#[inline]
pub fn is_recording() -> bool {
    ON.with(Cell::get)
}

/// Sets the simulated time that stamps the next events.
#[inline]
pub fn set_time_ps(time_ps: u64) {
    TIME_PS.with(|t| t.set(time_ps));
}

/// Tells the visitor of an event.
#[inline]
#[track_caller]
pub fn emit(event: Event) {
    if is_recording() {
        show(event, Location::caller());
    }
}

#[cold]
#[inline(never)]
fn show(event: Event, at: &'static Location<'static>) {
    let record = Record {
        number: NUMBER.with(|n| n.replace(n.get() + 1)),
        step: thread::step(),
        time_ps: TIME_PS.with(Cell::get),
        thread: thread::current(),
        context: cpu::context(),
        at: (at.file(), at.line()),
        event,
    };
    let visitor = VISITOR.with(|v| v.borrow().clone());
    if let Some(visitor) = visitor {
        if let Ok(mut visitor) = visitor.try_borrow_mut() {
            visitor.visit(&record);
        }
    }
}

/// Runs `body` with `visitor` seeing every event.
pub fn with_visitor<R>(visitor: Rc<RefCell<dyn Visitor>>, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Rc<RefCell<dyn Visitor>>>, bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            VISITOR.with(|v| *v.borrow_mut() = self.0.take());
            ON.with(|on| on.set(self.1));
        }
    }
    let before = VISITOR.with(|v| v.borrow_mut().replace(visitor));
    let _restore = Restore(before, ON.with(|on| on.replace(true)));
    NUMBER.with(|n| n.set(0));
    TIME_PS.with(|t| t.set(0));
    body()
}

/// Runs `body` and gives all its events.
pub fn record<R>(body: impl FnOnce() -> R) -> (R, Vec<Record>) {
    let records = Rc::new(RefCell::new(Vec::new()));
    let result = with_visitor(records.clone(), body);
    let events = std::mem::take(&mut *records.borrow_mut());
    (result, events)
}
