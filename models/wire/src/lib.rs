//! The wire: frames, captures, pacing and faults.
//!
//! Not modelled: signalling, link training, flow control frames, half duplex, and the FCS itself
//! (a corrupted frame arrives with bytes changed, as behind a switch that made a new FCS).

mod frame;

pub use frame::{flow_of, Frame};
