//! B-20: Threaded mode is turned off under a schedule.
//!
//! Whoever was granted a schedule sees that the context is threaded and leaves it to the
//! kthread. When threaded mode is turned off in between and the kthread ends, the context is
//! owned by a thread that is not there. The stop must wait until the context is idle or the
//! kthread's, and then until the kthread has given it up.
//!
//! Origin     Linux 689883de94dd, net: stop napi kthreads when THREADED napi is disabled (2025)
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-20` prints

use crate::scenarios::KTHREAD_STOP;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-20",
    title: "Threaded mode is turned off under a schedule",
    story: "Whoever was granted a schedule sees that the context is threaded and leaves it to \
        the kthread. When threaded mode is turned off in between and the kthread ends, the \
        context is owned by a thread that is not there. The stop must wait until the \
        context is idle or the kthread's, and then until the kthread has given it up.",
    origin: "Linux 689883de94dd, net: stop napi kthreads when THREADED napi is disabled (2025)",
    rule: "NO-LOST-WORK",
    scenario: &KTHREAD_STOP,
    engine: EngineKind::Explore,
    unseen_by: &[(
        EngineKind::Shuttle,
        "its samples never end the kthread between the grant and the hand-over",
    )],
};
