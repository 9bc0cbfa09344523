//! E-24: A paused transmitter is taken for a hung one.
//!
//! Pause frames keep the ring from moving between two looks of the watchdog. A check that does not
//! ask for them resets a port that is well.
//!
//! Origin     Linux c84d324c770d, ixgbe: rework Tx hang detection to fix reoccurring false Tx hangs
//!            (2010)
//! Rule       HANG-SOUND
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-24` prints

use crate::scenarios::IXGBE_TX_PAUSED;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-24",
    title: "A paused transmitter is taken for a hung one",
    story:
        "Pause frames keep the ring from moving between two looks of the watchdog. A check that \
        does not ask for them resets a port that is well.",
    origin:
        "Linux c84d324c770d, ixgbe: rework Tx hang detection to fix reoccurring false Tx hangs \
        (2010)",
    rule: "HANG-SOUND",
    scenario: &IXGBE_TX_PAUSED,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
