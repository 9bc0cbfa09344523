//! G-13: An event of several packets counts as one.
//!
//! An event tells how far the ring was filled, in four bits. A driver that takes one descriptor for
//! each event falls behind, and the bits of the next event mean something else.
//!
//! Origin     DPDK 3be2268435, net/sfc: avoid usage of prepared packets number in EF10 Rx (2018);
//!            Linux ef10.c
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check G-13` prints

use crate::scenarios::SFC_MERGED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "G-13",
    title: "An event of several packets counts as one",
    story: "An event tells how far the ring was filled, in four bits. A driver that takes one \
        descriptor for each event falls behind, and the bits of the next event mean something \
        else.",
    origin: "DPDK 3be2268435, net/sfc: avoid usage of prepared packets number in EF10 Rx (2018); \
        Linux ef10.c",
    rule: "NO-LOST-WORK",
    scenario: &SFC_MERGED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
