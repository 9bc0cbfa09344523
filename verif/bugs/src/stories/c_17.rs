//! C-17: Causes are cleared after the ring was looked at and before the interrupt is enabled.
//!
//! The poll finds its ring empty, then acknowledges the interrupt status and enables the interrupt.
//! A frame that came in between has its cause wiped out, and the device does not raise it again for
//! a descriptor that is already there.
//!
//! Origin     Linux macb, Fix lost RX packet wakeup race in NAPI receive (2022); here on EICR of
//!            the 82599
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-17` prints

use crate::scenarios::IXGBE_RX;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-17",
    title: "Causes are cleared after the ring was looked at and before the interrupt is enabled",
    story: "The poll finds its ring empty, then acknowledges the interrupt status and enables the \
        interrupt. A frame that came in between has its cause wiped out, and the device does not \
        raise it again for a descriptor that is already there.",
    origin: "Linux macb, Fix lost RX packet wakeup race in NAPI receive (2022); here on EICR of \
        the 82599",
    rule: "NO-LOST-WORK",
    scenario: &IXGBE_RX,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
