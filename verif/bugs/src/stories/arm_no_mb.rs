//! ARM-NO-MB: No full barrier between arming and looking again.
//!
//! The driver stores the arm record and then loads the next entry's owner bit. Without a full
//! barrier the load may be done first: the driver sees no completion, the device sees no arm, and
//! nobody comes back for the packet. No interleaving shows it; x86 does, and so does every weaker
//! CPU.
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
        it; x86 does, and so does every weaker CPU.",
    origin: "Store buffering; Linux Documentation/memory-barriers.txt; virtio_ring.c, \
        virtqueue_enable_cb()",
    rule: "NO-LOST-WORK",
    scenario: &ARM_RECORD,
    engine: EngineKind::ExploreTso,
    unseen_by: &[
        (EngineKind::Explore, "under SC the store is always seen before the load"),
        (EngineKind::Schedules, "under SC the store is always seen before the load"),
        (EngineKind::Shuttle, "all its atomics are sequentially consistent"),
    ],
};
