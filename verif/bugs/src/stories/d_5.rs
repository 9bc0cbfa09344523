//! D-5: A packet that a tap has, too, goes into GRO.
//!
//! A virtual device gives GRO a packet of which somebody else has the bytes. GRO writes into it.
//!
//! Origin     Linux 9695b7de5b47, veth: ensure skb entering GRO are not cloned (2021)
//! Rule       GRO-EXCLUSIVE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-5` prints

use crate::scenarios::GRO_CLONED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-5",
    title: "A packet that a tap has, too, goes into GRO",
    story: "A virtual device gives GRO a packet of which somebody else has the bytes. GRO writes \
        into it.",
    origin: "Linux 9695b7de5b47, veth: ensure skb entering GRO are not cloned (2021)",
    rule: "GRO-EXCLUSIVE",
    scenario: &GRO_CLONED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
