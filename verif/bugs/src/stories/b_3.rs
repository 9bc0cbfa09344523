//! B-3: A busy-poll lock enables BH under netpoll.
//!
//! The lock between NAPI and busy pollers was taken with BH off and gave them back with BH on.
//! A netpoll, which prints a message with interrupts off, takes the same lock on its way into
//! the poll: enabling BH there may run softirqs where nothing may run. A word that is exchanged
//! atomically needs no BH.
//!
//! Origin     Linux 074975d03743, bnx2x: Fix busy_poll vs netpoll (2015); here on ixgbe's lock
//! Rule       CONTEXT
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-3` prints

use crate::scenarios::QV_LOCK_NETPOLL;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-3",
    title: "A busy-poll lock enables BH under netpoll",
    story: "The lock between NAPI and busy pollers was taken with BH off and gave them back \
        with BH on. A netpoll, which prints a message with interrupts off, takes the same \
        lock on its way into the poll: enabling BH there may run softirqs where nothing \
        may run. A word that is exchanged atomically needs no BH.",
    origin: "Linux 074975d03743, bnx2x: Fix busy_poll vs netpoll (2015); here on ixgbe's lock",
    rule: "CONTEXT",
    scenario: &QV_LOCK_NETPOLL,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
