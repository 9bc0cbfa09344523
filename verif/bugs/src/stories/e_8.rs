//! E-8: Transmit descriptors are cleaned twice.
//!
//! The cleaner goes from descriptor to descriptor as long as they say done. Behind the last that
//! was given to the device lie those of the lap before, which say so too.
//!
//! Origin     Linux, ixgbe: fix double clean of tx descriptors with xdp (2019)
//! Rule       RING-TAIL
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-8` prints

use crate::scenarios::IXGBE_TX_LAPS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-8",
    title: "Transmit descriptors are cleaned twice",
    story: "The cleaner goes from descriptor to descriptor as long as they say done. Behind the \
        last that was given to the device lie those of the lap before, which say so too.",
    origin: "Linux, ixgbe: fix double clean of tx descriptors with xdp (2019)",
    rule: "RING-TAIL",
    scenario: &IXGBE_TX_LAPS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
