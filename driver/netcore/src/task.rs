//! What the task of a CPU is asked by others: to let them run, or to see to a signal.

use crate::Net;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{cpu, AtomicU32};

const NEED_RESCHED: u32 = 1;
const SIGNAL: u32 = 2;

impl Net {
    fn asked(&self, cpu: u32) -> Option<&AtomicU32> {
        self.asked.get(cpu as usize)
    }

    fn is_asked(&self, what: u32) -> bool {
        let word = self.asked(cpu::smp_processor_id());
        word.is_some_and(|w| w.load(Relaxed) & what != 0)
    }

    fn ask(&self, cpu: u32, what: u32) {
        if let Some(word) = self.asked(cpu) {
            word.fetch_or(what, Relaxed);
        }
    }

    /// `need_resched`.
    pub(crate) fn need_resched(&self) -> bool {
        self.is_asked(NEED_RESCHED)
    }

    /// `signal_pending`.
    pub(crate) fn signal_pending(&self) -> bool {
        self.is_asked(SIGNAL)
    }

    /// The task of a CPU should let others run.
    pub fn resched_task(&self, cpu: u32) {
        self.ask(cpu, NEED_RESCHED);
    }

    /// The task of a CPU gets a signal.
    pub fn signal_task(&self, cpu: u32) {
        self.ask(cpu, SIGNAL);
    }

    /// `cond_resched`: others run, then this task again.
    pub(crate) fn cond_resched(&self) {
        cpu::might_sleep("cond_resched");
        if let Some(word) = self.asked(cpu::smp_processor_id()) {
            word.fetch_and(!NEED_RESCHED, Relaxed);
        }
    }
}
