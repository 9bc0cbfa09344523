//! H-7: A quantum of 0 never gives credit.
//!
//! A quantum of 0 was accepted. A flow whose credit is used up then gets nothing in its turn,
//! and the dequeue goes round for ever under the lock.
//!
//! Origin     Linux, pkt_sched: fq: do not accept silly TCA_FQ_QUANTUM (2020)
//! Rule       QDISC-PROGRESS
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-7` prints

use crate::scenarios::FQ_QUANTA;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-7",
    title: "A quantum of 0 never gives credit",
    story: "A quantum of 0 was accepted. A flow whose credit is used up then gets nothing in its \
        turn, and the dequeue goes round for ever under the lock.",
    origin: "Linux, pkt_sched: fq: do not accept silly TCA_FQ_QUANTUM (2020)",
    rule: "QDISC-PROGRESS",
    scenario: &FQ_QUANTA,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
