//! Threads and choices of the running engine; std's threads without one.

use crate::engine::current as engine;
use crate::{cpu, switch};
use std::panic::Location;

/// A started thread.
pub struct JoinHandle(Inner);

enum Inner {
    Engine(usize),
    Std(std::thread::JoinHandle<()>),
}

/// Starts `body` on CPU `cpu`, as thread of the running engine. The bug switch goes along.
#[track_caller]
pub fn spawn(cpu: u32, body: impl FnOnce() + Send + 'static) -> JoinHandle {
    let bug = switch::current_bug();
    match engine() {
        Some(engine) => JoinHandle(Inner::Engine(engine.spawn(
            Box::new(move || {
                cpu::begin(cpu);
                body();
                cpu::end();
            }),
            Location::caller(),
        ))),
        None => JoinHandle(Inner::Std(std::thread::spawn(move || {
            switch::with_bug(bug, || {
                cpu::begin(cpu);
                body();
                cpu::end();
            })
        }))),
    }
}

impl JoinHandle {
    /// Waits until the thread has ended.
    #[track_caller]
    pub fn join(self) {
        match self.0 {
            Inner::Engine(thread) => {
                if let Some(engine) = engine() {
                    engine.join(thread, Location::caller());
                }
            }
            Inner::Std(handle) => {
                if let Err(panic) = handle.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
}

/// Number of the running thread; 0 without an engine.
#[inline]
pub fn current() -> usize {
    engine().map_or(0, |e| e.thread())
}

/// Lets other threads run.
#[track_caller]
pub fn yield_now() {
    match engine() {
        Some(engine) => engine.yield_now(Location::caller()),
        None => std::thread::yield_now(),
    }
}

/// Waits until no other thread can run; false when the engine can not tell, or without one.
#[track_caller]
pub fn rest() -> bool {
    engine().is_some_and(|e| e.rest(Location::caller()))
}

/// A number below `n` that the engine picks; 0 without one.
#[track_caller]
pub fn choose(n: usize) -> usize {
    engine().map_or(0, |e| e.choose(n, Location::caller()))
}

/// Steps that the engine took so far; 0 without one.
#[inline]
pub fn step() -> u64 {
    engine().map_or(0, |e| e.step())
}
