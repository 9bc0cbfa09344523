//! D-19: Pages of a pool and others are merged.
//!
//! What is merged is freed in the manner of its first packet. A page that is none of the pool's
//! goes to the pool.
//!
//! Origin     Linux, skb: Do mix page pool and page referenced frags in GRO (2023)
//! Rule       REF-BALANCE
//! Certainty  recalled
//! Replay     pollproof replay the token that `pollproof check D-19` prints

use crate::scenarios::GRO_POOLS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-19",
    title: "Pages of a pool and others are merged",
    story: "What is merged is freed in the manner of its first packet. A page that is none of the \
        pool's goes to the pool.",
    origin: "Linux, skb: Do mix page pool and page referenced frags in GRO (2023)",
    rule: "REF-BALANCE",
    scenario: &GRO_POOLS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
