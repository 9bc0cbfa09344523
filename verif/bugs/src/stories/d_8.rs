//! D-8: GRO reads the header of a datagram where it is not yet.
//!
//! The headers of a packet of fragments are still in the first fragment. Read from the linear area
//! they are those of the packet that had it before, so a datagram is merged into a flow that it is
//! not of.
//!
//! Origin     Linux, net: udp: fix UDP header access on Fast/frag0 UDP GRO (2020)
//! Rule       GRO-ROUND-TRIP
//! Certainty  recalled
//! Replay     pollproof replay the token that `pollproof check D-8` prints

use crate::scenarios::FRAGS_DATAGRAMS;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "D-8",
    title: "GRO reads the header of a datagram where it is not yet",
    story: "The headers of a packet of fragments are still in the first fragment. Read from the \
        linear area they are those of the packet that had it before, so a datagram is merged into \
        a flow that it is not of.",
    origin: "Linux, net: udp: fix UDP header access on Fast/frag0 UDP GRO (2020)",
    rule: "GRO-ROUND-TRIP",
    scenario: &FRAGS_DATAGRAMS,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
