//! E-19: A transmit report that only a forced interrupt brings out.
//!
//! The device holds a report back until the next interrupt of its vector, and there is none when
//! nothing else happens. A watchdog that sets the cause of each queue now and then gets it; without
//! it the packet stays mapped for ever.
//!
//! Origin     NetBSD ixgbe, May 2018; Linux 7a6ea550f2f7, igb: force all queues to interrupt once
//!            every 2 seconds (2008)
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-19` prints

use crate::scenarios::IXGBE_TX_IDLE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-19",
    title: "A transmit report that only a forced interrupt brings out",
    story: "The device holds a report back until the next interrupt of its vector, and there is \
        none when nothing else happens. A watchdog that sets the cause of each queue now and \
        then gets it; without it the packet stays mapped for ever.",
    origin: "NetBSD ixgbe, May 2018; Linux 7a6ea550f2f7, igb: force all queues to interrupt once \
        every 2 seconds (2008)",
    rule: "NO-LOST-WORK",
    scenario: &IXGBE_TX_IDLE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
