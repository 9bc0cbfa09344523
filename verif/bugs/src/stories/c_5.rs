//! C-5: netpoll's poll completes.
//!
//! The poll method completed its context whatever the budget was. A netpoll comes with budget 0
//! and owns nothing: there is nothing that it could give up.
//!
//! Origin     net: drv: netdevsim: don't napi_complete from netpoll (2025); here in mlx4's poll
//! Rule       NAPI-BUDGET
//! Certainty  reconstructed
//! Replay     pollproof replay the token that `pollproof check C-5` prints

use crate::scenarios::NETPOLL;
use pollproof_bench::scenario::{EngineKind, Story};

/// The story.
pub const STORY: Story = Story {
    id: "C-5",
    title: "netpoll's poll completes",
    story: "The poll method completed its context whatever the budget was. A netpoll comes \
        with budget 0 and owns nothing: there is nothing that it could give up.",
    origin: "net: drv: netdevsim: don't napi_complete from netpoll (2025); here in mlx4's poll",
    rule: "NAPI-BUDGET",
    scenario: &NETPOLL,
    engine: EngineKind::Explore,
    unseen_by: &[],
};
