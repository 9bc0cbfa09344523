//! D-13: A packet leaves GRO with a link to itself.
//!
//! What GRO held is taken off its list by list_del_init. The same link is later walked as a chain
//! that ends in null, and this one never ends.
//!
//! Origin     Linux 68d2f84a1368, net: gro: properly remove skb from list (2018)
//! Rule       LIST-INTEGRITY
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-13` prints

use crate::scenarios::GRO_LINKS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-13",
    title: "A packet leaves GRO with a link to itself",
    story: "What GRO held is taken off its list by list_del_init. The same link is later walked \
        as a chain that ends in null, and this one never ends.",
    origin: "Linux 68d2f84a1368, net: gro: properly remove skb from list (2018)",
    rule: "LIST-INTEGRITY",
    scenario: &GRO_LINKS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
