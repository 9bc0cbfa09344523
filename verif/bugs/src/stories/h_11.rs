//! H-11: One band too few is looked at.
//!
//! The dequeue goes on to the next band until it has seen all of them without flows. Counted
//! one too low it gives up before it comes back to the band it began with, which may be the
//! only one with packets and may only have lacked credit.
//!
//! Origin     Linux, net_sched: sch_fq: fix off-by-one error in fq_dequeue (2023)
//! Rule       QDISC-PROGRESS
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-11` prints

use crate::scenarios::FQ_BANDS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-11",
    title: "One band too few is looked at",
    story: "The dequeue goes on to the next band until it has seen all of them without flows. \
        Counted one too low it gives up before it comes back to the band it began with, \
        which may be the only one with packets and may only have lacked credit.",
    origin: "Linux, net_sched: sch_fq: fix off-by-one error in fq_dequeue (2023)",
    rule: "QDISC-PROGRESS",
    scenario: &FQ_BANDS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
