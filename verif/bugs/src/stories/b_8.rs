//! B-8: Disabling a threaded context hangs.
//!
//! The kthread stopped waiting for work when it saw that a disable was pending, although the
//! context had been scheduled for it. It owned the context and never polled it, so the disable
//! waited for ever.
//!
//! Origin     Linux 27f0ad71699d, net: fix hangup on napi_disable for threaded napi (2021)
//! Rule       DEADLOCK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-8` prints

use crate::scenarios::KTHREAD_DISABLE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-8",
    title: "Disabling a threaded context hangs",
    story: "The kthread stopped waiting for work when it saw that a disable was pending, \
        although the context had been scheduled for it. It owned the context and never \
        polled it, so the disable waited for ever.",
    origin: "Linux 27f0ad71699d, net: fix hangup on napi_disable for threaded napi (2021)",
    rule: "DEADLOCK",
    scenario: &KTHREAD_DISABLE,
    engine: EngineKind::Explore,
    unseen_by: &[(
        EngineKind::Shuttle,
        "a wait that nobody satisfies runs into the limit of steps there",
    )],
};
