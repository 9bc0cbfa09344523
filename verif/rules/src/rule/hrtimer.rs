//! `TIMER-WINDOW` and the timers' part of `NEVER-EARLY` and `SLACK-BOUND`: when timers may fire.
//!
//! The rule keeps by itself which timers are queued, in which window, and whose callback runs.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::FewMap;
use pollproof_events::{Event, HrtimerId, QdiscId, Record, Sched, NEVER};

const WINDOW: &str = "TIMER-WINDOW";
const EARLY: &str = "NEVER-EARLY";
const SLACK: &str = "SLACK-BOUND";

#[derive(Default)]
struct Timer {
    /// Soft and hard expiry of the last start.
    window: (u64, u64),
    queued: bool,
    /// Its callback runs.
    running: bool,
    /// Its callback has scheduled the discipline, which was not run since.
    owed: bool,
    /// Discipline of which it is the watchdog.
    qdisc: Option<QdiscId>,
    /// How many slacks it may be late.
    slacks: u64,
    /// Its discipline is not in use.
    inactive: bool,
    /// A watchdog said that it starts the timer so.
    wanted: Option<(u64, u64)>,
}

/// State: timers.
#[derive(Default)]
pub(crate) struct Hrtimers {
    timers: FewMap<HrtimerId, Timer>,
    /// Watchdog of each discipline.
    watchdogs: FewMap<QdiscId, HrtimerId>,
}

/// Whether `at` is in [`from`, `from` + `len`], where time goes on at its beginning.
fn is_in(at: u64, from: u64, len: u64) -> bool {
    let (at, from, len) = (u128::from(at), u128::from(from), u128::from(len));
    let holds = |at: u128| at >= from && at <= from + len;
    holds(at) || holds(at + (1 << 64))
}

impl Rule for Hrtimers {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let Event::Sched(event) = record.event else { return };
        match event {
            Sched::Promise(promise) => {
                let timer = self.timers.entry(promise.timer);
                (timer.qdisc, timer.slacks) = (Some(promise.qdisc), promise.slacks);
                self.watchdogs.insert(promise.qdisc, promise.timer);
            }
            Sched::Active { qdisc, active } => {
                if let Some(timer) = self.watchdog_of(qdisc) {
                    timer.inactive = !active;
                }
            }
            Sched::Watchdog { timer, expires_ns, slack_ns, kept } => {
                self.timers.entry(timer).asked(expires_ns, slack_ns, kept, record, verdicts);
            }
            Sched::TimerStart { timer, soft_ns, hard_ns } => {
                self.timers.entry(timer).started((soft_ns, hard_ns), record, verdicts);
            }
            Sched::TimerExpire { timer, now_ns } => {
                self.timers.entry(timer).expired(now_ns, record, verdicts);
            }
            Sched::TimerDone { timer } => {
                let timer = self.timers.entry(timer);
                (timer.running, timer.owed) = (false, true);
            }
            Sched::Run { qdisc } => {
                if let Some(timer) = self.watchdog_of(qdisc) {
                    timer.owed = false;
                }
            }
            Sched::TimerCancel { timer } => self.cancelled(timer, record, verdicts),
            Sched::TimerProgram { expires_ns, first_ns, .. } if expires_ns != first_ns => {
                let message = format!(
                    "the hardware interrupts at {expires_ns} ns, the first timer must fire by \
                     {first_ns} ns"
                );
                verdicts.broken(WINDOW, record, message);
            }
            _ => {}
        }
    }
}

impl Hrtimers {
    fn watchdog_of(&mut self, qdisc: QdiscId) -> Option<&mut Timer> {
        let id = *self.watchdogs.get(qdisc)?;
        self.timers.get_mut(id)
    }

    fn cancelled(&mut self, timer: HrtimerId, record: &Record, verdicts: &mut Verdicts) {
        let timer = self.timers.entry(timer);
        if timer.running {
            let message = "a cancel returned while the timer's callback runs".into();
            verdicts.broken(WINDOW, record, message);
        }
        timer.queued = false;
        verdicts.reach(WINDOW, "cancelled");
    }
}

impl Timer {
    /// A watchdog left the timer as it is, or will start it.
    fn asked(
        &mut self,
        expires_ns: u64,
        slack_ns: u64,
        kept: bool,
        record: &Record,
        verdicts: &mut Verdicts,
    ) {
        if !kept {
            self.wanted = Some((expires_ns, slack_ns));
            return;
        }
        verdicts.reach(WINDOW, "kept");
        let (soft_ns, hard_ns) = self.window;
        // One that just expired has the discipline run, by its callback and then by the softirq.
        if !self.queued && !self.running && !self.owed {
            let message = format!("asked for {expires_ns} ns, it leaves a timer that is not set");
            verdicts.broken(WINDOW, record, message);
        } else if !is_in(soft_ns, expires_ns, slack_ns) {
            let message = format!(
                "asked for {expires_ns} ns with a slack of {slack_ns}, it leaves a timer that is \
                 set to {soft_ns} ns"
            );
            verdicts.broken(WINDOW, record, message);
        }
        self.is_late(hard_ns, expires_ns, slack_ns, record, verdicts);
    }

    fn is_late(&self, hard_ns: u64, due_ns: u64, slack_ns: u64, r: &Record, v: &mut Verdicts) {
        // The timer may have been started with another slack, before a change.
        let own_ns = slack_ns.max(self.window.1.saturating_sub(self.window.0));
        let kept_ns = slack_ns.saturating_mul(self.slacks.saturating_sub(1));
        let most_ns = match self.slacks {
            0 => due_ns,
            _ => due_ns.saturating_add(kept_ns).saturating_add(own_ns),
        };
        if hard_ns > most_ns && self.qdisc.is_some() {
            let message = format!(
                "a packet is due at {due_ns} ns and its timer fires as late as {hard_ns} ns: more \
                 than {} x {slack_ns} ns",
                self.slacks
            );
            v.broken(SLACK, r, message);
        }
    }

    fn started(&mut self, window: (u64, u64), record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(WINDOW, "started");
        if self.inactive {
            let message = "the timer of a discipline that is not in use is started".into();
            verdicts.broken(WINDOW, record, message);
        }
        if let Some((expires_ns, slack_ns)) = self.wanted.take() {
            let wanted = (expires_ns, expires_ns.saturating_add(slack_ns));
            if window != wanted {
                let message = format!("a timer wanted in {wanted:?} ns is set to {window:?}");
                verdicts.broken(WINDOW, record, message);
            }
            self.window = wanted;
            self.is_late(window.1, expires_ns, slack_ns, record, verdicts);
        }
        (self.window, self.queued) = (window, true);
    }

    fn expired(&mut self, now_ns: u64, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(EARLY, "timer");
        if !self.queued {
            let message = "a timer expires that is not queued".into();
            verdicts.broken(WINDOW, record, message);
        }
        if now_ns < self.window.0 {
            let message = format!("a timer fires at {now_ns} ns, before {} ns", self.window.0);
            verdicts.broken(EARLY, record, message);
        }
        if self.inactive && self.window.1 != NEVER {
            // It may be under way while the discipline is put out of use, until its cancel.
            verdicts.reach(WINDOW, "late");
        }
        (self.queued, self.running) = (false, true);
    }
}
