//! Findings and verdicts as text and JSON. Decides nothing: what passes and what fails comes in.

mod finding;
mod json;
mod lanes;
mod packet;
mod sched;
mod table;

pub use finding::{narrative, FindingView};
pub use json::{
    BenchJson, BenchResultJson, BugJson, CaptureJson, CheckJson, FigureJson, FiguresJson,
    QuestionJson, ScenarioJson, SummaryJson,
};
pub use lanes::{lanes, room, text, Room};
pub use table::table;

/// Version of the JSON output; grows with every change that a reader could notice.
pub const SCHEMA_VERSION: u32 = 1;
