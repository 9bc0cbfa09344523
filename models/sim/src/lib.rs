//! Simulated time, event order and named random streams.
//!
//! Time is picoseconds in 64 bits, which is 213 days. Nothing here reads a clock or the operating
//! system's randomness: one seed gives one run.

mod queue;
mod streams;

pub use queue::{EventQueue, Handle, QueueFull};
pub use streams::{Stream, Streams};
