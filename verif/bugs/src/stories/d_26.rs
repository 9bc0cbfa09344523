//! D-26: A packet of fragments is finished as if it were not.
//!
//! The list entry finishes all packets in the same way. One that was prepared from fragments had
//! its Ethernet header pulled and goes up without it.
//!
//! Origin     The series of November 2018, net: introduce list entry point for GRO, patches 1 and
//!            2; own analysis
//! Rule       PAYLOAD-FIDELITY
//! Certainty  own analysis
//! Replay     pollproof replay the token that `pollproof check D-26` prints

use crate::scenarios::FRAGS_LIST;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-26",
    title: "A packet of fragments is finished as if it were not",
    story: "The list entry finishes all packets in the same way. One that was prepared from \
        fragments had its Ethernet header pulled and goes up without it.",
    origin: "The series of November 2018, net: introduce list entry point for GRO, patches 1 and \
        2; own analysis",
    rule: "PAYLOAD-FIDELITY",
    scenario: &FRAGS_LIST,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
