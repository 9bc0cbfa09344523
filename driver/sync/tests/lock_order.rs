//! The order of locks and the contexts in which they are taken, against what lockdep would say.

use pollproof_sync::switch::take_faults;
use pollproof_sync::{cpu, Mutex, SpinLock};

/// What the rule says of `body`, from a clean start.
fn said(body: impl FnOnce()) -> Vec<String> {
    cpu::begin(0);
    let _ = take_faults();
    body();
    let faults = take_faults();
    assert!(faults.iter().all(|f| f.rule == "LOCK-ORDER"), "{faults:?}");
    faults.into_iter().map(|f| f.what).collect()
}

#[test]
fn one_order_is_right_and_two_are_wrong() {
    let (a, b) = (SpinLock::new(()), SpinLock::new(()));
    let a_b = || {
        let _a = a.lock();
        let _b = b.lock();
    };
    let b_a = || {
        let _b = b.lock();
        let _a = a.lock();
    };
    assert_eq!(said(|| [(); 3].into_iter().for_each(|()| a_b())), [""; 0]);
    let wrong = said(|| {
        a_b();
        b_a();
    });
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains("elsewhere"), "{wrong:?}");
}

#[test]
fn a_circle_of_three_is_wrong_also_with_a_mutex_in_it() {
    let (a, b) = (Mutex::new(()), SpinLock::new(()));
    let (c, d) = (SpinLock::new(()), SpinLock::new(()));
    let wrong = said(|| {
        drop((a.lock(), b.lock()));
        drop((b.lock(), c.lock()));
    });
    assert_eq!(wrong, [""; 0]);
    let wrong = said(|| {
        drop((a.lock(), c.lock()));
        drop((b.lock(), c.lock()));
        drop((c.lock(), d.lock()));
        drop((d.lock(), b.lock()));
    });
    assert_eq!(wrong.len(), 1, "{wrong:?}");
}

#[test]
fn a_class_inside_itself_is_wrong() {
    let locks: Vec<_> = (0..2).map(|_| SpinLock::new(())).collect();
    let wrong = said(|| drop((locks[0].lock(), locks[1].lock())));
    assert!(wrong.len() == 1 && wrong[0].contains("inside itself"), "{wrong:?}");
}

#[test]
fn a_lock_of_a_softirq_is_taken_with_bh_off_elsewhere() {
    let lock = SpinLock::new(());
    let in_softirq = || cpu::in_softirq(|| drop(lock.lock()));
    assert_eq!(said(|| (in_softirq(), drop(lock.lock_bh())).0), [""; 0]);
    for task_first in [false, true] {
        let wrong = said(|| {
            if task_first {
                drop(lock.lock());
            }
            in_softirq();
            if !task_first {
                drop(lock.lock());
            }
        });
        assert!(wrong.len() == 1 && wrong[0].contains("a softirq"), "{wrong:?}");
    }
}

#[test]
fn a_lock_of_an_interrupt_is_taken_with_interrupts_off_elsewhere() {
    let lock = SpinLock::new(());
    let in_hardirq = || cpu::in_hardirq(|| drop(lock.lock()));
    let with_irqs_off = || {
        cpu::local_irq_disable();
        drop(lock.lock());
        cpu::local_irq_enable();
    };
    assert_eq!(said(|| (in_hardirq(), with_irqs_off()).0), [""; 0]);
    let wrong = said(|| (in_hardirq(), drop(lock.lock_bh())).0);
    assert!(wrong.len() == 1 && wrong[0].contains("an interrupt"), "{wrong:?}");
}

#[test]
fn what_stands_for_hardware_is_not_watched() {
    let (a, b) = (SpinLock::unwatched(()), SpinLock::unwatched(()));
    let wrong = said(|| {
        drop((a.lock(), b.lock()));
        drop((b.lock(), a.lock()));
        cpu::in_softirq(|| drop(a.lock()));
    });
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn an_execution_forgets_the_one_before() {
    let (a, b) = (SpinLock::new(()), SpinLock::new(()));
    assert_eq!(said(|| drop((a.lock(), b.lock()))), [""; 0]);
    assert_eq!(said(|| drop((b.lock(), a.lock()))), [""; 0]);
}

#[test]
fn a_call_that_leaves_another_context_than_it_found_is_told_and_put_right() {
    cpu::begin(0);
    let _ = take_faults();
    cpu::balanced("the call", || ());
    cpu::in_softirq(cpu::local_bh_disable);
    cpu::balanced("the call", cpu::preempt_disable);
    assert!(!cpu::context().atomic());
    let what: Vec<_> = take_faults().into_iter().map(|f| f.what).collect();
    assert_eq!(
        what,
        [
            "a softirq was entered when in a softirq, and left when in a softirq and BH is off",
            "the call was entered when nothing is off or held, and left when preemption is off",
        ]
    );
}
