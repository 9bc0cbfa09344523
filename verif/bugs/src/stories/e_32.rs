//! E-32: All ones from a device that is gone are taken for data.
//!
//! A function that left the bus reads as all ones. Flags look set, links look up, waits look over;
//! the driver goes on as if nothing had happened.
//!
//! Origin     Linux 144384649dc1, ixgbe: Check config reads for removal (2014)
//! Rule       REMOVAL-FENCE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-32` prints

use crate::scenarios::IXGBE_REMOVAL;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-32",
    title: "All ones from a device that is gone are taken for data",
    story: "A function that left the bus reads as all ones. Flags look set, links look up, waits \
        look over; the driver goes on as if nothing had happened.",
    origin: "Linux 144384649dc1, ixgbe: Check config reads for removal (2014)",
    rule: "REMOVAL-FENCE",
    scenario: &IXGBE_REMOVAL,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
