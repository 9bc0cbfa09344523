//! One file a documented bug; `git grep 'bug("C-1")'` finds its line in the driver.
//!
//! *Certainty* is `reproduced` (the original code was run), `reconstructed` (rebuilt from its fix
//! or
//! its description, on our driver) or `suspected`.

mod a_1;
mod a_10;
mod a_18;
mod a_2;
mod a_3;
mod a_4;
mod a_5;
mod a_7;
mod arm_no_mb;
mod arm_no_recheck;
mod b_1;
mod b_15;
mod b_16;
mod b_20;
mod b_3;
mod b_5;
mod b_6;
mod b_7;
mod b_8;
mod c_1;
mod c_17;
mod c_18;
mod c_19;
mod c_1_ixgbe;
mod c_2;
mod c_21;
mod c_26;
mod c_5;
mod d_1;
mod d_13;
mod d_15;
mod d_19;
mod d_23;
mod d_25;
mod d_26;
mod d_3;
mod d_4;
mod d_5;
mod d_6;
mod d_8;
mod e_1;
mod e_11;
mod e_17;
mod e_18;
mod e_19;
mod e_21;
mod e_24;
mod e_30;
mod e_32;
mod e_40;
mod e_6;
mod e_8;
mod f_1;
mod f_15;
mod f_9;
mod g_13;
mod g_14;
mod g_5;
mod gro_link;
mod gro_segs;
mod gro_udp_order;
mod h_1;
mod h_11;
mod h_12;
mod h_13;
mod h_16;
mod h_17;
mod h_19;
mod h_2;
mod h_21;
mod h_3;
mod h_4;
mod h_5;
mod h_6;
mod h_7;
mod h_9;

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
    &d_1::STORY,
    &d_25::STORY,
    &gro_segs::STORY,
    &gro_udp_order::STORY,
    &d_3::STORY,
    &d_4::STORY,
    &d_5::STORY,
    &d_6::STORY,
    &d_8::STORY,
    &d_13::STORY,
    &d_15::STORY,
    &d_19::STORY,
    &d_23::STORY,
    &d_26::STORY,
    &gro_link::STORY,
    &e_1::STORY,
    &f_1::STORY,
    &f_9::STORY,
    &f_15::STORY,
    // The core: busy polling, kthreads, netpoll, sockets.
    &a_5::STORY,
    &a_7::STORY,
    &a_10::STORY,
    &a_18::STORY,
    &b_3::STORY,
    &b_5::STORY,
    &b_7::STORY,
    &b_8::STORY,
    &b_15::STORY,
    &b_16::STORY,
    &b_20::STORY,
    &c_5::STORY,
    &c_19::STORY,
    &c_1_ixgbe::STORY,
    &c_17::STORY,
    &c_21::STORY,
    &e_6::STORY,
    &e_8::STORY,
    &e_11::STORY,
    &e_17::STORY,
    &e_18::STORY,
    &e_19::STORY,
    &e_21::STORY,
    &e_24::STORY,
    &e_30::STORY,
    &e_32::STORY,
    &e_40::STORY,
    // sfc.
    &g_5::STORY,
    &g_13::STORY,
    &g_14::STORY,
    // The packet scheduler and its timers.
    &h_1::STORY,
    &h_2::STORY,
    &h_3::STORY,
    &h_4::STORY,
    &h_5::STORY,
    &h_6::STORY,
    &h_7::STORY,
    &h_9::STORY,
    &h_11::STORY,
    &h_12::STORY,
    &h_13::STORY,
    &h_16::STORY,
    &h_17::STORY,
    &h_19::STORY,
    &h_21::STORY,
];
