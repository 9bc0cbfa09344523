//! Interrupts in line: where they may come, what they may not, and what a lock makes of it.

use pollproof_engines::{check_explore, AtEnd, Config, Model, Outcome, Search, Verdict};
use pollproof_sync::irq::{serve, Interrupts};
use pollproof_sync::Ordering::{AcqRel, Acquire, Relaxed, Release};
use pollproof_sync::{cpu, thread, AtomicU32, SpinLock};
use std::rc::Rc;
use std::sync::Arc;

struct Line {
    pending: Arc<AtomicU32>,
    handler: Box<dyn Fn()>,
    softirq: Box<dyn Fn()>,
}

impl Interrupts for Line {
    fn pending(&self) -> bool {
        self.pending.load(Relaxed) != 0
    }
    fn take(&self) {
        if self.pending.swap(0, AcqRel) != 0 {
            (self.handler)();
        }
    }
    fn softirq(&self) {
        (self.softirq)();
    }
}

fn run(model: Model, program: impl Fn() + 'static) -> Outcome {
    let config = Config { search: Search::Graphs(model), ..Config::default() };
    let at_end: AtEnd = Box::new(|_| None);
    check_explore(&config, program, at_end)
}

/// Process context on CPU 0, a device that interrupts it once, and what the handler does.
fn cpu0(
    body: impl FnOnce(&Arc<SpinLock<u32>>, &Arc<AtomicU32>) + Send + 'static,
    handler: impl Fn(&SpinLock<u32>, &AtomicU32) + Send + 'static,
) {
    let pending = Arc::new(AtomicU32::new(0));
    let word = Arc::new(AtomicU32::new(0));
    // Unwatched: else the lock is found wrong before anybody waits for it.
    let lock = Arc::new(SpinLock::unwatched(0));
    let device = pending.clone();
    let cpu = thread::spawn(0, move || {
        let (l, w) = (lock.clone(), word.clone());
        serve(Some(Rc::new(Line {
            pending: pending.clone(),
            handler: Box::new(move || handler(&l, &w)),
            softirq: Box::new(|| ()),
        })));
        body(&lock, &word);
        serve(None);
    });
    let device = thread::spawn(63, move || device.store(1, Release));
    cpu.join();
    device.join();
}

#[test]
fn a_lock_that_the_handler_takes_too_deadlocks_with_interrupts_on() {
    let unsafe_lock = || {
        cpu0(
            |lock, word| {
                let _held = lock.lock();
                word.store(1, Relaxed);
            },
            |lock, _| drop(lock.lock()),
        );
    };
    for model in [Model::Sc, Model::Tso, Model::Rc11] {
        let found = run(model, unsafe_lock).finding.expect("a deadlock");
        assert_eq!(found.rule, "DEADLOCK", "{found:?}");
    }
}

#[test]
fn with_interrupts_off_it_does_not() {
    let safe = || {
        cpu0(
            |lock, word| {
                cpu::local_irq_disable();
                let held = lock.lock();
                word.store(1, Relaxed);
                drop(held);
                cpu::local_irq_enable();
            },
            |lock, _| drop(lock.lock()),
        );
    };
    for model in [Model::Sc, Model::Tso, Model::Rc11] {
        let outcome = run(model, safe);
        assert_eq!((outcome.finding, outcome.verdict), (None, Verdict::Exhaustive));
        assert!(outcome.executions >= 2, "{}", outcome.executions);
    }
}

#[test]
fn a_handler_runs_to_its_end_and_sees_the_stores_of_its_cpu() {
    let program = || {
        cpu0(
            |_, word| {
                word.store(1, Relaxed);
                word.store(2, Relaxed);
                assert_ne!(word.load(Relaxed), 8, "the handler was divided");
            },
            |_, word| {
                assert_eq!(cpu::context().hardirq, 1);
                let seen = word.load(Relaxed);
                word.store(8, Relaxed);
                assert_eq!(word.load(Relaxed), 8);
                word.store(seen, Relaxed);
            },
        );
    };
    for model in [Model::Sc, Model::Tso, Model::Rc11] {
        let outcome = run(model, program);
        assert_eq!((outcome.finding, outcome.verdict), (None, Verdict::Exhaustive));
        // Before each of the operations, or not at all.
        assert!(outcome.executions >= 4, "{}", outcome.executions);
    }
}

#[test]
fn who_waits_is_woken_by_a_handler() {
    let program = || {
        cpu0(
            |_, word| {
                word.wait(Acquire, |v| v == 1);
            },
            |_, word| word.store(1, Release),
        );
    };
    for model in [Model::Sc, Model::Tso, Model::Rc11] {
        let outcome = run(model, program);
        assert_eq!((outcome.finding, outcome.verdict), (None, Verdict::Exhaustive));
    }
}

#[test]
fn softirqs_run_when_the_handler_is_left_or_bhs_are_enabled() {
    let program = || {
        let pending = Arc::new(AtomicU32::new(0));
        let device = pending.clone();
        let cpu = thread::spawn(0, move || {
            let raised = Rc::new(std::cell::Cell::new(0));
            let ran = Rc::new(std::cell::Cell::new(0));
            let (raise, run, count) = (raised.clone(), raised.clone(), ran.clone());
            serve(Some(Rc::new(Line {
                pending: pending.clone(),
                handler: Box::new(move || raise.set(1)),
                softirq: Box::new(move || {
                    let now = cpu::context();
                    assert_eq!((now.hardirq, now.bh_off), (0, 0));
                    count.set(count.get() + run.take());
                }),
            })));
            let word = AtomicU32::new(0);
            cpu::local_bh_disable();
            word.store(1, Relaxed);
            assert_eq!(ran.get(), 0, "a softirq with BHs off");
            let before = raised.get();
            cpu::local_bh_enable();
            assert_eq!(ran.get(), before, "what was raised runs when BHs are enabled");
            word.store(2, Relaxed);
            assert_eq!(raised.get(), 0, "what was raised runs when the handler is left");
            serve(None);
        });
        let device = thread::spawn(63, move || device.store(1, Release));
        cpu.join();
        device.join();
    };
    let outcome = run(Model::Sc, program);
    assert_eq!((outcome.finding, outcome.verdict), (None, Verdict::Exhaustive));
    assert!(outcome.executions >= 3);
}
