//! ARM-NO-MB: No full barrier between arming and looking again.
//!
//! The driver stores the arm record and then loads the next entry's owner bit. Without a full
//! barrier the load may be done first: the driver sees no completion, the device sees no arm, and
//! nobody comes back for the packet. No interleaving shows it, and x86 does not either: there the
//! compare-exchange by which the driver takes the context back is a full barrier. Weaker CPUs do.
//!
//! Origin     Store buffering; Linux Documentation/memory-barriers.txt; virtio_ring.c,
//!            virtqueue_enable_cb()
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check ARM-NO-MB` prints

use crate::scenarios::ARM_RECORD;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "ARM-NO-MB",
    title: "No full barrier between arming and looking again",
    story: "The driver stores the arm record and then loads the next entry's owner bit. \
        Without a full barrier the load may be done first: the driver sees no completion, \
        the device sees no arm, and nobody comes back for the packet. No interleaving shows \
        it, and x86 does not either: there the compare-exchange by which the driver takes the \
        context back is a full barrier. Weaker CPUs do.",
    origin: "Store buffering; Linux Documentation/memory-barriers.txt; virtio_ring.c, \
        virtqueue_enable_cb()",
    rule: "NO-LOST-WORK",
    scenario: &ARM_RECORD,
    engine: EngineKind::ExploreRc11,
    unseen_by: &[
        (EngineKind::Explore, "under SC the store is always seen before the load"),
        (
            EngineKind::ExploreTso,
            "the compare-exchange of napi_schedule_prep is a full barrier on x86",
        ),
        (EngineKind::Schedules, "under SC the store is always seen before the load"),
        (EngineKind::Shuttle, "all its atomics are sequentially consistent"),
    ],
};
