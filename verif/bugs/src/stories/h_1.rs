//! H-1: The watchdog is started after the qdisc was deactivated.
//!
//! A softirq that was under way when the device went down asked the watchdog for another turn,
//! after its timer had been cancelled. The timer then ran a discipline that was gone. The
//! watchdog has to look whether its discipline is in use.
//!
//! Origin     Linux 2540e0511ea1, pkt_sched: Fix qdisc_watchdog vs. dev_deactivate race (2008)
//! Rule       TIMER-WINDOW
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-1` prints

use crate::scenarios::FQ_FIRE_DEACTIVATE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-1",
    title: "The watchdog is started after the qdisc was deactivated",
    story: "A softirq that was under way when the device went down asked the watchdog for \
        another turn, after its timer had been cancelled. The timer then ran a discipline \
        that was gone. The watchdog has to look whether its discipline is in use.",
    origin: "Linux 2540e0511ea1, pkt_sched: Fix qdisc_watchdog vs. dev_deactivate race (2008)",
    rule: "TIMER-WINDOW",
    scenario: &FQ_FIRE_DEACTIVATE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
