//! A socket's id is read twice without a lock.
//!
//! A busy poller tests the id of its socket and then reads it again to look it up. In between a
//! packet marks the socket with another, such as none at all, and what is looked up was never
//! tested.
//!
//! Origin     net: annotate lockless accesses to sk->sk_napi_id (2019)
//! Rule       NAPI-ID
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-18` prints

use crate::scenarios::SOCK_LOOPBACK;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-18",
    title: "A socket's id is read twice without a lock",
    story: "A busy poller tests the id of its socket and then reads it again to look it up. In \
        between a packet marks the socket with another, such as none at all, and what is \
        looked up was never tested.",
    origin: "net: annotate lockless accesses to sk->sk_napi_id (2019)",
    rule: "NAPI-ID",
    scenario: &SOCK_LOOPBACK,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
