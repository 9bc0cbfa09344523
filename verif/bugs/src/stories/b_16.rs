//! B-16: netpoll reads plainly who polls.
//!
//! Before a message is sent, netpoll looks whether its CPU is inside a poll of the device
//! already. The word that says who polls was read plainly while another CPU wrote it.
//!
//! Origin     netpoll: Fix race condition in netpoll_owner_active (2024)
//! Rule       SINGLE-CONSUMER
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check B-16` prints

use crate::scenarios::NETPOLL_OWNER;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "B-16",
    title: "netpoll reads plainly who polls",
    story: "Before a message is sent, netpoll looks whether its CPU is inside a poll of the \
        device already. The word that says who polls was read plainly while another CPU \
        wrote it.",
    origin: "netpoll: Fix race condition in netpoll_owner_active (2024)",
    rule: "SINGLE-CONSUMER",
    scenario: &NETPOLL_OWNER,
    engine: EngineKind::Explore,
    unseen_by: &[(EngineKind::Shuttle, "it watches no plain accesses")],
};
