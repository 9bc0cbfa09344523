//! H-3: A signed difference keeps a timer that is too early.
//!
//! The range test is one unsigned difference, which wraps for a timer that is queued earlier
//! than the window, so that it is moved. Written with signed numbers it keeps any earlier
//! timer.
//!
//! Origin     Linux series of March 2020, patch 2; a rewrite of its test that looks the same
//! Rule       TIMER-WINDOW
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-3` prints

use crate::scenarios::FQ_WINDOW;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-3",
    title: "A signed difference keeps a timer that is too early",
    story: "The range test is one unsigned difference, which wraps for a timer that is queued \
        earlier than the window, so that it is moved. Written with signed numbers it keeps \
        any earlier timer.",
    origin: "Linux series of March 2020, patch 2; a rewrite of its test that looks the same",
    rule: "TIMER-WINDOW",
    scenario: &FQ_WINDOW,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
