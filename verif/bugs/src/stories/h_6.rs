//! H-6: A new attribute is taken from a payload of the wrong size.
//!
//! TCA_FQ_TIMER_SLACK came after netlink had become strict, and its policy did not say that
//! strictness begins with it. A payload that is too long was taken.
//!
//! Origin     Review of the series of March 2020 (strict_start_type), fixed in its v2
//! Rule       QDISC-CONFIG
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-6` prints

use crate::scenarios::FQ_LENGTHS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-6",
    title: "A new attribute is taken from a payload of the wrong size",
    story: "TCA_FQ_TIMER_SLACK came after netlink had become strict, and its policy did not say \
        that strictness begins with it. A payload that is too long was taken.",
    origin: "Review of the series of March 2020 (strict_start_type), fixed in its v2",
    rule: "QDISC-CONFIG",
    scenario: &FQ_LENGTHS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
