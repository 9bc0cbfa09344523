//! D-3: A merged packet keeps its owner.
//!
//! A packet that becomes part of another loses its destructor, since nobody calls it any more, and
//! keeps the socket that it was charged to. Whoever takes the whole apart finds an owner without a
//! destructor.
//!
//! Origin     Linux ed4cccef64c1, gro: fix ownership transfer (2024)
//! Rule       SKB-OWNER
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-3` prints

use crate::scenarios::GRO_OWNED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-3",
    title: "A merged packet keeps its owner",
    story: "A packet that becomes part of another loses its destructor, since nobody calls it any \
        more, and keeps the socket that it was charged to. Whoever takes the whole apart finds an \
        owner without a destructor.",
    origin: "Linux ed4cccef64c1, gro: fix ownership transfer (2024)",
    rule: "SKB-OWNER",
    scenario: &GRO_OWNED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
