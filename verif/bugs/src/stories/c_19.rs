//! C-19: A poll runs without owning its context.
//!
//! A path ran the poll method directly, without taking the context first. Beside an owner there
//! are then two of them inside, and what the poll gives up at its end is not its own.
//!
//! Origin     net: tun: call napi_schedule_prep to ensure we own a napi (2022); here in the
//!            busy loop
//! Rule       SINGLE-CONSUMER
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-19` prints

use crate::scenarios::BUSY_TWO;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-19",
    title: "A poll runs without owning its context",
    story: "A path ran the poll method directly, without taking the context first. Beside an \
        owner there are then two of them inside, and what the poll gives up at its end is \
        not its own.",
    origin: "net: tun: call napi_schedule_prep to ensure we own a napi (2022); here in the busy \
        loop",
    rule: "SINGLE-CONSUMER",
    scenario: &BUSY_TWO,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
