//! D-4: A merged packet takes its connection along.
//!
//! The short way of freeing a packet whose bytes went to another forgets what else it refers to.
//! The connection is never given back.
//!
//! Origin     Linux 8550ff8d8c75, skbuff: Release nfct refcount on napi stolen or re-used skbs
//!            (2021)
//! Rule       REF-BALANCE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-4` prints

use crate::scenarios::GRO_CONNECTIONS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-4",
    title: "A merged packet takes its connection along",
    story: "The short way of freeing a packet whose bytes went to another forgets what else it \
        refers to. The connection is never given back.",
    origin: "Linux 8550ff8d8c75, skbuff: Release nfct refcount on napi stolen or re-used skbs \
        (2021)",
    rule: "REF-BALANCE",
    scenario: &GRO_CONNECTIONS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
