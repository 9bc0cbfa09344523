//! The bus between host and device: what crosses it, how long it takes, and MSI-X.
//!
//! A device says what it wants as [`Outbound`] values in order; whoever runs the bus performs them.
//! Not modelled: lanes and link training, flow-control credits, completion splitting, ordering
//! attributes (relaxed ordering, ID-based ordering), AER, configuration space.

mod link;
mod msix;
mod msix_bar;
mod outbound;
mod posted;
mod ring;

pub use link::{Link, LinkParams, GEN2_X8, GEN3_X8};
pub use msix::MsixTable;
pub use msix_bar::MsixBar;
pub use outbound::{Outbound, Payload};
pub use posted::{PostedQueue, PostedWrite};
pub use ring::{Entry, Ring};
