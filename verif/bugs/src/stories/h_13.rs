//! H-13: Weights are taken from an array that is too short.
//!
//! The policy gave a greatest length instead of an exact one, so that three weights were read
//! from a payload with fewer.
//!
//! Origin     Linux, net_sched: sch_fq: better validate TCA_FQ_WEIGHTS and TCA_FQ_PRIOMAP
//!            (2023)
//! Rule       QDISC-CONFIG
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-13` prints

use crate::scenarios::FQ_LENGTHS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-13",
    title: "Weights are taken from an array that is too short",
    story: "The policy gave a greatest length instead of an exact one, so that three weights \
        were read from a payload with fewer.",
    origin: "Linux, net_sched: sch_fq: better validate TCA_FQ_WEIGHTS and TCA_FQ_PRIOMAP (2023)",
    rule: "QDISC-CONFIG",
    scenario: &FQ_LENGTHS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
