//! E-18: A cause that software set is never cleared, so it never rises again.
//!
//! Without PBA support, with auto-clear and without auto-mask, a cause that EICS sets just before
//! its message may outlive it. The bit stays, and a cause that is set already raises no message.
//!
//! Origin     82599 specification update, erratum 1 (EICS and EICR)
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check E-18` prints

use crate::scenarios::IXGBE_KICK;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "E-18",
    title: "A cause that software set is never cleared, so it never rises again",
    story: "Without PBA support, with auto-clear and without auto-mask, a cause that EICS sets \
        just before its message may outlive it. The bit stays, and a cause that is set already \
        raises no message.",
    origin: "82599 specification update, erratum 1 (EICS and EICR)",
    rule: "NO-LOST-WORK",
    scenario: &IXGBE_KICK,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
