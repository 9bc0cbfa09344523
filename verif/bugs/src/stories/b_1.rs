//! B-1: A context is disabled with BH off, and the queue's lock does not stay disabled.
//!
//! The driver turned BH off to take the busy-poll lock the way NAPI does, and called napi_disable
//! inside: it may sleep. And giving the lock back let later pollers in.
//!
//! Origin     Linux 27d9ce4fd0e2, ixgbe: fix qv_lock_napi call in ixgbe_napi_disable_all (2013)
//! Rule       CONTEXT
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-1` prints

use crate::scenarios::IXGBE_BUSY_POLL_CLOSE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-1",
    title: "A context is disabled with BH off, and the queue's lock does not stay disabled",
    story: "The driver turned BH off to take the busy-poll lock the way NAPI does, and called \
        napi_disable inside: it may sleep. And giving the lock back let later pollers in.",
    origin: "Linux 27d9ce4fd0e2, ixgbe: fix qv_lock_napi call in ixgbe_napi_disable_all \
        (2013)",
    rule: "CONTEXT",
    scenario: &IXGBE_BUSY_POLL_CLOSE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
