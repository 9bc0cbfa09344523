//! Solarflare EF10 as far as a driver's channel goes: event queues with their interrupt, receive
//! rings with merged events, send rings.
//!
//! [`Ef10`] is a state machine without input and output of its own, driven as the other devices:
//! commands of firmware (calls that answer at once), register writes, frames, answers to reads, and
//! time; what it wants from the bus comes out of [`Ef10::pop`] in order.
//!
//! Sources: Linux 6.12 `drivers/net/ethernet/sfc/{ef10,efx_channels,rx,rx_common}.c` for what a
//! driver relies on. Where it does not say what the device does, the comment says "assumed". How a
//! frame is parsed and hashed is that of `pollproof-connectx-3`, which no driver sees.
//!
//! Not modelled: MCDI by mailbox, filters, several ports, VLAN stripping, push of a descriptor by
//! doorbell, the indirect register access of a firmware workaround, timestamps, tunnels, CRC
//! errors, flow control, statistics by DMA.

mod device;
mod evq;
mod params;
mod rxq;
mod txq;

pub use device::Ef10;
pub use params::{Params, Stats};
