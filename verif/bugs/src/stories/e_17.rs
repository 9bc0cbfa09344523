//! E-17: A read of the causes masks the queues, and nobody opens them.
//!
//! The legacy line is shared. The handler reads the causes, which masks the queues by EIAM, finds
//! that it was another device, and returns: the next frame of its own interrupts nobody.
//!
//! Origin     Linux f47cf66e9cc7, ixgbe: fix bug with shared interrupts (2008)
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-17` prints

use crate::scenarios::IXGBE_SHARED_LINE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-17",
    title: "A read of the causes masks the queues, and nobody opens them",
    story: "The legacy line is shared. The handler reads the causes, which masks the queues by \
        EIAM, finds that it was another device, and returns: the next frame of its own \
        interrupts nobody.",
    origin: "Linux f47cf66e9cc7, ixgbe: fix bug with shared interrupts (2008)",
    rule: "NO-LOST-WORK",
    scenario: &IXGBE_SHARED_LINE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
