//! D-15: A chain that is freed loses the packets of its other holder.
//!
//! Links are cleared before it is known whether the packet is freed. Whoever holds the chain, too,
//! finds its first packet alone, and the others are never freed.
//!
//! Origin     Linux f72ff8b81ebc, net: fix kfree_skb_list use of skb_mark_not_on_list (2023)
//! Rule       PACKET-CONSERVATION
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-15` prints

use crate::scenarios::LIST_SHARED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-15",
    title: "A chain that is freed loses the packets of its other holder",
    story: "Links are cleared before it is known whether the packet is freed. Whoever holds the \
        chain, too, finds its first packet alone, and the others are never freed.",
    origin: "Linux f72ff8b81ebc, net: fix kfree_skb_list use of skb_mark_not_on_list (2023)",
    rule: "PACKET-CONSERVATION",
    scenario: &LIST_SHARED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
