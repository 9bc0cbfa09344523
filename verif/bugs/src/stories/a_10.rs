//! A context is disabled twice.
//!
//! Two routes of a teardown disable the same context. The second one waits for an owner to give
//! it up, and the owner is the first disable. A port that is down already must not be closed
//! again.
//!
//! Origin     net: tun: avoid disabling NAPI twice (2022); the same shape here on mlx4's stop
//! Rule       NAPI-LIFECYCLE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-10` prints

use crate::scenarios::STOP_TWICE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-10",
    title: "A context is disabled twice",
    story: "Two routes of a teardown disable the same context. The second one waits for an \
        owner to give it up, and the owner is the first disable. A port that is down \
        already must not be closed again.",
    origin: "net: tun: avoid disabling NAPI twice (2022); the same shape here on mlx4's stop",
    rule: "NAPI-LIFECYCLE",
    scenario: &STOP_TWICE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
