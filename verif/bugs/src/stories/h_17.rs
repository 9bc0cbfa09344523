//! H-17: Small frames are never paced.
//!
//! A flow that came back after it was empty got its credit filled up each time. One that sends
//! small frames one at a time never used it up, and was never delayed. Credit is filled up only
//! after some idle time.
//!
//! Origin     Linux f52ed89971ad, pkt_sched: fq: fix pacing for small frames (2013)
//! Rule       RATE-BOUND
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-17` prints

use crate::scenarios::FQ_SMALL_FRAMES;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-17",
    title: "Small frames are never paced",
    story: "A flow that came back after it was empty got its credit filled up each time. One \
        that sends small frames one at a time never used it up, and was never delayed. \
        Credit is filled up only after some idle time.",
    origin: "Linux f52ed89971ad, pkt_sched: fq: fix pacing for small frames (2013)",
    rule: "RATE-BOUND",
    scenario: &FQ_SMALL_FRAMES,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
