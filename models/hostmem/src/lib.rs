//! Host memory that a device reaches by DMA, in which every byte has an owner.
//!
//! Two memories with the same two faces. The device side is `dma_read` and `dma_write`; the CPU
//! side is what a driver needs (coherent areas by word, packet buffers by owner). [`HostMem`] is
//! bytes: fast, one thread, for timed runs. [`SharedMem`] is made of the cells of
//! `pollproof-sync`: small, shared, for explored runs, where an engine sees each race on it.
//!
//! Both keep the same books ([`AllocError`], [`Counters`]) and tell the same events: a transition
//! of a buffer is `Own`, a wrong one is `IllegalAccess` and does nothing.
//!
//! Not modelled: an IOMMU (bus addresses are identity), cache lines and non-coherent DMA, NUMA,
//! partial unmap, pages shared by several fragments.

mod config;
mod host;
mod ledger;
mod shared;

pub use config::{AllocError, AreaLayout, Config, Counters, FailPlan};
pub use host::{HostMem, Mapped};
pub use ledger::{BUF_BASE, COHERENT_BASE};
pub use shared::SharedMem;
