//! Timed runs: the house from street to guest in simulated time, on one thread.
//!
//! A run is a function of its options and frames: the same give the same report and the same
//! events, bit for bit. Not modelled: caches and their misses (a packet costs what
//! [`CpuCosts`] says), interrupts that interrupt a softirq (they wait for its end), threaded NAPI,
//! and what races between process context and softirqs (it waits until none is pending; an
//! interrupt that comes meanwhile waits for its end, or is gone when its vector is synchronized).

mod bus;
mod capture;
mod counts;
mod cpu;
mod host;
mod house;
mod ixgbe;
mod judged;
mod mlx4;
mod nic;
mod options;
mod registers;
mod report;
mod sfc;
mod world;

pub use capture::{run_capture, CaptureReport};
pub use host::TimedHost;
pub use house::{run_frames, House, IxgbeHouse, SfcHouse, TimedHouse};
pub use ixgbe::Ixgbe;
pub use judged::{run_judged, Judged};
pub use mlx4::Mlx4;
pub use nic::{Device, Nic, Parts, Shape};
pub use options::{
    AffinityMove, CpuCosts, IxgbeTimedOptions, Options, SfcTimedOptions, TimedOptions,
};
pub use report::{Ended, QueueReport, TimedReport};
pub use sfc::Sfc;

use pollproof_sim::QueueFull;

/// Why a timed run gave no report.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TimedError {
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
    /// The port does not open.
    #[error("the port does not open: {0}")]
    Open(#[from] pollproof_mlx4::OpenError),
    /// The port does not open.
    #[error("the port does not open: {0}")]
    OpenIxgbe(#[from] pollproof_ixgbe::OpenError),
    /// The port does not open.
    #[error("the port does not open: {0}")]
    OpenSfc(#[from] pollproof_sfc::OpenError),
    /// The limit of steps was hit.
    #[error("the run took more than {0} steps")]
    TooManyEvents(u64),
    /// The run was cut some steps after a rule was broken.
    #[error("the run was cut {0} steps after the first finding")]
    CutAfterFinding(u64),
    /// Driver or model panicked.
    #[error("the run panicked: {0}")]
    Panicked(String),
    /// Too much at once.
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
}

/// Why a capture could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file can not be read.
    #[error(transparent)]
    File(#[from] pollproof_wire::CaptureError),
    /// The options make no sense.
    #[error(transparent)]
    Run(#[from] TimedError),
}
