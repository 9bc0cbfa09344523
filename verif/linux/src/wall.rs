//! The clock on the wall: for runs in real time, and for limits. Nothing else may look at it.

use std::time::{Duration, Instant};

/// A clock that began when it was made.
#[derive(Clone, Copy, Debug)]
pub struct Wall(Instant);

impl Wall {
    /// Begins now.
    #[allow(clippy::disallowed_methods, reason = "the one place; simulated time is the calendar's")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since then.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// Since then, picoseconds.
    pub fn elapsed_ps(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000)
    }
}
