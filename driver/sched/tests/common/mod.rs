//! A CPU with a clock that is moved by hand, its timer hardware, and fq on it.
#![allow(dead_code)]

use pollproof_events::NEVER;
use pollproof_kapi::Clock;
use pollproof_sched::{
    ClockEvent, Fq, FqOptions, HrtimerBase, QdiscState, QdiscWatchdog, WatchdogForm,
};
use pollproof_sync::cpu;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Clock and timer hardware.
#[derive(Default)]
pub struct Hand {
    pub now_ns: AtomicU64,
    pub programmed_ns: AtomicU64,
}

impl Clock for Hand {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Relaxed)
    }
}

impl ClockEvent for Hand {
    fn program(&self, expires_ns: u64) {
        self.programmed_ns.store(expires_ns, Relaxed);
    }
}

/// A base, a watchdog and the state of its qdisc.
pub struct Cpu {
    pub hand: Arc<Hand>,
    pub base: Arc<HrtimerBase>,
    pub state: Arc<QdiscState>,
    pub watchdog: Arc<QdiscWatchdog>,
}

pub fn cpu(form: WatchdogForm) -> Cpu {
    let hand = Arc::new(Hand::default());
    hand.program(NEVER);
    let base = HrtimerBase::new(0, hand.clone(), hand.clone());
    let state = QdiscState::new();
    let watchdog = QdiscWatchdog::new(0, form, &base, &state);
    Cpu { hand, base, state, watchdog }
}

impl Cpu {
    pub fn fq(&self) -> Fq {
        Fq::new(FqOptions::default(), self.hand.clone(), self.watchdog.clone())
    }

    pub fn set_time(&self, now_ns: u64) {
        self.hand.now_ns.store(now_ns, Relaxed);
    }

    /// When the hardware interrupts, if it does.
    pub fn programmed_ns(&self) -> Option<u64> {
        Some(self.hand.programmed_ns.load(Relaxed)).filter(|ns| *ns != NEVER)
    }

    /// The hardware interrupts at the time that it was programmed to; whether it was at all.
    pub fn fire(&self) -> bool {
        self.fire_late(0)
    }

    /// The same, so much later.
    pub fn fire_late(&self, late_ns: u64) -> bool {
        let Some(at_ns) = self.programmed_ns() else { return false };
        self.hand.program(NEVER);
        self.set_time(at_ns.saturating_add(late_ns).max(self.hand.now_ns()));
        cpu::in_hardirq(|| self.base.interrupt());
        true
    }
}
