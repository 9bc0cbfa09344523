//! The wire: frames, captures, pacing and faults.
//!
//! Not modelled: signalling, link training, flow control frames, half duplex, and the FCS itself
//! (a corrupted frame arrives with bytes changed, as behind a switch that made a new FCS).

mod capture;
mod fault;
mod frame;
mod pacing;
mod pcapng;

pub use capture::{
    read_capture, read_file, write_pcap, Capture, CaptureError, Packet, Problem, FILE_MAX, SNAP_MAX,
};
pub use fault::{FaultCounts, FaultRates, Faults, PER_MILLION};
pub use frame::{flow_of, Frame};
pub use pacing::{slot_ps, Arrivals, Pacing, FORTY_GIGABIT, OVERHEAD_BYTES, TEN_GIGABIT};
