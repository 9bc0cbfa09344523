//! The RTL and the models, cycle by cycle, and the first thing in which they differ.
//!
//! A *block* is a top module of `rtl-sim/rtl` with the model's engine of the same job. Both get the
//! same commands, frames, completions and stalls, drawn from a [`tape::Tape`]; what both show is
//! compared observable by observable, each with an equivalence of its own ([`equivalence`]). The
//! model is the real one of `models/`, not another copy.
//!
//! The RTL takes one step a cycle and says which: where several inputs wait, it chooses, and the
//! model is driven in the same order. When a timer fires is its choice too, within bounds. All else
//! must follow: contents, order, drops, state, and that nothing is late.
//!
//! Faults are planted on both sides ([`plants`]), and each must be found. Without the feature `rtl`
//! only the tables are here, and nobody can run anything: [`BUILT_IN`] says so.

pub mod equivalence;
pub mod plants;

#[cfg(feature = "rtl")]
mod blocks;
#[cfg(feature = "rtl")]
pub mod lock;
#[cfg(feature = "rtl")]
pub mod run;
#[cfg(feature = "rtl")]
pub mod tape;
#[cfg(feature = "rtl")]
pub mod token;
#[cfg(feature = "rtl")]
mod wave;

/// Whether the RTL is built in.
pub const BUILT_IN: bool = pollproof_verilated::BUILT_IN;

/// What to do when it is not.
pub const MISSING: &str =
    "the RTL is not built in: install the package verilator (apt-get install \
                           verilator) and build with `cargo build --release --features rtl`";
