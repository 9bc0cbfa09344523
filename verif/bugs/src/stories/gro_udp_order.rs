//! GRO-UDP-ORDER: A datagram that is not merged overtakes one that is held.
//!
//! A datagram without a checksum, or one that was padded, is never merged. It goes up at once
//! although datagrams of its flow are held that came before it.
//!
//! Origin     Linux 6.12 net/ipv4/udp_offload.c, udp_gro_receive_segment(), as it stands; own
//!            analysis
//! Rule       FLOW-ORDER
//! Certainty  read in the source; see docs/FOUND.md
//! Replay     pollproof replay the token that `pollproof check GRO-UDP-ORDER` prints

use crate::scenarios::GRO_DATAGRAMS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "GRO-UDP-ORDER",
    title: "A datagram that is not merged overtakes one that is held",
    story: "A datagram without a checksum, or one that was padded, is never merged. It goes up at \
        once although datagrams of its flow are held that came before it.",
    origin: "Linux 6.12 net/ipv4/udp_offload.c, udp_gro_receive_segment(), as it stands; own \
        analysis",
    rule: "FLOW-ORDER",
    scenario: &GRO_DATAGRAMS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
