//! F-1: A CQ is freed while its completion handler runs.
//!
//! The handler of the event queue has found the CQ in the table and uses it; closing the queue
//! takes it out of the table and frees it without waiting for that handler.
//!
//! Origin     Linux, net/mlx4_core: Fix racy CQ (Completion Queue) free (2017)
//! Rule       LIFETIME
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check F-1` prints

use crate::scenarios::STOP;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "F-1",
    title: "A CQ is freed while its completion handler runs",
    story: "The handler of the event queue has found the CQ in the table and uses it; closing \
        the queue takes it out of the table and frees it without waiting for that handler.",
    origin: "Linux, net/mlx4_core: Fix racy CQ (Completion Queue) free (2017)",
    rule: "LIFETIME",
    scenario: &STOP,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
