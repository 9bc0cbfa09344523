//! Adapters of sync to the engines: explore, loom and shuttle.
//!
//! Each runs a program that is written with the types of sync, calls a check at the end of every
//! execution, and gives an [`Outcome`] that says how much was covered and what was found. They
//! differ in what they see; that is why there are three:
//!
//! | | values | races on plain cells | coverage |
//! |-|-|-|-|
//! | explore | SC, TSO, RA or RC11 | found | every consistent execution graph |
//! | explore over schedules | sequentially consistent | found | every interleaving that differs |
//! | loom | C11, with stale reads | found | every execution, but see [`check_loom`] |
//! | shuttle | sequentially consistent | not seen | random |

mod cell;
mod explore;
mod loom;
mod outcome;
mod run;
mod shuttle;
mod team;
mod token;

pub use self::loom::check_loom;
pub use self::shuttle::{check_shuttle, replay_shuttle, settle_panics, Walk};
pub use explore::{
    check_explore, classes_explore, minimise_explore, replay_explore, sample_explore,
    smallest_explore,
};
pub use outcome::{AtEnd, Config, Ended, EngineFinding, Outcome, Search, Site, TraceLine, Verdict};
pub use pollproof_explore::{Checkpoint, Estimate, Model, Progress, Token, Wish};
pub use team::{beginning, check_team, estimate_explore, fits, Crew, RunOne};
