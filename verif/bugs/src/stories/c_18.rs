//! C-18: The interrupt is masked after the poll was scheduled.
//!
//! The handler schedules the poll and masks the interrupt after that. A poll on another CPU can be
//! done before: it unmasks first, the handler masks last, and the interrupt stays off for good.
//!
//! Origin     Linux, net: xilinx: axienet: Schedule NAPI in two steps (2024); the same shape on an
//!            MSI-X mask
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-18` prints

use crate::scenarios::MASKED_KTHREAD;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-18",
    title: "The interrupt is masked after the poll was scheduled",
    story: "The handler schedules the poll and masks the interrupt after that. A poll on \
        another CPU can be done before: it unmasks first, the handler masks last, and the \
        interrupt stays off for good.",
    origin: "Linux, net: xilinx: axienet: Schedule NAPI in two steps (2024); the same shape \
        on an MSI-X mask",
    rule: "NO-LOST-WORK",
    scenario: &MASKED_KTHREAD,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
