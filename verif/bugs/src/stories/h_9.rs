//! H-9: An initial quantum beyond 2^31 is a negative credit.
//!
//! The credit of a flow is a signed number and the initial quantum was any u32. A large one
//! makes a new flow begin with a debt of up to 2 GB, which is paid off in turns.
//!
//! Origin     Linux, net/sched: fq: clamp quantum and initial_quantum in change path
//! Rule       QDISC-CONFIG
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check H-9` prints

use crate::scenarios::FQ_QUANTA;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "H-9",
    title: "An initial quantum beyond 2^31 is a negative credit",
    story: "The credit of a flow is a signed number and the initial quantum was any u32. A large \
        one makes a new flow begin with a debt of up to 2 GB, which is paid off in turns.",
    origin: "Linux, net/sched: fq: clamp quantum and initial_quantum in change path",
    rule: "QDISC-CONFIG",
    scenario: &FQ_QUANTA,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
