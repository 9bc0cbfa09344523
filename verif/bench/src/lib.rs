//! The only place that sees both sides: builds the house from street to guest, timed or explored.

pub mod explored;
pub mod flows;
mod ixgbe_rest;
pub mod packets;
pub mod qtest;
pub mod rates;
pub mod replay;
pub mod run;
pub mod scenario;
pub mod team;
pub mod timed;

pub use pollproof_engines::{Checkpoint, Estimate, Progress, Verdict, Wish};
pub use pollproof_netcore::{GroOptions, NetOptions, L1};
