//! H-12: A band in debt counts as a band without flows.
//!
//! With a small weight a long packet puts its band so far into debt that one turn does not pay
//! it off. Such a turn was counted as a band without flows; after three the dequeue gave up,
//! with packets queued and no timer set.
//!
//! Origin     Linux, net_sched: sch_fq: fix incorrect behavior for small weights (2024)
//! Rule       QDISC-PROGRESS
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-12` prints

use crate::scenarios::FQ_BANDS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-12",
    title: "A band in debt counts as a band without flows",
    story: "With a small weight a long packet puts its band so far into debt that one turn does \
        not pay it off. Such a turn was counted as a band without flows; after three the \
        dequeue gave up, with packets queued and no timer set.",
    origin: "Linux, net_sched: sch_fq: fix incorrect behavior for small weights (2024)",
    rule: "QDISC-PROGRESS",
    scenario: &FQ_BANDS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
