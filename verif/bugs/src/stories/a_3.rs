//! Ids and hash insertions are not serialised.
//!
//! Without one lock over the counter and the table, two CPUs that add contexts draw the same id or
//! lose one of the insertions.
//!
//! Origin     ll_poll series, changelog of v6 (2013): a spinlock covers add, del and the generator
//! Rule       NAPI-ID
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-3` prints

use crate::scenarios::TWO_ADDERS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-3",
    title: "Ids and hash insertions are not serialised",
    story: "Without one lock over the counter and the table, two CPUs that add contexts draw \
        the same id or lose one of the insertions.",
    origin: "ll_poll series, changelog of v6 (2013): a spinlock covers add, del and the \
        generator",
    rule: "NAPI-ID",
    scenario: &TWO_ADDERS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
