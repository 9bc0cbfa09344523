//! The figures of "net_sched: allow use of hrtimer slack" (March 2020) beside the simulation.
//!
//! Published are interrupts a second of a whole machine before and after: nine steady rows of
//! `vmstat` each. How many queues it had is not told, nor what else interrupted. So the rest is
//! fitted on "before", queue number by queue number, and "after" is the one prediction.

use crate::load::{send, Feed, Load, Sent};
use crate::nic::{send_through_82599, OnNic};
use pollproof_bench::timed::TimedError;
use pollproof_sched::WatchdogForm;

/// Interrupts a second before: the mean of nine rows.
pub const PUBLISHED_BEFORE: f64 = 1_566_550.0;
/// After.
pub const PUBLISHED_AFTER: f64 = 980_573.0;
/// Queues that are tried.
pub const QUEUES: [u64; 6] = [1, 2, 4, 6, 8, 16];
/// Slacks that are tried, in nanoseconds.
pub const SLACKS: [u32; 8] = [0, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];
/// Longest time from a packet's hand-over to its departure, where it is random.
pub const LEAD_NS: u64 = 100_000;

/// A number of queues.
pub struct QueueRow {
    /// Queues.
    pub queues: u64,
    /// Without slack.
    pub before: Sent,
    /// With 10 us.
    pub after: Sent,
}

impl QueueRow {
    /// Interrupts a second of everything else: fitted, so that "before" is as published.
    pub fn other(&self) -> f64 {
        PUBLISHED_BEFORE - self.before.per_second(self.before.interrupts)
    }

    /// Interrupts a second with slack: predicted.
    pub fn predicted(&self) -> f64 {
        self.other() + self.after.per_second(self.after.interrupts)
    }

    /// By how much the prediction is off, as a fraction.
    pub fn error(&self) -> f64 {
        self.predicted() / PUBLISHED_AFTER - 1.0
    }

    /// Timers a second by the formula for packets that are due at random: l / (1 + l d) a queue.
    pub fn formula(&self) -> f64 {
        let rate = 1e6 / self.queues as f64;
        1e6 / (1.0 + rate * 10e-6)
    }
}

/// The sweep over queues.
pub fn queues(load: &Load) -> Vec<QueueRow> {
    let row = |queues| {
        let with = |slack_ns| send(&Load { queues, slack_ns, ..*load });
        QueueRow { queues, before: with(0), after: with(10_000) }
    };
    QUEUES.into_iter().map(row).collect()
}

/// The sweep over slacks, for a number of queues.
pub fn slacks(load: &Load, queues: u64) -> Vec<(u32, Sent)> {
    SLACKS
        .into_iter()
        .map(|slack_ns| (slack_ns, send(&Load { queues, slack_ns, ..*load })))
        .collect()
}

/// Each form of the watchdog, where packets come in another order than they are due.
pub fn forms(load: &Load, queues: u64) -> Vec<(WatchdogForm, Sent)> {
    let feed = Feed::Ahead { lead_ns: LEAD_NS };
    let run = |form| (form, send(&Load { queues, form, feed, ..*load }));
    WatchdogForm::ALL.into_iter().map(run).collect()
}

/// One of so many queues through the transmit ring of an 82599, without slack and with 10 us.
pub fn through_82599(load: &Load, queues: u64) -> Result<Vec<(u32, OnNic)>, TimedError> {
    let run = |slack_ns| {
        send_through_82599(&Load { queues, slack_ns, ..*load }).map(|on_nic| (slack_ns, on_nic))
    };
    [0, 10_000].into_iter().map(run).collect()
}
