//! Timed runs.
