//! E-40: A reset while packets wait in the transmitter.
//!
//! The link is down or the partner pauses, so packets stay in the device and it never says that it
//! is done on the bus. A driver that resets it all the same, once and without clearing its buffers,
//! gets their reports when the link comes, into memory that is no ring any more.
//!
//! Origin     82599 specification update, clarification 9, Master Disable Flow
//! Rule       RESET-FENCE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-40` prints

use crate::scenarios::IXGBE_TX_NO_LINK_CLOSE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-40",
    title: "A reset while packets wait in the transmitter",
    story:
        "The link is down or the partner pauses, so packets stay in the device and it never says \
        that it is done on the bus. A driver that resets it all the same, once and without \
        clearing its buffers, gets their reports when the link comes, into memory that is no ring \
        any more.",
    origin: "82599 specification update, clarification 9, Master Disable Flow",
    rule: "RESET-FENCE",
    scenario: &IXGBE_TX_NO_LINK_CLOSE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
