//! H-4: A timer that is kept is late by two slacks.
//!
//! A timer that is queued a slack after the new deadline was itself given a slack when it was
//! started. Leaving it, as the second patch does, delays a packet by up to twice the slack; its
//! text says so. Whoever promised one slack must not have that test.
//!
//! Origin     Linux series of March 2020, patch 2, as its own text has it
//! Rule       SLACK-BOUND
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-4` prints

use crate::scenarios::FQ_SLACK_ONCE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-4",
    title: "A timer that is kept is late by two slacks",
    story: "A timer that is queued a slack after the new deadline was itself given a slack when \
        it was started. Leaving it, as the second patch does, delays a packet by up to twice \
        the slack; its text says so. Whoever promised one slack must not have that test.",
    origin: "Linux series of March 2020, patch 2, as its own text has it",
    rule: "SLACK-BOUND",
    scenario: &FQ_SLACK_ONCE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
