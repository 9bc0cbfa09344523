//! The context of a CPU against counters of our own: what may sleep, and where it may not.

use pollproof_sync::cpu::{self, might_sleep};
use pollproof_sync::switch::take_faults;
use pollproof_sync::{Mutex, Rcu, RcuForm, SpinLock};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    BhOff,
    BhOn,
    IrqOff,
    IrqOn,
    Sleep,
    LockMutex,
    /// Runs the operation under a spinlock, as an interrupt, as a softirq, inside a reader.
    Spin,
    Hardirq,
    Softirq,
    Reader,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        Just(Op::BhOff),
        Just(Op::BhOn),
        Just(Op::IrqOff),
        Just(Op::IrqOn),
        Just(Op::Sleep),
        Just(Op::LockMutex),
        Just(Op::Spin),
        Just(Op::Hardirq),
        Just(Op::Softirq),
        Just(Op::Reader),
    ]
}

/// Depths as they should be, and how many faults should have been noted.
#[derive(Default)]
struct Model {
    bh: u32,
    irq: u32,
    faults: usize,
}

impl Model {
    fn sleeps(&mut self, elsewhere: bool) {
        self.faults += usize::from(elsewhere || self.bh + self.irq > 0);
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::BhOff => self.bh += 1,
            Op::BhOn => {
                self.faults += usize::from(self.bh == 0) + usize::from(self.irq > 0);
                self.bh = self.bh.saturating_sub(1);
            }
            Op::IrqOff => self.irq += 1,
            Op::IrqOn => {
                self.faults += usize::from(self.irq == 0);
                self.irq = self.irq.saturating_sub(1);
            }
            Op::Sleep | Op::LockMutex => self.sleeps(false),
            Op::Spin | Op::Hardirq | Op::Softirq | Op::Reader => self.sleeps(true),
        }
    }
}

fn apply(op: Op, mutex: &Mutex<u32>, spin: &SpinLock<u32>, rcu: &Rcu) {
    match op {
        Op::BhOff => cpu::local_bh_disable(),
        Op::BhOn => cpu::local_bh_enable(),
        Op::IrqOff => cpu::local_irq_disable(),
        Op::IrqOn => cpu::local_irq_enable(),
        Op::Sleep => might_sleep("the test"),
        Op::LockMutex => *mutex.lock() += 1,
        Op::Spin => {
            let _guard = spin.lock();
            might_sleep("the test");
        }
        Op::Hardirq => cpu::in_hardirq(|| might_sleep("the test")),
        Op::Softirq => cpu::in_softirq(|| might_sleep("the test")),
        Op::Reader => {
            let _guard = rcu.read_lock();
            might_sleep("the test");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn a_context_is_what_was_entered_and_not_left(ops in prop::collection::vec(op(), 0..40)) {
        cpu::begin(0);
        let _ = take_faults();
        let (mutex, spin) = (Mutex::new(0), SpinLock::new(0));
        let rcu = Rcu::new(1, RcuForm::Locks);
        let mut model = Model::default();
        for op in ops {
            model.apply(op);
            apply(op, &mutex, &spin, &rcu);
            let context = cpu::context();
            prop_assert_eq!((context.bh_off, context.irq_off), (model.bh, model.irq));
            let entered = (context.spin, context.hardirq, context.softirq, context.rcu);
            prop_assert_eq!(entered, (0, 0, 0, 0));
            prop_assert_eq!(context.atomic(), model.bh + model.irq > 0);
            let faults = take_faults();
            prop_assert!(faults.iter().all(|f| f.rule == "CONTEXT"));
            prop_assert_eq!(faults.len(), std::mem::take(&mut model.faults), "{:?}", op);
        }
    }
}

#[test]
fn a_thread_begins_clean_on_its_cpu() {
    cpu::begin(0);
    cpu::local_bh_disable();
    cpu::local_irq_disable();
    cpu::begin(3);
    assert_eq!((cpu::smp_processor_id(), cpu::context().atomic()), (3, false));
    might_sleep("the test");
    assert_eq!(take_faults(), []);
}

#[test]
fn enabling_bh_in_a_hard_interrupt_is_a_fault() {
    cpu::begin(0);
    cpu::in_hardirq(|| {
        cpu::local_bh_disable();
        cpu::local_bh_enable();
    });
    let what: Vec<_> = take_faults().into_iter().map(|f| f.what).collect();
    assert_eq!(what, ["BH is enabled with interrupts off"]);
}

#[test]
fn a_fault_tells_all_that_forbids_sleeping() {
    cpu::begin(0);
    let lock = SpinLock::new(());
    cpu::local_bh_disable();
    let guard = lock.lock();
    might_sleep("napi_disable");
    drop(guard);
    cpu::local_bh_enable();
    let faults = take_faults();
    assert_eq!(faults[0].what, "napi_disable may sleep, but BH is off and a spinlock is held");
    assert!(faults[0].at.0.ends_with("context_prop.rs"));
}
