//! One transmit queue with fq, its watchdog, the timer hardware of its CPU and a clock, as a
//! simulation moves it. No engine, no costs: what runs takes no time.

use pollproof_events::{QdiscId, NEVER};
use pollproof_kapi::Clock;
use pollproof_sched::{
    ClockEvent, Fq, FqOptions, HrtimerBase, Packet, Qdisc, QdiscState, QdiscWatchdog, WatchdogForm,
};
use pollproof_sync::cpu;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Clock and timer hardware.
struct Hand {
    now_ns: AtomicU64,
    programmed_ns: AtomicU64,
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

/// A transmit queue.
pub struct Line {
    hand: Arc<Hand>,
    /// Timers of its CPU.
    pub base: Arc<HrtimerBase>,
    /// The discipline.
    pub qdisc: Arc<Qdisc>,
}

/// Where packets go, and whether more come behind one.
pub type Ring<'a> = &'a mut dyn FnMut(Packet, bool);

impl Line {
    /// A queue whose watchdog has this form. Packets may leave `latency_ns` after their timer.
    pub fn new(id: QdiscId, form: WatchdogForm, latency_ns: u64) -> Self {
        let (now_ns, programmed_ns) = (AtomicU64::new(0), AtomicU64::new(NEVER));
        let hand = Arc::new(Hand { now_ns, programmed_ns });
        let base = HrtimerBase::new(id, hand.clone(), hand.clone());
        let state = QdiscState::new();
        let watchdog = QdiscWatchdog::new(id, form, &base, &state);
        let options = FqOptions { id, latency_ns, ..FqOptions::default() };
        let fq = Fq::new(options, hand.clone(), watchdog.clone());
        Self { hand, base, qdisc: Qdisc::new(state, watchdog, fq) }
    }

    /// Time.
    pub fn now_ns(&self) -> u64 {
        self.hand.now_ns()
    }

    /// Time goes on to here, if it was before.
    pub fn at(&self, now_ns: u64) {
        self.hand.now_ns.fetch_max(now_ns, Relaxed);
    }

    /// When the timer hardware interrupts; [`NEVER`] if it is off.
    pub fn programmed_ns(&self) -> u64 {
        self.hand.programmed_ns.load(Relaxed)
    }

    /// A packet is sent.
    pub fn xmit(&self, packet: Packet, ring: Ring) {
        self.qdisc.xmit(packet, ring);
    }

    /// Whoever waited for the device runs the queue.
    pub fn run(&self, ring: Ring) {
        cpu::in_softirq(|| self.qdisc.net_tx_action(ring));
    }

    /// The hardware interrupts at the time it was programmed to, and the softirq runs.
    pub fn interrupt(&self, ring: Ring) {
        let at_ns = self.hand.programmed_ns.swap(NEVER, Relaxed);
        if at_ns == NEVER {
            return;
        }
        self.at(at_ns);
        cpu::in_hardirq(|| self.base.interrupt());
        while self.qdisc.state().is_scheduled() {
            cpu::in_softirq(|| self.qdisc.net_tx_action(&mut *ring));
        }
    }
}
