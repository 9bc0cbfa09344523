//! The CPU of a sender is taken for an id.
//!
//! A packet has one place for the id of the context that it came through and, on its way out,
//! for the CPU that sent it. A packet that the host sends to itself brings that number to its
//! socket, which then polls a context that has nothing to do with it. Ids now begin above all
//! CPU numbers, and smaller ones are refused.
//!
//! Origin     Linux 52bd2d62ce67, net: better skb->sender_cpu and skb->napi_id cohabitation
//!            (2015)
//! Rule       NAPI-ID
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check A-7` prints

use crate::scenarios::SOCK_LOOPBACK;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "A-7",
    title: "The CPU of a sender is taken for an id",
    story: "A packet has one place for the id of the context that it came through and, on its \
        way out, for the CPU that sent it. A packet that the host sends to itself brings \
        that number to its socket, which then polls a context that has nothing to do with \
        it. Ids now begin above all CPU numbers, and smaller ones are refused.",
    origin: "Linux 52bd2d62ce67, net: better skb->sender_cpu and skb->napi_id cohabitation \
        (2015)",
    rule: "NAPI-ID",
    scenario: &SOCK_LOOPBACK,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
