//! B-5: NAPI gives up a queue that a socket polls.
//!
//! When a socket has the queue, NAPI is refused the driver's lock. It must stay scheduled and
//! come back, since the socket does not touch the interrupt. A poll that completes instead
//! leaves a queue that nobody polls and that no interrupt is enabled for.
//!
//! Origin     Linux 868fdb06063d, mlx4: remove mlx4_en_low_latency_recv (2015), and the merge
//!            85c72ba1ed0c, which calls such locks bug prone
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-5` prints

use crate::scenarios::LL_POLL_SOFTIRQ;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-5",
    title: "NAPI gives up a queue that a socket polls",
    story: "When a socket has the queue, NAPI is refused the driver's lock. It must stay \
        scheduled and come back, since the socket does not touch the interrupt. A poll \
        that completes instead leaves a queue that nobody polls and that no interrupt is \
        enabled for.",
    origin: "Linux 868fdb06063d, mlx4: remove mlx4_en_low_latency_recv (2015), and the merge \
        85c72ba1ed0c, which calls such locks bug prone",
    rule: "NO-LOST-WORK",
    scenario: &LL_POLL_SOFTIRQ,
    engine: EngineKind::Explore,
    unseen_by: &[(
        EngineKind::Shuttle,
        "its samples never refuse NAPI: the lock is held for a few steps alone",
    )],
};
