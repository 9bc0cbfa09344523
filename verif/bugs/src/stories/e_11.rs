//! E-11: A queue that nobody serves stops all others.
//!
//! Without drop enable the frame at the head of the packet buffer waits for a descriptor of its
//! queue, and all frames behind it wait too, whatever queue they are for.
//!
//! Origin     DPDK 9941892b7a, net/ixgbe: fix Rx queue blocking issue (2017)
//! Rule       QUEUE-ISOLATION
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-11` prints

use crate::scenarios::IXGBE_STALLED_QUEUE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-11",
    title: "A queue that nobody serves stops all others",
    story: "Without drop enable the frame at the head of the packet buffer waits for a descriptor \
        of its queue, and all frames behind it wait too, whatever queue they are for.",
    origin: "DPDK 9941892b7a, net/ixgbe: fix Rx queue blocking issue (2017)",
    rule: "QUEUE-ISOLATION",
    scenario: &IXGBE_STALLED_QUEUE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
