//! Context of the running CPU: number, hard and soft interrupt depth, BH off, locks held.
//!
//! Kept per engine thread. What a context forbids (sleeping in atomic context, enabling BH with
//! interrupts off, a call that leaves another context than it found) is noted as a fault of rule
//! `CONTEXT`, never a panic.

use crate::engine::Loc;
use crate::switch::fault;
use crate::thread;
use std::cell::RefCell;
use std::panic::Location;

/// What the running code may and may not do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// CPU number.
    pub cpu: u32,
    /// Depth of hard interrupt handlers.
    pub hardirq: u32,
    /// Depth of softirq processing.
    pub softirq: u32,
    /// Depth of `local_bh_disable`.
    pub bh_off: u32,
    /// Depth of `local_irq_save`.
    pub irq_off: u32,
    /// Depth of `preempt_disable`.
    pub preempt_off: u32,
    /// Spinlocks held.
    pub spin: u32,
    /// Depth of `rcu_read_lock`.
    pub rcu: u32,
}

impl Context {
    /// Whether sleeping is forbidden here.
    pub fn atomic(&self) -> bool {
        let interrupted = self.hardirq + self.softirq + self.bh_off + self.irq_off;
        interrupted + self.preempt_off + self.spin + self.rcu > 0
    }

    /// Whether softirqs may interrupt the code here.
    pub fn takes_softirqs(&self) -> bool {
        self.hardirq + self.softirq + self.bh_off + self.irq_off == 0
    }

    /// Whether hard interrupts may interrupt the code here.
    pub fn takes_irqs(&self) -> bool {
        self.hardirq + self.irq_off == 0
    }
}

/// More threads than any engine runs at once.
const THREADS_MAX: usize = 64;

thread_local! {
    static CONTEXTS: RefCell<[Context; THREADS_MAX]> =
        const { RefCell::new([Context { cpu: 0, hardirq: 0, softirq: 0, bh_off: 0, irq_off: 0,
                                        preempt_off: 0, spin: 0, rcu: 0 }; THREADS_MAX]) };
}

fn with<R>(f: impl FnOnce(&mut Context) -> R) -> R {
    let thread = thread::current() % THREADS_MAX;
    CONTEXTS.with(|c| f(&mut c.borrow_mut()[thread]))
}

/// Context of the running code.
#[inline]
pub fn context() -> Context {
    with(|c| *c)
}

/// The running thread starts on CPU `cpu` with a clean context.
pub fn begin(cpu: u32) {
    with(|c| *c = Context { cpu, ..Context::default() });
    if thread::current() == 0 {
        crate::irq::forget();
        crate::lockdep::forget();
    }
}

/// The running thread ends: whatever it turned off must be on again.
#[track_caller]
pub(crate) fn end() {
    let now = context();
    if now != (Context { cpu: now.cpu, ..Context::default() }) {
        let what = format!("a thread ends although {}", describe(&now));
        fault("CONTEXT", what, Location::caller());
    }
}

/// Runs `body`, a call into code that must leave the context as it found it.
#[track_caller]
pub fn balanced<R>(what: &'static str, body: impl FnOnce() -> R) -> R {
    let before = context();
    let result = body();
    let after = context();
    if after != before {
        let told = |c: &Context| match describe(c) {
            words if words.is_empty() => "nothing is off or held".to_owned(),
            words => words,
        };
        let (from, to) = (told(&before), told(&after));
        let message = format!("{what} was entered when {from}, and left when {to}");
        fault("CONTEXT", message, Location::caller());
        with(|c| *c = before);
    }
    result
}

/// CPU number, as `smp_processor_id`.
#[inline]
pub fn smp_processor_id() -> u32 {
    context().cpu
}

/// Runs `body` as a hard interrupt handler.
#[track_caller]
pub fn in_hardirq<R>(body: impl FnOnce() -> R) -> R {
    with(|c| c.hardirq += 1);
    let result = balanced("an interrupt handler", body);
    with(|c| c.hardirq = c.hardirq.saturating_sub(1));
    result
}

/// Runs `body` as a softirq.
#[track_caller]
pub fn in_softirq<R>(body: impl FnOnce() -> R) -> R {
    with(|c| c.softirq += 1);
    let result = balanced("a softirq", body);
    with(|c| c.softirq = c.softirq.saturating_sub(1));
    result
}

/// `local_bh_disable`.
pub fn local_bh_disable() {
    with(|c| c.bh_off += 1);
}

/// `local_bh_enable`: not allowed in a hard interrupt or with interrupts off.
#[track_caller]
pub fn local_bh_enable() {
    let before = with(|c| {
        let before = *c;
        c.bh_off = c.bh_off.saturating_sub(1);
        before
    });
    let at = Location::caller();
    if before.bh_off == 0 {
        fault("CONTEXT", "BH is enabled more often than disabled".into(), at);
    }
    if before.irq_off > 0 || before.hardirq > 0 {
        fault("CONTEXT", "BH is enabled with interrupts off".into(), at);
    }
    if before.bh_off == 1 {
        crate::irq::bh_enabled();
    }
}

/// `preempt_disable`.
pub fn preempt_disable() {
    with(|c| c.preempt_off += 1);
}

/// `preempt_enable`.
#[track_caller]
pub fn preempt_enable() {
    let before = with(|c| {
        let before = c.preempt_off;
        c.preempt_off = before.saturating_sub(1);
        before
    });
    if before == 0 {
        let at = Location::caller();
        fault("CONTEXT", "preemption is enabled more often than disabled".into(), at);
    }
}

/// `local_irq_save`.
pub fn local_irq_disable() {
    with(|c| c.irq_off += 1);
}

/// `local_irq_restore`.
#[track_caller]
pub fn local_irq_enable() {
    let before = with(|c| {
        let before = c.irq_off;
        c.irq_off = before.saturating_sub(1);
        before
    });
    if before == 0 {
        let at = Location::caller();
        fault("CONTEXT", "interrupts are enabled more often than disabled".into(), at);
    }
    if before == 1 {
        crate::irq::point();
    }
}

/// The code from here may sleep: a fault when the context forbids it.
#[track_caller]
pub fn might_sleep(what: &'static str) {
    might_sleep_at(what, Location::caller());
}

pub(crate) fn might_sleep_at(what: &'static str, at: Loc) {
    let c = context();
    if c.atomic() {
        fault("CONTEXT", format!("{what} may sleep, but {}", describe(&c)), at);
    }
}

fn describe(c: &Context) -> String {
    let mut held = Vec::new();
    for (depth, name) in [
        (c.hardirq, "in a hard interrupt"),
        (c.softirq, "in a softirq"),
        (c.bh_off, "BH is off"),
        (c.irq_off, "interrupts are off"),
        (c.preempt_off, "preemption is off"),
        (c.spin, "a spinlock is held"),
        (c.rcu, "inside rcu_read_lock"),
    ] {
        if depth > 0 {
            held.push(name);
        }
    }
    held.join(" and ")
}

pub(crate) fn spin_depth(by: i32) {
    with(|c| c.spin = c.spin.saturating_add_signed(by));
}

pub(crate) fn rcu_depth(by: i32) -> u32 {
    with(|c| {
        let before = c.rcu;
        c.rcu = before.saturating_add_signed(by);
        before
    })
}
