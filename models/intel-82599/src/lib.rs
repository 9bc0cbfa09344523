//! Intel 82599 (ixgbe), one port, at the level of its registers and rings.
//!
//! [`Intel82599`] is a state machine without input and output of its own. It is told register
//! accesses, frames, read completions and the time; what it wants from the bus comes out of
//! [`Intel82599::pop`] in order, what it sends out of [`Intel82599::pop_frame`]. Timed and explored
//! runs use the same engine; the latter with [`Params::zero`], where moderation ends by
//! [`Intel82599::expire_vector`].
//!
//! The engines are state machines of their own, usable alone: [`DescriptorCache`] (fetch), [`Itr`]
//! and [`Irq`] (moderation and causes), [`TxWriteBack`], [`FlowControl`], [`Segmenter`] (offloads),
//! [`Sfp`] (the module behind its two lines).
//!
//! Sources: 82599 datasheet by section, as cited in each file; Linux 6.12 `drivers/net/ethernet/
//! intel/ixgbe` for what a driver relies on; `pollproof_regs::ixgbe*` for layouts. Where neither
//! says what the device does, there is a parameter in [`Params`] or the comment says "assumed".
//!
//! Not modelled: virtualisation (pools, mailbox), DCB classes, flow director, EtherType and 5-tuple
//! filters, low latency interrupts, header split, IPsec, LinkSec, FCoE, time stamps, wake up,
//! the TCP timer, bit-banged EEPROM, the flash. Such registers keep what is written and are listed
//! by [`Intel82599::not_modelled`].

mod crc;
mod csr;
mod device;
mod fetch;
mod filter;
mod flow;
mod irq;
mod irq_regs;
mod itr;
mod job;
mod mac;
mod misuse;
mod mmio;
mod nvm;
mod offload;
mod out;
mod params;
mod parse;
mod queue_set;
mod reset;
mod rsc;
mod rss;
mod rx;
mod rx_desc;
mod rxq;
mod sfp;
mod stuck;
mod tx;
mod txq;
mod txwb;

pub use csr::Touch;
pub use device::Intel82599;
pub use fetch::{Descriptor, DescriptorCache, Fetch, FetchPolicy, TailWrite};
pub use filter::multicast_hash;
pub use flow::{FlowConfig, FlowControl};
pub use irq::Irq;
pub use itr::Itr;
pub use misuse::Misuse;
pub use offload::{Context, Orders, Segmenter};
pub use params::{IdleWriteBack, Medium, Params, Stats};
pub use parse::{Headers, L4};
pub use rss::Toeplitz;
pub use rx::MacError;
pub use rxq::RxView;
pub use sfp::Sfp;
pub use tx::Sent;
pub use txwb::{Report, TxWriteBack};
