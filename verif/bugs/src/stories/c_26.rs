//! C-26: Nothing is reported after real work.
//!
//! When the interrupt has moved to another CPU, the poll completes and reports 0, after a whole
//! budget of packets. The softirq's own budget is fooled, and the flush timer takes a busy queue
//! for idle.
//!
//! Origin     The fix of November 2014 itself; Linux 6.12 en_rx.c reports one less than was done
//! Rule       HONEST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-26` prints

use crate::scenarios::AFFINITY;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-26",
    title: "Nothing is reported after real work",
    story: "When the interrupt has moved to another CPU, the poll completes and reports 0, \
        after a whole budget of packets. The softirq's own budget is fooled, and the flush \
        timer takes a busy queue for idle.",
    origin: "The fix of November 2014 itself; Linux 6.12 en_rx.c reports one less than was \
        done",
    rule: "HONEST-WORK",
    scenario: &AFFINITY,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
