//! G-14: The score of a queue goes by the results of GRO.
//!
//! The hold-off of interrupts follows a score of received packets. Counted by what GRO says of each
//! packet it depends on whether they are merged and by which way they go up.
//!
//! Origin     The series of November 2018, sfc: use batched receive for GRO; own analysis
//! Rule       SCORE-TRUTH
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check G-14` prints

use crate::scenarios::SFC_GRO;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "G-14",
    title: "The score of a queue goes by the results of GRO",
    story: "The hold-off of interrupts follows a score of received packets. Counted by what GRO \
        says of each packet it depends on whether they are merged and by which way they go up.",
    origin: "The series of November 2018, sfc: use batched receive for GRO; own analysis",
    rule: "SCORE-TRUTH",
    scenario: &SFC_GRO,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
