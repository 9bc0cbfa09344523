//! D-23: What the stack drops counts as received.
//!
//! With lists nobody hears that a packet was dropped. A driver that goes by what it is told counts
//! packets that no socket got.
//!
//! Origin     Linux, account for napi_gro_receive never returning GRO_DROP, in wireguard and
//!            others (2020); the series of November 2018
//! Rule       RETURN-TRUTH
//! Certainty  reconstructed from the series' third patch
//! Replay     pollproof replay the token that `pollproof check D-23` prints

use crate::scenarios::LIST_FULL;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-23",
    title: "What the stack drops counts as received",
    story: "With lists nobody hears that a packet was dropped. A driver that goes by what it is \
        told counts packets that no socket got.",
    origin: "Linux, account for napi_gro_receive never returning GRO_DROP, in wireguard and \
        others (2020); the series of November 2018",
    rule: "RETURN-TRUTH",
    scenario: &LIST_FULL,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
