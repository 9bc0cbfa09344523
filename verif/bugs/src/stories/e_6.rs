//! E-6: Reports are asked for further apart than the device allows.
//!
//! With a write-back threshold of 0 the device needs a descriptor that asks for a report among
//! every 40. A driver that asks once a batch, to save writes, stops the transmitter as soon as
//! packets have many fragments.
//!
//! Origin     DPDK 71f39b07b6, ixgbe: fix Tx hang when RS distance exceeds HW limit (2015); 82599
//!            specification update, change 11
//! Rule       DEVICE-RULES
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-6` prints

use crate::scenarios::IXGBE_TX_FRAGMENTS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-6",
    title: "Reports are asked for further apart than the device allows",
    story: "With a write-back threshold of 0 the device needs a descriptor that asks for a report \
        among every 40. A driver that asks once a batch, to save writes, stops the transmitter \
        as soon as packets have many fragments.",
    origin: "DPDK 71f39b07b6, ixgbe: fix Tx hang when RS distance exceeds HW limit (2015); 82599 \
        specification update, change 11",
    rule: "DEVICE-RULES",
    scenario: &IXGBE_TX_FRAGMENTS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
