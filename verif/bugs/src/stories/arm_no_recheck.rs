//! ARM-NO-RECHECK: Arming without looking again.
//!
//! A device that reads the arm record after each completion misses an arm that comes just after.
//! The completion is in the queue, the arm is in the record, and neither side looks again.
//!
//! Origin     Linux Documentation/networking/napi.rst; IB_CQ_REPORT_MISSED_EVENTS exists for it
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check ARM-NO-RECHECK` prints

use crate::scenarios::ARM_RECORD;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "ARM-NO-RECHECK",
    title: "Arming without looking again",
    story: "A device that reads the arm record after each completion misses an arm that comes \
        just after. The completion is in the queue, the arm is in the record, and neither \
        side looks again.",
    origin: "Linux Documentation/networking/napi.rst; IB_CQ_REPORT_MISSED_EVENTS exists for \
        it",
    rule: "NO-LOST-WORK",
    scenario: &ARM_RECORD,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
