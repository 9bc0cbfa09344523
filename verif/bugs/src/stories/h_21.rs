//! H-21: The fast path overtakes a flow that is due.
//!
//! A packet that is due goes past all flows if none of them is eligible. A flow whose time has
//! come, but at which nobody has looked since, counted as waiting: its next packet went before
//! it.
//!
//! Origin     Linux, net_sched: sch_fq: don't follow the fast path if Tx is behind now (2024)
//! Rule       FQ-ORDER
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-21` prints

use crate::scenarios::FQ_BEHIND;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-21",
    title: "The fast path overtakes a flow that is due",
    story: "A packet that is due goes past all flows if none of them is eligible. A flow whose \
        time has come, but at which nobody has looked since, counted as waiting: its next \
        packet went before it.",
    origin: "Linux, net_sched: sch_fq: don't follow the fast path if Tx is behind now (2024)",
    rule: "FQ-ORDER",
    scenario: &FQ_BEHIND,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
