//! A queue with fq, its watchdog and the timer hardware of one CPU, as scenarios use them.
//!
//! Time stands where the timer hardware interrupted last, or where a scenario puts it. The hardware
//! interrupts at the time that it was programmed to, and the engine chooses when that is among what
//! others do.

use pollproof_events::{emit, Event, Sched, NEVER};
use pollproof_kapi::Clock;
use pollproof_sched::netlink::put_u32;
use pollproof_sched::{
    ClockEvent, Fq, FqOptions, HrtimerBase, Packet, Qdisc, QdiscState, QdiscWatchdog, WatchdogForm,
};
use pollproof_sync::thread::{self, JoinHandle};
use pollproof_sync::Ordering::{AcqRel, Acquire, Release};
use pollproof_sync::{cpu, AtomicU64};
use std::sync::Arc;

/// A microsecond.
pub(super) const US: u64 = 1_000;
/// The hardware is taken away.
const GONE: u64 = NEVER - 1;
/// Interrupts that a queue may need until it is at rest.
const FIRES_MAX: u32 = 200;

/// Clock and timer hardware.
pub(super) struct Hand {
    now_ns: AtomicU64,
    programmed_ns: AtomicU64,
}

impl Clock for Hand {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Acquire)
    }
}

impl ClockEvent for Hand {
    fn program(&self, expires_ns: u64) {
        self.programmed_ns.store(expires_ns, Release);
    }
}

/// The queue of a device.
pub(super) struct House {
    pub hand: Arc<Hand>,
    pub base: Arc<HrtimerBase>,
    pub qdisc: Arc<Qdisc>,
}

impl House {
    /// A queue whose watchdog has this form.
    pub fn new(form: WatchdogForm) -> Arc<Self> {
        let now_ns = AtomicU64::new(0);
        let hand = Arc::new(Hand { now_ns, programmed_ns: AtomicU64::new(NEVER) });
        let base = HrtimerBase::new(0, hand.clone(), hand.clone());
        let state = QdiscState::new();
        let watchdog = QdiscWatchdog::new(0, form, &base, &state);
        let fq = Fq::new(FqOptions::default(), hand.clone(), watchdog.clone());
        Arc::new(Self { qdisc: Qdisc::new(state, watchdog, fq), hand, base })
    }

    /// A queue of 6.12.
    pub fn v6_12() -> Arc<Self> {
        Self::new(WatchdogForm::V6_12)
    }

    /// One attribute is set.
    pub fn set(&self, kind: u16, value: u32) {
        let mut options = Vec::new();
        put_u32(&mut options, kind, value);
        let _ = self.qdisc.change(&options);
    }

    /// Time goes on to here, without an interrupt.
    pub fn at(&self, now_ns: u64) {
        self.hand.now_ns.store(now_ns, Release);
    }

    /// A packet is sent.
    pub fn xmit(&self, packet: Packet) {
        self.qdisc.xmit(packet, &mut |_, _| {});
    }

    /// The CPU that the timer interrupts runs its softirqs.
    pub fn softirq(&self) {
        while self.qdisc.state().is_scheduled() {
            cpu::in_softirq(|| self.qdisc.net_tx_action(&mut |_, _| {}));
        }
    }

    /// The hardware interrupts, so much later than it was programmed to; whether it was.
    pub fn fire_late(&self, late_ns: u64) -> bool {
        let at_ns = self.hand.programmed_ns.swap(NEVER, AcqRel);
        if at_ns == NEVER {
            return false;
        }
        self.interrupt(at_ns.saturating_add(late_ns));
        true
    }

    fn interrupt(&self, at_ns: u64) {
        let _ = self.hand.now_ns.update(AcqRel, |now_ns| (at_ns > now_ns).then_some(at_ns));
        cpu::in_hardirq(|| self.base.interrupt());
        self.softirq();
    }

    /// The hardware's interrupts, up to `times`, on CPU 0, until it is taken away.
    pub fn hardware(self: &Arc<Self>, times: u32) -> JoinHandle {
        let house = self.clone();
        thread::spawn(0, move || {
            for _ in 0..times {
                let at_ns = house.hand.programmed_ns.wait(Acquire, |ns| ns != NEVER);
                if at_ns == GONE {
                    return;
                }
                // It may have been programmed to another time meanwhile.
                let word = &house.hand.programmed_ns;
                if word.compare_exchange(at_ns, NEVER, AcqRel, Acquire).is_ok() {
                    house.interrupt(at_ns);
                }
            }
        })
    }

    /// Nobody else runs any more: what is left of the hardware's interrupts comes, and all is told.
    pub fn finish(&self, hardware: Option<JoinHandle>) {
        if let Some(hardware) = hardware {
            let left_ns = self.hand.programmed_ns.swap(GONE, AcqRel);
            hardware.join();
            // Unless an interrupt that was under way has programmed it again.
            let _ = self.hand.programmed_ns.compare_exchange(GONE, left_ns, AcqRel, Acquire);
        }
        let mut fires = 0;
        while fires < FIRES_MAX && self.fire_late(0) {
            fires += 1;
        }
        self.softirq();
        self.qdisc.with(|fq| fq.tell_counts());
        emit(Event::Sched(Sched::Rest { qdisc: 0 }));
    }
}
