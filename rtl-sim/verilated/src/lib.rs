//! The RTL in `rtl-sim/rtl` under Verilator, as safe Rust: an instance, and one call a clock cycle.
//!
//! With the feature `rtl` the build script runs Verilator and the C++ compiler (`build/rtl.rs`);
//! the pins of each block are generated from what Verilator made, so they cannot differ from the
//! RTL. Without it the crate is empty and needs nothing.
//!
//! [`rtl::Rtl`] is one instance with a context of its own: instances share nothing, may be moved
//! to another thread, and are not used by two at a time. Registers that reset leaves alone begin
//! with random values, from a seed. A failed assertion of the RTL ends the cycle with its place.

#[cfg(feature = "rtl")]
pub mod rtl;

/// Whether the RTL is built in.
pub const BUILT_IN: bool = cfg!(feature = "rtl");
