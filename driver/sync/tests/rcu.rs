//! Grace periods without an engine: real threads, both forms.

use pollproof_sync::switch::take_faults;
use pollproof_sync::{cpu, Rcu, RcuForm};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::Duration;

const FORMS: [RcuForm; 2] = [RcuForm::Locks, RcuForm::Counters];

const CPUS: u32 = 3;

/// Runs `wait` on CPU 0 while a reader on `reader` is inside, who has left an inner section before;
/// whether the reader had left at the end. `wait` is told of that too.
fn outlasts(form: RcuForm, reader: u32, wait: impl FnOnce(&Rcu, &Arc<AtomicBool>)) -> bool {
    let rcu = Arc::new(Rcu::new(CPUS, form));
    let left = Arc::new(AtomicBool::new(false));
    let (inside, entered) = channel();
    let (domain, leaves) = (rcu.clone(), left.clone());
    let reader = std::thread::spawn(move || {
        cpu::begin(reader);
        let guard = domain.read_lock();
        drop(domain.read_lock());
        inside.send(()).expect("the test waits");
        std::thread::sleep(Duration::from_millis(20));
        leaves.store(true, SeqCst);
        drop(guard);
    });
    entered.recv().expect("the reader enters");
    cpu::begin(0);
    wait(&rcu, &left);
    let seen = left.load(SeqCst);
    reader.join().expect("the reader leaves");
    seen
}

#[test]
fn synchronize_outlasts_a_reader_on_any_cpu() {
    for form in FORMS {
        for cpu in 0..CPUS {
            assert!(outlasts(form, cpu, |rcu, _| rcu.synchronize()), "{form:?}, CPU {cpu}");
        }
    }
}

#[test]
fn callbacks_run_after_the_readers_that_are_inside() {
    for form in FORMS {
        for cpu in 0..CPUS {
            // What the callback saw: not only `barrier` waits, the callback runs after the wait.
            let (ran, seen) = channel();
            let outlasted = outlasts(form, cpu, |rcu, left| {
                let left = left.clone();
                rcu.call(move || ran.send(left.load(SeqCst)).expect("the test looks"));
                rcu.barrier();
            });
            assert!(outlasted, "{form:?}, CPU {cpu}");
            assert_eq!(seen.iter().collect::<Vec<_>>(), [true], "{form:?}, CPU {cpu}");
        }
    }
}

#[test]
fn a_callback_waits_for_the_barrier_and_runs_once() {
    for form in FORMS {
        cpu::begin(0);
        let rcu = Arc::new(Rcu::new(1, form));
        let (first, second) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (counts, later, domain) = (first.clone(), second.clone(), rcu.clone());
        rcu.call(move || {
            counts.fetch_add(1, SeqCst);
            // Queued by a callback: belongs to the next barrier.
            domain.call(move || {
                later.fetch_add(1, SeqCst);
            });
        });
        assert_eq!(first.load(SeqCst), 0);
        rcu.barrier();
        assert_eq!((first.load(SeqCst), second.load(SeqCst)), (1, 0));
        rcu.barrier();
        assert_eq!((first.load(SeqCst), second.load(SeqCst)), (1, 1));
    }
}

#[test]
fn readers_nest_and_the_outermost_counts() {
    for form in FORMS {
        cpu::begin(0);
        let rcu = Rcu::new(1, form);
        let outer = rcu.read_lock();
        let inner = rcu.read_lock();
        assert_eq!(cpu::context().rcu, 2);
        drop(inner);
        assert_eq!(cpu::context().rcu, 1);
        drop(outer);
        assert_eq!(cpu::context().rcu, 0);
        rcu.synchronize();
        assert_eq!(take_faults(), []);
    }
}

#[test]
fn a_cpu_that_the_domain_does_not_know_is_a_fault() {
    cpu::begin(5);
    drop(Rcu::new(2, RcuForm::Locks).read_lock());
    let faults = take_faults();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].rule == "CONTEXT" && faults[0].what.contains("CPU 5"));
    cpu::begin(0);
}

#[test]
fn waiting_for_a_grace_period_inside_a_reader_is_a_fault() {
    cpu::begin(1);
    // The reader is in another domain: no deadlock, but no place to sleep either.
    let (outer, rcu) = (Rcu::new(2, RcuForm::Counters), Rcu::new(1, RcuForm::Counters));
    let guard = outer.read_lock();
    rcu.synchronize();
    rcu.barrier();
    drop(guard);
    let what: Vec<_> = take_faults().into_iter().map(|f| f.what).collect();
    assert_eq!(
        what,
        [
            "synchronize_rcu may sleep, but inside rcu_read_lock",
            "rcu_barrier may sleep, but inside rcu_read_lock"
        ]
    );
}
