//! F-15: The ring runs dry and no interrupt ever comes again.
//!
//! Every buffer is used up and refill fails. An empty ring receives nothing, so nothing brings
//! another poll, so nobody tries to refill again.
//!
//! Origin     Linux hns3 68752b2; mlx4, Schedule napi when RX buffers allocation fails (2015)
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check F-15` prints

use crate::scenarios::OOM;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "F-15",
    title: "The ring runs dry and no interrupt ever comes again",
    story: "Every buffer is used up and refill fails. An empty ring receives nothing, so \
        nothing brings another poll, so nobody tries to refill again.",
    origin: "Linux hns3 68752b2; mlx4, Schedule napi when RX buffers allocation fails (2015)",
    rule: "NO-LOST-WORK",
    scenario: &OOM,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
