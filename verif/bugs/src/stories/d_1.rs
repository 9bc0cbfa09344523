//! D-1: What GRO completed overtakes what waits for a batch.
//!
//! Packets that are not merged wait for a full batch. A run that ends meanwhile goes up at once,
//! before packets of the same flow that came first.
//!
//! Origin     Linux c80794323e82, net: Fix packet reordering caused by GRO and listified RX
//!            cooperation (2020)
//! Rule       FLOW-ORDER
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check D-1` prints

use crate::scenarios::GRO_MIXED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-1",
    title: "What GRO completed overtakes what waits for a batch",
    story: "Packets that are not merged wait for a full batch. A run that ends meanwhile goes up \
        at once, before packets of the same flow that came first.",
    origin: "Linux c80794323e82, net: Fix packet reordering caused by GRO and listified RX \
        cooperation (2020)",
    rule: "FLOW-ORDER",
    scenario: &GRO_MIXED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
