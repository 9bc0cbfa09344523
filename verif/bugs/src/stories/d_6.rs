//! D-6: The type of a packet is read from a fragment that was freed.
//!
//! A fragment that holds the Ethernet header and no more is given back when the header is copied.
//! The type is read from it afterwards.
//!
//! Origin     Linux a4270d6795b0, net-gro: fix use-after-free read in napi_gro_frags() (2019)
//! Rule       BUFFER-OWNERSHIP
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-6` prints

use crate::scenarios::FRAGS_SHORT;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-6",
    title: "The type of a packet is read from a fragment that was freed",
    story: "A fragment that holds the Ethernet header and no more is given back when the header \
        is copied. The type is read from it afterwards.",
    origin: "Linux a4270d6795b0, net-gro: fix use-after-free read in napi_gro_frags() (2019)",
    rule: "BUFFER-OWNERSHIP",
    scenario: &FRAGS_SHORT,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
