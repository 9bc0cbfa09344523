//! ConnectX-3 as far as receiving goes: completion queues, event queues, receive rings.
//!
//! [`ConnectX3`] is a state machine without input and output of its own. It is told commands,
//! register writes, frames, read completions and the time; what it wants from the bus comes out of
//! [`ConnectX3::pop`] in order. Timed and explored runs use the same engine; the latter with
//! [`Params::zero`], where a moderation timer may expire whenever it is pending.
//!
//! Words of registers and of memory are taken as they lie, read little endian; the device is big
//! endian (`pollproof_regs::mlx4::be`).
//!
//! Sources: Linux 6.12 `drivers/net/ethernet/mellanox/mlx4/{eq,cq,en_rx}.c` for what a driver
//! relies on, PRM bit tables of iPXE's `MT25408_PRM.h` for layouts. Where neither says what the
//! device does, the comment says "assumed".
//!
//! [`Hca`] is the whole PCI function around those engines, as an unmodified driver finds it.
//!
//! Not modelled by the engines: memory keys (an lkey is identity, only `LKEY_INVALID` means
//! "unused"), SRQ, VLAN stripping, MAC filter and multicast,
//! pause frames, EQ moderation, CQE compression and timestamps, CHECKSUM_COMPLETE (the checksum
//! field is 0xffff for a good TCP or UDP checksum, else 0), flush completions of a stopped ring.
//!
//! A command is complete when it returned `Ok` and what was queued before that was popped.

mod commands;
mod cq;
mod device;
mod eq;
mod hca;
mod mmio;
mod out;
mod params;
mod parse;
mod rq;
mod rss;
mod rx;

pub use cq::{Completion, CqView, Room};
pub use device::ConnectX3;
pub use eq::EqView;
pub use hca::{Hca, HcaParams, MULTICAST_MAX};
pub use params::{ArmSource, Params, Stats, CQ_MAX_COUNT, CQ_PERIOD_US};
pub use parse::{classify, Class};
pub use rq::RqView;
pub use rss::Toeplitz;
