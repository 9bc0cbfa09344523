//! Builds the RTL where the feature `rtl` is on: Verilator makes C++ of each block, and what its
//! ports are is read from there, so that pins have one source.
//!
//! A block is built again only when its own text or the way it is built changed.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "rtl")]
    rtl::build();
}

#[cfg(feature = "rtl")]
#[path = "build/rtl.rs"]
mod rtl;
