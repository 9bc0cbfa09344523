//! RCU in two forms: locks, for users of RCU, and counters, to check the grace period itself.
//!
//! *Locks*: a reader holds its CPU's lock, a grace period takes and drops each lock in turn. No
//! waiting on values, independent readers, the ordering that RCU promises.
//! *Counters*: a reader marks its CPU and then has a full barrier, a grace period has one and then
//! waits for each mark to go. Both serve any number of readers; the slot is the CPU number.

use crate::barrier::smp_mb;
use crate::cpu;
use crate::engine::{Loc, Ordering};
use crate::lock::{Guard, SpinLock};
use crate::switch::{fault, taken_out};
use crate::AtomicU32;
use std::panic::Location;
use std::sync::Mutex as StdMutex;

/// How the grace period is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RcuForm {
    /// A lock for each CPU.
    Locks,
    /// A counter for each CPU.
    Counters,
}

type Callback = Box<dyn FnOnce() + Send>;

enum Reader {
    Lock(SpinLock<()>),
    Counter(AtomicU32),
}

/// One RCU domain for a fixed number of CPUs.
pub struct Rcu {
    readers: Vec<Reader>,
    callbacks: StdMutex<Vec<Callback>>,
}

/// A read-side critical section; ends when dropped.
pub struct RcuReadGuard<'a> {
    outermost: Option<Held<'a>>,
}

enum Held<'a> {
    Lock(Option<Guard<'a, ()>>),
    Counter(&'a AtomicU32),
}

impl Rcu {
    /// A domain for `cpus` CPUs.
    #[track_caller]
    pub fn new(cpus: u32, form: RcuForm) -> Self {
        let reader = || match form {
            // Stands for RCU, which is no lock: readers may be anywhere.
            RcuForm::Locks => Reader::Lock(SpinLock::unwatched(())),
            RcuForm::Counters => Reader::Counter(AtomicU32::new(0)),
        };
        Self {
            readers: (0..cpus).map(|_| reader()).collect(),
            callbacks: StdMutex::new(Vec::new()),
        }
    }

    /// `rcu_read_lock`; nests.
    #[track_caller]
    pub fn read_lock(&self) -> RcuReadGuard<'_> {
        let cpu = cpu::smp_processor_id() as usize;
        if cpu::rcu_depth(1) > 0 {
            return RcuReadGuard { outermost: None };
        }
        let at = Location::caller();
        let outermost = match self.readers.get(cpu) {
            _ if taken_out(at) => None,
            None => {
                fault("CONTEXT", format!("CPU {cpu} is unknown to this RCU domain"), at);
                None
            }
            Some(Reader::Lock(lock)) => Some(Held::Lock(Some(lock.lock()))),
            Some(Reader::Counter(counter)) => {
                counter.store(1, Ordering::Relaxed);
                smp_mb();
                Some(Held::Counter(counter))
            }
        };
        RcuReadGuard { outermost }
    }

    /// `synchronize_rcu`: returns when every reader that was inside has left. May sleep.
    #[track_caller]
    pub fn synchronize(&self) {
        let at = Location::caller();
        cpu::might_sleep_at("synchronize_rcu", at);
        self.grace_period(at);
    }

    fn grace_period(&self, at: Loc) {
        if taken_out(at) {
            return;
        }
        // A reader that this does not see inside must see what was unpublished before. Taking a
        // lock orders by itself.
        if self.readers.iter().any(|r| matches!(r, Reader::Counter(_))) {
            smp_mb();
        }
        for reader in &self.readers {
            match reader {
                Reader::Lock(lock) => drop(lock.lock()),
                Reader::Counter(counter) => {
                    counter.wait(Ordering::Acquire, |inside| inside == 0);
                }
            }
        }
    }

    /// `call_rcu`: `callback` runs after a grace period, in [`Rcu::barrier`].
    pub fn call(&self, callback: impl FnOnce() + Send + 'static) {
        self.callbacks().push(Box::new(callback));
    }

    /// `rcu_barrier`: waits for a grace period and runs all callbacks that were queued before it.
    #[track_caller]
    pub fn barrier(&self) {
        let at = Location::caller();
        cpu::might_sleep_at("rcu_barrier", at);
        let ready = std::mem::take(&mut *self.callbacks());
        if ready.is_empty() {
            return;
        }
        self.grace_period(at);
        for callback in ready {
            callback();
        }
    }

    fn callbacks(&self) -> std::sync::MutexGuard<'_, Vec<Callback>> {
        self.callbacks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for RcuReadGuard<'_> {
    fn drop(&mut self) {
        cpu::rcu_depth(-1);
        match self.outermost.take() {
            Some(Held::Lock(guard)) => drop(guard),
            Some(Held::Counter(counter)) => counter.store(0, Ordering::Release),
            None => {}
        }
    }
}
