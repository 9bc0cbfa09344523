//! GRO-SEGS: A batch counts merged packets as one.
//!
//! A batch goes up when it has eight packets. If one that stands for many counts as one, the first
//! of them wait for far more than eight on the wire.
//!
//! Origin     Linux 8dc1c444df19, net: gro: fix gro_normal_batch overflow by counting segments
//!            (2021)
//! Rule       GRO-BATCH
//! Certainty  recalled
//! Replay     pollproof replay the token that `pollproof check GRO-SEGS` prints

use crate::scenarios::GRO_RUNS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "GRO-SEGS",
    title: "A batch counts merged packets as one",
    story: "A batch goes up when it has eight packets. If one that stands for many counts as one, \
        the first of them wait for far more than eight on the wire.",
    origin: "Linux 8dc1c444df19, net: gro: fix gro_normal_batch overflow by counting segments \
        (2021)",
    rule: "GRO-BATCH",
    scenario: &GRO_RUNS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
