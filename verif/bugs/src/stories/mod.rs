//! One file a documented bug; `git grep 'bug("C-1")'` finds its line in the driver.
//!
//! *Certainty* is `reproduced` (the original code was run), `reconstructed` (rebuilt from its fix
//! or
//! its description, on our driver) or `suspected`.

mod a_1;
mod a_2;
mod a_3;
mod a_4;
mod arm_no_mb;
mod arm_no_recheck;
mod b_1;
mod b_6;
mod c_1;
mod c_18;
mod c_2;
mod c_26;
mod e_1;
mod f_1;
mod f_15;
mod f_9;

use pollproof_bench::scenario::Story;

/// Every story, by id.
pub const ALL: &[&Story] = &[
    &a_1::STORY,
    &a_2::STORY,
    &a_3::STORY,
    &a_4::STORY,
    &arm_no_mb::STORY,
    &arm_no_recheck::STORY,
    &b_1::STORY,
    &b_6::STORY,
    &c_1::STORY,
    &c_2::STORY,
    &c_18::STORY,
    &c_26::STORY,
    &e_1::STORY,
    &f_1::STORY,
    &f_9::STORY,
    &f_15::STORY,
];
