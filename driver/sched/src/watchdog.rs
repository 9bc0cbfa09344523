//! The qdisc watchdog, after `net/sched/sch_api.c` of Linux: a timer that makes the device's queue
//! run again when the first delayed packet is due.
//!
//! Four forms: before the series of March 2020, with its first patch, with its second, and as in
//! 6.12. When two deadlines lie close together the later forms leave a queued timer as it is.

use crate::hrtimer::{Hrtimer, HrtimerBase};
use crate::sch::QdiscState;
use pollproof_events::{emit, Event, HrtimerId, Sched};
use pollproof_sync::{bug, PlainU64, What};
use std::sync::Arc;

/// Which kernel's watchdog it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchdogForm {
    /// Before the series: exact expiry; the same expiry again is taken as already set.
    Exact,
    /// Patch 1: a slack; the same test.
    Range,
    /// Patch 2: a timer that is queued and was last asked to fire within the window stays.
    LastExpires,
    /// 6.12: the same, but asks the timer.
    V6_12,
}

impl WatchdogForm {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Range, Self::LastExpires, Self::V6_12];

    /// So many slacks can pass between the deadline and the timer.
    pub fn slacks(self) -> u64 {
        match self {
            Self::Exact => 0,
            Self::Range => 1,
            Self::LastExpires | Self::V6_12 => 2,
        }
    }

    /// Whether the timer stays as it is, when asked to fire in [`expires_ns`, `expires_ns` +
    /// `delta_ns`].
    pub fn keeps(self, timer: TimerState, expires_ns: u64, delta_ns: u64) -> bool {
        let TimerState { queued, last_expires_ns, softexpires_ns } = timer;
        match self {
            Self::Range if bug("H-4") => queued && in_window(softexpires_ns, expires_ns, delta_ns),
            Self::Exact | Self::Range => last_expires_ns == expires_ns,
            Self::LastExpires => {
                (queued || bug("H-2")) && in_window(last_expires_ns, expires_ns, delta_ns)
            }
            Self::V6_12 => queued && in_window(softexpires_ns, expires_ns, delta_ns),
        }
    }
}

/// What a decision is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerState {
    /// `hrtimer_is_queued`.
    pub queued: bool,
    /// What the watchdog was last asked for.
    pub last_expires_ns: u64,
    /// `hrtimer_get_softexpires`.
    pub softexpires_ns: u64,
}

/// Whether a timer at `at_ns` is within [`expires_ns`, `expires_ns` + `delta_ns`]: one unsigned
/// difference, since for an earlier timer it wraps and is too large. A window that goes beyond the
/// end of time goes on at its beginning.
pub fn in_window(at_ns: u64, expires_ns: u64, delta_ns: u64) -> bool {
    let late_ns = at_ns.wrapping_sub(expires_ns);
    if bug("H-3") {
        return late_ns as i64 <= delta_ns as i64;
    }
    late_ns <= delta_ns
}

/// A watchdog.
pub struct QdiscWatchdog {
    form: WatchdogForm,
    base: Arc<HrtimerBase>,
    timer: Arc<Hrtimer>,
    qdisc: Arc<QdiscState>,
    /// Of the holder of the qdisc's lock.
    last_expires_ns: PlainU64,
}

impl QdiscWatchdog {
    /// `qdisc_watchdog_init`.
    pub fn new(
        id: HrtimerId,
        form: WatchdogForm,
        base: &Arc<HrtimerBase>,
        qdisc: &Arc<QdiscState>,
    ) -> Arc<Self> {
        let root = qdisc.clone();
        let timer = Hrtimer::new(id, Box::new(move || root.netif_schedule()));
        let what = What { rule: "SINGLE-CONSUMER", name: "last_expires" };
        let last_expires_ns = PlainU64::new(0, what);
        Arc::new(Self { form, base: base.clone(), timer, qdisc: qdisc.clone(), last_expires_ns })
    }

    /// Its timer.
    pub fn timer(&self) -> HrtimerId {
        self.timer.id()
    }

    /// Its form.
    pub fn form(&self) -> WatchdogForm {
        self.form
    }

    /// `qdisc_watchdog_schedule_range_ns`: runs the qdisc in [`expires_ns`, `expires_ns` +
    /// `delta_ns`]. To be called with the qdisc's lock held.
    pub fn schedule_range_ns(&self, expires_ns: u64, delta_ns: u64) {
        if self.qdisc.is_deactivated() && !bug("H-1") {
            return;
        }
        let slack_ns = if self.form == WatchdogForm::Exact { 0 } else { delta_ns };
        let state = TimerState {
            last_expires_ns: self.last_expires_ns.get(),
            softexpires_ns: self.timer.softexpires_ns(),
            queued: self.timer.is_queued(),
        };
        let kept = self.form.keeps(state, expires_ns, slack_ns);
        let timer = self.timer.id();
        emit(Event::Sched(Sched::Watchdog { timer, expires_ns, slack_ns, kept }));
        if !kept {
            self.last_expires_ns.set(expires_ns);
            self.base.start_range_ns(&self.timer, expires_ns, slack_ns);
        }
    }

    /// `qdisc_watchdog_cancel`: when it returns the timer neither is queued nor runs.
    pub fn cancel(&self) {
        self.base.cancel(&self.timer);
    }
}
