//! H-16: A flow waits for its first packet while a later one is due.
//!
//! A flow waits under the time of the packet that was its first. A packet that came later with
//! an earlier time did not change that, nor the timer, and left late.
//!
//! Origin     Linux fabcf8cad67b, net: sch_fq: update flow delivery time on earlier EDT packet
//!            (2026)
//! Rule       FQ-TREES
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-16` prints

use crate::scenarios::FQ_EARLIER;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-16",
    title: "A flow waits for its first packet while a later one is due",
    story: "A flow waits under the time of the packet that was its first. A packet that came \
        later with an earlier time did not change that, nor the timer, and left late.",
    origin: "Linux fabcf8cad67b, net: sch_fq: update flow delivery time on earlier EDT packet \
        (2026)",
    rule: "FQ-TREES",
    scenario: &FQ_EARLIER,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
