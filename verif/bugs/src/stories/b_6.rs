//! B-6: A schedule that is refused is forgotten.
//!
//! Work comes while the context is owned, so its schedule is refused. The owner has looked at the
//! queue before that and completes. Nobody remembers that somebody wanted to come; MISSED does.
//!
//! Origin     Linux 39e6c8208d7b, net: solve a NAPI race (2017)
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-6` prints

use crate::scenarios::COMPLETE_SCHEDULE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-6",
    title: "A schedule that is refused is forgotten",
    story: "Work comes while the context is owned, so its schedule is refused. The owner has \
        looked at the queue before that and completes. Nobody remembers that somebody wanted \
        to come; MISSED does.",
    origin: "Linux 39e6c8208d7b, net: solve a NAPI race (2017)",
    rule: "NO-LOST-WORK",
    scenario: &COMPLETE_SCHEDULE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
