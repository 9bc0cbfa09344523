//! A context is deleted in atomic context.
//!
//! Since the core hashes every context, deleting one waits for a grace period. Drivers that
//! deleted theirs with BH off or under a spinlock had been right until then, and sleep in
//! atomic context from then on.
//!
//! Origin     Linux 93d05d4a320c, net: provide generic busy polling to all NAPI drivers (2015)
//! Rule       CONTEXT
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-5` prints

use crate::scenarios::STOP_TWICE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-5",
    title: "A context is deleted in atomic context",
    story: "Since the core hashes every context, deleting one waits for a grace period. \
        Drivers that deleted theirs with BH off or under a spinlock had been right until \
        then, and sleep in atomic context from then on.",
    origin: "Linux 93d05d4a320c, net: provide generic busy polling to all NAPI drivers (2015)",
    rule: "CONTEXT",
    scenario: &STOP_TWICE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
