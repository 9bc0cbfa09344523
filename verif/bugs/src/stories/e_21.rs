//! E-21: The vector is not masked while its context is polled.
//!
//! The auto-mask register is set up wrongly, so the device interrupts again and again while NAPI
//! polls. One that comes just before the context is given up finds it owned and is lost, unless
//! something remembers it.
//!
//! Origin     Linux 0a8047ac68e5, e1000e: Fix msi-x interrupt automask (2018); here on EIAM of the
//!            82599
//! Rule       MASKED-WHILE-OWNED
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-21` prints

use crate::scenarios::IXGBE_AFFINITY;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-21",
    title: "The vector is not masked while its context is polled",
    story: "The auto-mask register is set up wrongly, so the device interrupts again and again \
        while NAPI polls. One that comes just before the context is given up finds it owned and \
        is lost, unless something remembers it.",
    origin: "Linux 0a8047ac68e5, e1000e: Fix msi-x interrupt automask (2018); here on EIAM of the \
        82599",
    rule: "MASKED-WHILE-OWNED",
    scenario: &IXGBE_AFFINITY,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
