//! A socket keeps a raw pointer to a context that is gone.
//!
//! Packets and sockets of the first versions carried the NAPI context itself. Unloading the driver
//! frees it, and the next busy poll of the socket uses freed memory. An id that is looked up under
//! RCU gives the live context or nothing.
//!
//! Origin     ll_poll series, changelog of v4 and v5 (2013)
//! Rule       LIFETIME
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-1` prints

use crate::scenarios::BUSY_POLL_FREE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-1",
    title: "A socket keeps a raw pointer to a context that is gone",
    story: "Packets and sockets of the first versions carried the NAPI context itself. \
        Unloading the driver frees it, and the next busy poll of the socket uses freed \
        memory. An id that is looked up under RCU gives the live context or nothing.",
    origin: "ll_poll series, changelog of v4 and v5 (2013)",
    rule: "LIFETIME",
    scenario: &BUSY_POLL_FREE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
