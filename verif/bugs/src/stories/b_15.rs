//! B-15: A task schedules a poll and nothing runs it.
//!
//! The service task schedules a context whose ring ran dry. Scheduling raises a softirq, which
//! runs when an interrupt is left or BHs are enabled; a task with BHs on does neither, so the
//! poll waits for the next interrupt of that CPU. With BHs off around it the softirq runs when
//! they are enabled.
//!
//! Origin     Linux bd4ce941c8d5, mlx4: Invoke softirqs after napi_reschedule (2017);
//!            8cf699ec849f
//! Rule       SOFTIRQ-RUNS
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-15` prints

use crate::scenarios::SERVICE_TASK;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-15",
    title: "A task schedules a poll and nothing runs it",
    story: "The service task schedules a context whose ring ran dry. Scheduling raises a \
        softirq, which runs when an interrupt is left or BHs are enabled; a task with BHs \
        on does neither, so the poll waits for the next interrupt of that CPU. With BHs \
        off around it the softirq runs when they are enabled.",
    origin: "Linux bd4ce941c8d5, mlx4: Invoke softirqs after napi_reschedule (2017); \
        8cf699ec849f",
    rule: "SOFTIRQ-RUNS",
    scenario: &SERVICE_TASK,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
