//! F-9: The owner bit is compared with the wrong lap.
//!
//! An entry is valid when its owner bit has the parity of the lap. Counting the lap from the
//! masked index always gives the first: after the wrap, old entries look new.
//!
//! Origin     DPDK 096134582c, net/mlx4: introducing consumer index mask (2017)
//! Rule       VALID-BEFORE-USE
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check F-9` prints

use crate::scenarios::WRAP;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "F-9",
    title: "The owner bit is compared with the wrong lap",
    story: "An entry is valid when its owner bit has the parity of the lap. Counting the lap \
        from the masked index always gives the first: after the wrap, old entries look new.",
    origin: "DPDK 096134582c, net/mlx4: introducing consumer index mask (2017)",
    rule: "VALID-BEFORE-USE",
    scenario: &WRAP,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
