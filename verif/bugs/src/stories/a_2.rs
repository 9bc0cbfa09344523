//! The counter of ids wraps onto reserved and taken ids.
//!
//! The counter that issues ids wraps around after a while. Taking whatever comes next then issues
//! the reserved id 0, or one that an old context still holds, and sockets poll somebody else's
//! queue.
//!
//! Origin     ll_poll series, changelog of v7 (2013): collision avoidance in napi_hash_add
//! Rule       NAPI-ID
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-2` prints

use crate::scenarios::ID_WRAP;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-2",
    title: "Two live contexts get one id when the counter wraps",
    story: "The counter that issues ids wraps around after a while. Taking whatever comes \
        next then issues the reserved id 0, or one that an old context still holds, and \
        sockets poll somebody else's queue.",
    origin: "ll_poll series, changelog of v7 (2013): collision avoidance in napi_hash_add",
    rule: "NAPI-ID",
    scenario: &ID_WRAP,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
