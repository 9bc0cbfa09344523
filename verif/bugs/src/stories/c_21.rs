//! C-21: Frames that came before the port was up wait for ever.
//!
//! The receiver is on before interrupts are. What arrives in between has its cause cleared on the
//! way up, and nobody looks into the rings unless something kicks each queue once the port is up.
//!
//! Origin     Linux 8d59de8f7bb3, net/mlx4_en: Process all completions in RX rings after port goes
//!            up (2016); here the first turn of ixgbe's watchdog is left out
//! Rule       NO-LOST-WORK
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-21` prints

use crate::scenarios::IXGBE_OPEN;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-21",
    title: "Frames that came before the port was up wait for ever",
    story: "The receiver is on before interrupts are. What arrives in between has its cause \
        cleared on the way up, and nobody looks into the rings unless something kicks each queue \
        once the port is up.",
    origin: "Linux 8d59de8f7bb3, net/mlx4_en: Process all completions in RX rings after port goes \
        up (2016); here the first turn of ixgbe's watchdog is left out",
    rule: "NO-LOST-WORK",
    scenario: &IXGBE_OPEN,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
