//! E-30: A page is used again while somebody still has half of it.
//!
//! Whether the driver may post the other half is decided by the page's reference count. Asked after
//! the packet was handed over, the count may have lost the packet's own reference already, and that
//! of the other half's holder is taken for it.
//!
//! Origin     Linux, ixgbe: avoid premature Rx buffer reuse (2020)
//! Rule       BUFFER-OWNERSHIP
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-30` prints

use crate::scenarios::IXGBE_PAGE_REUSE;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-30",
    title: "A page is used again while somebody still has half of it",
    story: "Whether the driver may post the other half is decided by the page's reference \
        count. Asked after the packet was handed over, the count may have lost the packet's own \
        reference already, and that of the other half's holder is taken for it.",
    origin: "Linux, ixgbe: avoid premature Rx buffer reuse (2020)",
    rule: "BUFFER-OWNERSHIP",
    scenario: &IXGBE_PAGE_REUSE,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
