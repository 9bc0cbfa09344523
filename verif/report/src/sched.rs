//! What a packet scheduler and its timers do, in a few words.

use pollproof_events::{Sched, NEVER};

/// Whether it is about a timer.
pub(crate) fn is_timer(event: &Sched) -> bool {
    use Sched::*;
    matches!(
        event,
        TimerStart { .. }
            | TimerExpire { .. }
            | TimerDone { .. }
            | TimerCancel { .. }
            | TimerProgram { .. }
    )
}

/// An event in a few words.
pub(crate) fn text(event: &Sched) -> String {
    use Sched::*;
    match *event {
        Promise(p) => format!("late by {} x {} ns at most", p.slacks, p.slack_ns),
        Enqueue(p) => {
            format!("packet {} of flow {:#x} queued for {} ns", p.packet, p.flow, p.departs_ns)
        }
        Drop { packet, why, .. } => format!("packet {packet} dropped: {why}"),
        Dequeue { packet, now_ns, .. } => format!("packet {packet} leaves at {now_ns} ns"),
        Throttle { flow, until_ns, .. } => format!("flow {flow:#x} waits until {until_ns} ns"),
        Unthrottle { flow, .. } => format!("flow {flow:#x} goes on"),
        Nothing { now_ns, .. } => format!("no packet at {now_ns} ns"),
        Stuck { rounds, .. } => format!("no packet in {rounds} rounds"),
        Reset { .. } => "packets and flows thrown away".into(),
        Active { active: true, .. } => "activated".into(),
        Active { .. } => "deactivated".into(),
        Run { .. } => "the softirq runs it".into(),
        Watchdog { expires_ns, slack_ns, kept, .. } => {
            let what = if kept { "leaves the timer" } else { "sets the timer" };
            format!("wants {expires_ns} ns + {slack_ns}: {what}")
        }
        TimerStart { soft_ns, hard_ns, .. } => format!("timer in {soft_ns} to {hard_ns} ns"),
        TimerExpire { now_ns, .. } => format!("timer expires at {now_ns} ns"),
        TimerDone { .. } => "its callback returns".into(),
        TimerCancel { .. } => "timer cancelled".into(),
        TimerProgram { expires_ns: NEVER, .. } => "hardware off".into(),
        TimerProgram { expires_ns, .. } => format!("hardware at {expires_ns} ns"),
        Counts { kept, .. } => format!("counted: {} packets, {} flows", kept.qlen, kept.flows),
        Attr { kind, value, len, .. } => format!("attribute {kind} is {value}, {len} B"),
        Dump { kind, value, .. } => format!("dump: attribute {kind} is {value}"),
        NextDelayed { told_ns, .. } => format!("next flow in {told_ns} ns"),
        Rest { .. } => "rest".into(),
    }
}
