//! The peer of timed runs: QEMU's model of an 82574 (`e1000e`), driven over its qtest socket.
//!
//! QEMU runs without a guest: whoever holds the socket reads and writes memory and registers, one
//! line a request. So there is no driver and no CPU on that side, and each access costs a round
//! trip; [`E1000e::kick`] needs four for as many frames as the ring holds.

mod e1000e;
mod wire;

pub use e1000e::E1000e;
pub use wire::{Qtest, QtestError};

/// What QEMU's side models, for who reads a comparison.
pub const FEATURES: &[&str] = &[
    "82574 registers, legacy descriptors, DMA to and from guest memory at once",
    "each frame is sent and received: MAC loopback, descriptor write-backs on both sides",
    "MAC filter, receive statistics, interrupt causes (masked here); no RSS in this set-up",
    "no time on wire, bus or device; no moderation at work; no MSI-X message is sent",
    "no guest: no driver, no NAPI, no socket; the harness rings the tail and reads the counter",
    "every access of the harness is a round trip through a socket, four for a ring of frames",
];
