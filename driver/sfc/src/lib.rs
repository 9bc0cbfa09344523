//! Linux's sfc on an EF10: channels with their event queue, receiving through lists and GRO,
//! sending with completions by events, adaptive moderation.
//!
//! Modules follow the kernel's files (`drivers/net/ethernet/sfc/`, Linux 6.12, with the form of the
//! series of November 2018 as an option). Left out: probe by MCDI (commands are calls of [`Mcdi`]),
//! filters, RSS tables, page rings and recycling (a buffer a packet), TSO and option descriptors,
//! PIO, XDP, PTP, virtual functions, resets, statistics by DMA, MSI and legacy interrupts.

mod channel;
mod moderation;
mod netdev;
mod rx;
mod tx;

pub use channel::{Channel, ChannelStats};
pub use moderation::Moderation;
pub use netdev::{ChannelState, OpenError};
pub use tx::TxQueue;

use pollproof_kapi::Below;
use pollproof_netcore::Net;
use pollproof_regs::ef10::{EvqContext, McdiError, RingContext};
use std::sync::{Arc, OnceLock};

/// Commands of firmware, which answer at once.
pub trait Mcdi: Send + Sync {
    /// `MC_CMD_INIT_EVQ`.
    fn init_evq(&self, evq: u32, context: EvqContext) -> Result<(), McdiError>;
    /// `MC_CMD_FINI_EVQ`.
    fn fini_evq(&self, evq: u32) -> Result<(), McdiError>;
    /// `MC_CMD_INIT_RXQ`.
    fn init_rxq(&self, rxq: u32, context: RingContext) -> Result<(), McdiError>;
    /// `MC_CMD_FINI_RXQ`.
    fn fini_rxq(&self, rxq: u32) -> Result<(), McdiError>;
    /// `MC_CMD_INIT_TXQ`.
    fn init_txq(&self, txq: u32, context: RingContext) -> Result<(), McdiError>;
    /// `MC_CMD_FINI_TXQ`.
    fn fini_txq(&self, txq: u32) -> Result<(), McdiError>;
    /// `MC_CMD_RSS_CONTEXT_SET_KEY` and `_SET_TABLE`: so many queues in turn.
    fn set_rss(&self, key: [u8; 40], queues: u32) -> Result<(), McdiError>;
}

/// How packets of a poll go to GRO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RxForm {
    /// Each by `napi_gro_frags`, the rest as a list at the end (5.0 to 6.12).
    V6_12,
    /// All that GRO may take as a list at the end, too (the series of November 2018).
    GroList,
}

/// Settings of a port.
#[derive(Clone, Debug)]
pub struct SfcOptions {
    /// Channels.
    pub channels: u32,
    /// Entries of a receive ring, a power of two from 16 to 4096; eight stay free.
    pub rxq_entries: u32,
    /// Entries of a send ring, alike.
    pub txq_entries: u32,
    /// Way of packets to GRO.
    pub rx_form: RxForm,
    /// Firmware may tell of several packets by one event.
    pub rx_merge: bool,
    /// Most descriptors of a frame.
    pub scatter_max: u32,
    /// `rx_irq_mod_usecs`: longest hold-off of interrupts.
    pub rx_irq_mod_us: u32,
    /// The hold-off follows the load (`irq_rx_adaptive`).
    pub adaptive: bool,
    /// NAPI weight.
    pub weight: i32,
    /// MSI-X vector of the first channel.
    pub first_vector: u32,
}

impl Default for SfcOptions {
    fn default() -> Self {
        Self {
            channels: 1,
            rxq_entries: 1024,
            txq_entries: 1024,
            rx_form: RxForm::V6_12,
            rx_merge: true,
            scatter_max: 8,
            rx_irq_mod_us: 60,
            adaptive: true,
            weight: pollproof_netcore::POLL_WEIGHT,
            first_vector: 0,
        }
    }
}

/// A port (`struct efx_nic`).
pub struct Efx {
    /// Settings.
    pub options: SfcOptions,
    pub(crate) below: Below,
    pub(crate) net: Arc<Net>,
    pub(crate) mcdi: Arc<dyn Mcdi>,
    pub(crate) channels: OnceLock<Vec<Arc<Channel>>>,
}

/// First timer that fills a dry ring; lower ones belong to NAPI contexts, by slot.
pub const FIRST_SLOW_FILL_TIMER: u32 = 0x1000;
/// A timer quantum of the device, nanoseconds. Firmware tells it; assumed.
pub const TIMER_QUANTUM_NS: u32 = 1_000;
