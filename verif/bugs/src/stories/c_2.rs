//! C-2: A poll with budget 0 returns more than 0.
//!
//! netpoll polls with budget 0, for transmit completions only. A queue that is not clean answered
//! with a number that means "poll me again", which is more than the budget.
//!
//! Origin     Linux, igb: fix netpoll exit with traffic (2021)
//! Rule       NAPI-BUDGET
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-2` prints

use crate::scenarios::NETPOLL;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-2",
    title: "A poll with budget 0 returns more than 0",
    story: "netpoll polls with budget 0, for transmit completions only. A queue that is not \
        clean answered with a number that means \"poll me again\", which is more than the \
        budget.",
    origin: "Linux, igb: fix netpoll exit with traffic (2021)",
    rule: "NAPI-BUDGET",
    scenario: &NETPOLL,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
