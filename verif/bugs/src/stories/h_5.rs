//! H-5: Statistics add the slack to a time that is never.
//!
//! When no flow waits the time of the next one is all ones. Patch 3 adds the slack to it, which
//! wraps, and subtracts the clock: a number that means nothing, and in the first microseconds a
//! small positive one.
//!
//! Origin     Own reading of the series of March 2020, patch 3; the expression is in 6.12
//! Rule       QDISC-CONFIG
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-5` prints

use crate::scenarios::FQ_NEXT_DELAYED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-5",
    title: "Statistics add the slack to a time that is never",
    story: "When no flow waits the time of the next one is all ones. Patch 3 adds the slack to \
        it, which wraps, and subtracts the clock: a number that means nothing, and in the \
        first microseconds a small positive one.",
    origin: "Own reading of the series of March 2020, patch 3; the expression is in 6.12",
    rule: "QDISC-CONFIG",
    scenario: &FQ_NEXT_DELAYED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
