//! Interrupts of the CPU that a thread stands for, taken in line: at every operation that other
//! threads can notice, where interrupts are enabled, the handler may run as part of the thread. So
//! what it does stays in the program order of its CPU, and it runs to its end before the
//! interrupted code goes on. Softirqs follow when the handler is left, and when BHs are enabled
//! again.
//!
//! Only threads that [`serve`] have such points; a benchmark of the others shows no cost.

use crate::cpu::{self, context};
use crate::thread;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The interrupts of one CPU.
pub trait Interrupts {
    /// Whether an interrupt is pending: a relaxed read, since the CPU may or may not have heard of
    /// it yet.
    fn pending(&self) -> bool;
    /// Takes what is pending and runs its handlers.
    fn take(&self);
    /// Runs the softirqs that were raised.
    fn softirq(&self);
}

type Hook = Rc<dyn Interrupts>;

thread_local! {
    /// Whether any thread serves interrupts.
    static ANY: Cell<bool> = const { Cell::new(false) };
    static HOOKS: RefCell<Vec<(usize, Hook)>> = const { RefCell::new(Vec::new()) };
    /// Threads inside what no interrupt divides.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// From here on the running thread serves the interrupts of its CPU; none ends that.
pub fn serve(interrupts: Option<Hook>) {
    let me = thread::current();
    HOOKS.with(|hooks| {
        let mut hooks = hooks.borrow_mut();
        hooks.retain(|(thread, _)| *thread != me);
        hooks.extend(interrupts.map(|hook| (me, hook)));
        ANY.set(!hooks.is_empty());
    });
}

/// Forgets what threads of an execution before served and held.
pub(crate) fn forget() {
    if ANY.get() {
        HOOKS.with(|hooks| hooks.take());
        ANY.set(false);
    }
    HELD.with(|held| held.borrow_mut().clear());
}

/// Until dropped, what the running thread does is one step of the hardware: no interrupt comes
/// between.
pub struct Hold(usize);

/// Begins a step of the hardware.
pub fn hold() -> Hold {
    let me = thread::current();
    HELD.with(|held| held.borrow_mut().push(me));
    Hold(me)
}

impl Drop for Hold {
    fn drop(&mut self) {
        HELD.with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|thread| *thread == self.0) {
                held.remove(at);
            }
        });
    }
}

fn hook() -> Option<Hook> {
    let me = thread::current();
    let held = HELD.with(|held| held.borrow().contains(&me));
    if held || std::thread::panicking() {
        return None;
    }
    HOOKS.with(|hooks| hooks.borrow().iter().find(|(thread, _)| *thread == me).map(|h| h.1.clone()))
}

/// A point at which an interrupt may come.
#[inline]
pub(crate) fn point() {
    if ANY.get() {
        take();
    }
}

/// Whether the running thread serves interrupts here: it must then not wait in one place.
#[cfg(feature = "engines")]
pub(crate) fn serves() -> bool {
    let now = context();
    ANY.get() && now.irq_off + now.hardirq == 0 && hook().is_some()
}

#[cold]
fn take() {
    let now = context();
    if now.irq_off + now.hardirq > 0 {
        return;
    }
    let Some(hook) = hook() else { return };
    // Looking is no point for another interrupt.
    let looking = hold();
    let pending = hook.pending();
    drop(looking);
    if pending {
        cpu::in_hardirq(|| hook.take());
        softirq(&hook);
    }
}

/// BHs were enabled.
pub(crate) fn bh_enabled() {
    if ANY.get() {
        if let Some(hook) = hook() {
            softirq(&hook);
        }
    }
}

fn softirq(hook: &Hook) {
    let now = context();
    if now.hardirq + now.softirq + now.bh_off + now.irq_off == 0 {
        hook.softirq();
    }
}
