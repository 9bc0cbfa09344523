//! B-7: A busy poller and a kthread both own the poll.
//!
//! The kthread took SCHED for the proof that the context was scheduled for it. A busy poller
//! sets it too, and so does a disable: both then poll at once. A bit of its own says that the
//! kthread owns the context.
//!
//! Origin     Linux cb038357937e, net: fix race between napi kthread mode and busy poll (2021)
//! Rule       NAPI-OWNER
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-7` prints

use crate::scenarios::BUSY_KTHREAD;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-7",
    title: "A busy poller and a kthread both own the poll",
    story: "The kthread took SCHED for the proof that the context was scheduled for it. A busy \
        poller sets it too, and so does a disable: both then poll at once. A bit of its \
        own says that the kthread owns the context.",
    origin: "Linux cb038357937e, net: fix race between napi kthread mode and busy poll (2021)",
    rule: "NAPI-OWNER",
    scenario: &BUSY_KTHREAD,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
