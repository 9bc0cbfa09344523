//! C-1-IXGBE: A poll of several rings completes although one of them used its share.
//!
//! The budget is dealt out to the rings of a vector. A poll that completes although a ring used all
//! of its share leaves packets there with their cause cleared, and gives its context up while it
//! reports work that may equal the budget.
//!
//! Origin     Linux mlx4, 1a28817282 (November 2014); the same shape here in ixgbe_poll
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-1-IXGBE` prints

use crate::scenarios::IXGBE_MODERATION;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-1-IXGBE",
    title: "A poll of several rings completes although one of them used its share",
    story: "The budget is dealt out to the rings of a vector. A poll that completes although a \
        ring used all of its share leaves packets there with their cause cleared, and gives its \
        context up while it reports work that may equal the budget.",
    origin: "Linux mlx4, 1a28817282 (November 2014); the same shape here in ixgbe_poll",
    rule: "NO-LOST-WORK",
    scenario: &IXGBE_MODERATION,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
