//! D-25: A packet longer than the first is merged.
//!
//! What is merged is taken apart into packets of the size of the first. A longer one in between
//! comes out as two, and all behind it are cut elsewhere.
//!
//! Origin     Linux, net: gro: do not chain linear parts larger than gso_size into frag_list
//!            (6.12.117)
//! Rule       GRO-ROUND-TRIP
//! Certainty  reconstructed, in its simplest form
//! Replay     pollproof replay the token that `pollproof check D-25` prints

use crate::scenarios::GRO_SIZES;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-25",
    title: "A packet longer than the first is merged",
    story: "What is merged is taken apart into packets of the size of the first. A longer one in \
        between comes out as two, and all behind it are cut elsewhere.",
    origin: "Linux, net: gro: do not chain linear parts larger than gso_size into frag_list \
        (6.12.117)",
    rule: "GRO-ROUND-TRIP",
    scenario: &GRO_SIZES,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
