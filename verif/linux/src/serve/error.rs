//! Bounds of serving, and why it ends early.

use crate::calendar::CalendarError;
use crate::command::CommandError;
use crate::memory::MemoryError;
use crate::vhost::ring::RingError;
use crate::vhost::session::SessionError;
use crate::vhost::socket::SocketError;
use crate::world::WorldError;
use std::io;
use std::time::Duration;

/// Bounds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time on the wall that the whole run may take.
    pub wall: Duration,
    /// Time on the wall that a kernel may say nothing under simulated time.
    pub silence: Duration,
    /// Simulated time that a run may take, nanoseconds.
    pub simulated_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let (wall, silence) = (Duration::from_secs(300), Duration::from_secs(60));
        Self { wall, silence, simulated_ns: 3_600_000_000_000 }
    }
}

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Socket.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// Session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Device.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Time.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
    /// The system.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// Over the limit.
    #[error("{0}")]
    Limit(&'static str),
    /// The kernel does nothing any more.
    #[error("the kernel hangs: {0}")]
    Hang(&'static str),
    /// The kernel does not take an interrupt.
    #[error("the kernel refused an interrupt")]
    Refused,
    /// The kernel gives no buffers for interrupts.
    #[error("{0} interrupts wait for a buffer of the kernel")]
    Pending(usize),
    /// There are commands without end.
    #[error("one kick brought more than {0} commands")]
    Flood(u32),
}

impl ServeError {
    /// Whether a bound was hit, so that nothing is said of the kernel.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Limit(_))
    }
}

pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> ServeError {
    move |error| ServeError::System { what, error }
}
