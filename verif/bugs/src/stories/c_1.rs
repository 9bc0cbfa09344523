//! C-1: The poll completes although it used its whole budget.
//!
//! Turning an if/else around made the poll complete and arm also when its work equalled the
//! budget, and then return that budget, which tells the core that it still owns the context. Extra
//! interrupts at best; see the question of the two lists for the worst.
//!
//! Origin     Linux mlx4, 1a28817282 and its fix, restore conditional call to napi_complete_done()
//!            (November 2014)
//! Rule       NAPI-BUDGET
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-1` prints

use crate::scenarios::BUDGET_RACE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-1",
    title: "The poll completes although it used its whole budget",
    story: "Turning an if/else around made the poll complete and arm also when its work \
        equalled the budget, and then return that budget, which tells the core that it still \
        owns the context. Extra interrupts at best; see the question of the two lists for \
        the worst.",
    origin: "Linux mlx4, 1a28817282 and its fix, restore conditional call to \
        napi_complete_done() (November 2014)",
    rule: "NAPI-BUDGET",
    scenario: &BUDGET_RACE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
