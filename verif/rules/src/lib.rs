//! The rules: what must hold of every run, each a pure function of the event stream.
//!
//! A rule has a stable id, a sentence, its source, its blind spots, and points that must be reached
//! at least once for a pass to mean anything. Rules see events, never internals, so they run on a
//! Rust model, on RTL and on a recorded Linux alike. Some rules are enforced below the events, by
//! the engine's race detector or by the run-time context; they are listed here with the rest.

mod catalogue;
mod catalogue_packets;
mod judge;
mod map;
mod rule;

pub use catalogue::{info, CATALOGUE};
pub use judge::{Finding, Judge};

/// What a rule says of itself.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    /// Stable id: test filter, report key, anchor in the documentation.
    pub id: &'static str,
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it can not see.
    pub blind_spots: &'static str,
    /// Points that must be reached for a pass to mean anything.
    pub must_reach: &'static [&'static str],
}
