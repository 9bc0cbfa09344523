//! G-5: A poll leaves its list behind.
//!
//! The list of a poll is its own. A way out that is taken when the budget is used up leaves it with
//! the channel, and what is on it is of the next poll, or of nobody.
//!
//! Origin     Own analysis; Linux warns of a list that is left in efx_process_channel() (6.12), as
//!            the series of November 2018 does
//! Rule       LIST-SCOPE
//! Certainty  own analysis
//! Replay     pollproof replay the token that `pollproof check G-5` prints

use crate::scenarios::SFC_FULL_BUDGET;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "G-5",
    title: "A poll leaves its list behind",
    story: "The list of a poll is its own. A way out that is taken when the budget is used up \
        leaves it with the channel, and what is on it is of the next poll, or of nobody.",
    origin: "Own analysis; Linux warns of a list that is left in efx_process_channel() (6.12), as \
        the series of November 2018 does",
    rule: "LIST-SCOPE",
    scenario: &SFC_FULL_BUDGET,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
