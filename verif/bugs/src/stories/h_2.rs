//! H-2: A cached expiry says that the timer is set.
//!
//! The watchdog compared what it is asked for with what it was asked for last. After a cancel
//! nothing is queued, and the same time again was taken as already set: the packet waits for
//! ever. The second patch of the series asks whether the timer is queued first.
//!
//! Origin     Linux series of March 2020, patch 2 (v1); 6.12 asks the queued timer itself
//! Rule       TIMER-WINDOW
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-2` prints

use crate::scenarios::FQ_DOWN_UP;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-2",
    title: "A cached expiry says that the timer is set",
    story: "The watchdog compared what it is asked for with what it was asked for last. After a \
        cancel nothing is queued, and the same time again was taken as already set: the \
        packet waits for ever. The second patch of the series asks whether the timer is \
        queued first.",
    origin: "Linux series of March 2020, patch 2 (v1); 6.12 asks the queued timer itself",
    rule: "TIMER-WINDOW",
    scenario: &FQ_DOWN_UP,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
