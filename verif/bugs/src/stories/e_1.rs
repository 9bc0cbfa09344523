//! E-1: A completion is read before its ownership was seen.
//!
//! The owner bit is seen, then the length is read. Without a read barrier between, a CPU may do
//! the second load first and take an old length from an entry that has just become valid.
//!
//! Origin     DPDK 85e46c532bc, net/ixgbe: add proper memory barriers in Rx (2023)
//! Rule       VALID-BEFORE-USE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-1` prints

use crate::scenarios::IXGBE_WRITE_BACK;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-1",
    title: "A completion is read before its ownership was seen",
    story: "The owner bit is seen, then the length is read. Without a read barrier between, a \
        CPU may do the second load first and take an old length from an entry that has just \
        become valid.",
    origin: "DPDK 85e46c532bc, net/ixgbe: add proper memory barriers in Rx (2023)",
    rule: "VALID-BEFORE-USE",
    scenario: &IXGBE_WRITE_BACK,
    engine: EngineKind::Explore,
    unseen_by: &[
        (
            EngineKind::Loom,
            "the scenario's agents run until nothing is left to do, which loom \
            can not tell",
        ),
        (EngineKind::Shuttle, "it watches no plain accesses"),
    ],
};
