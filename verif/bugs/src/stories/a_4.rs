//! A context is freed without waiting for a grace period.
//!
//! Taking a context off the hash stops new lookups, not those that have found it already. Freeing
//! the memory at once pulls it away under a reader that is still inside rcu_read_lock.
//!
//! Origin     Linux 34cbe27e811c, net: napi_hash_del returns a boolean status (2015)
//! Rule       LIFETIME
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-4` prints

use crate::scenarios::DEL_FREE_1;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-4",
    title: "A context is freed without waiting for a grace period",
    story: "Taking a context off the hash stops new lookups, not those that have found it \
        already. Freeing the memory at once pulls it away under a reader that is still \
        inside rcu_read_lock.",
    origin: "Linux 34cbe27e811c, net: napi_hash_del returns a boolean status (2015)",
    rule: "LIFETIME",
    scenario: &DEL_FREE_1,
    engine: EngineKind::Explore,
    unseen_by: &[(
        EngineKind::Shuttle,
        "it does not switch between the lookup and the use, and it watches \
            no plain accesses",
    )],
};
