//! GRO-LINK: A stale link leaves the code of lists.
//!
//! A packet that was on a list goes to its protocol with the link that list_del leaves. Whoever
//! takes the link for a chain follows a poisoned pointer.
//!
//! Origin     Linux 22f6bbb7bcfc, net: use skb_list_del_init() to remove from RX sublists (2018)
//! Rule       LIST-INTEGRITY
//! Certainty  recalled
//! Replay     pollproof replay the token that `pollproof check GRO-LINK` prints

use crate::scenarios::GRO_LISTS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "GRO-LINK",
    title: "A stale link leaves the code of lists",
    story: "A packet that was on a list goes to its protocol with the link that list_del leaves. \
        Whoever takes the link for a chain follows a poisoned pointer.",
    origin: "Linux 22f6bbb7bcfc, net: use skb_list_del_init() to remove from RX sublists (2018)",
    rule: "LIST-INTEGRITY",
    scenario: &GRO_LISTS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
