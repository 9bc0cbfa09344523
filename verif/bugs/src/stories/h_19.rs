//! H-19: Each late timer costs rate.
//!
//! The time of a flow's next packet was counted from when the last one left, not from when it
//! should have. Every delay of timer and scheduler was added to the gap, and fast flows lost a
//! good part of their rate.
//!
//! Origin     Linux fefa569a9d4b, net_sched: sch_fq: account for schedule/timers drifts (2016)
//! Rule       RATE-BOUND
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-19` prints

use crate::scenarios::FQ_DRIFT;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-19",
    title: "Each late timer costs rate",
    story: "The time of a flow's next packet was counted from when the last one left, not from \
        when it should have. Every delay of timer and scheduler was added to the gap, and \
        fast flows lost a good part of their rate.",
    origin: "Linux fefa569a9d4b, net_sched: sch_fq: account for schedule/timers drifts (2016)",
    rule: "RATE-BOUND",
    scenario: &FQ_DRIFT,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
