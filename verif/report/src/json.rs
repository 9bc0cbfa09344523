//! The JSON of `check`. Fields are only ever added; `schema_version` grows when a meaning changes.

use serde::Serialize;

/// `pollproof check --format json`.
#[derive(Debug, Serialize)]
pub struct CheckJson {
    /// Version of this layout.
    pub schema_version: u32,
    /// `clean`, `findings`, `inconclusive`, `nothing-selected`.
    pub status: &'static str,
    /// Counts.
    pub summary: SummaryJson,
    /// One entry a documented bug.
    pub bugs: Vec<BugJson>,
    /// One entry a scenario and engine.
    pub scenarios: Vec<ScenarioJson>,
    /// One entry a question.
    pub questions: Vec<QuestionJson>,
    /// One entry a capture.
    pub captures: Vec<CaptureJson>,
    /// What Linux's own driver did, or why it was not run; null where filters exclude it.
    pub linux: Option<String>,
    /// What lock-step with the RTL found, or why it was not run; null where filters exclude it.
    pub lockstep: Option<String>,
}

/// Counts.
#[derive(Debug, Default, Serialize)]
pub struct SummaryJson {
    /// Bugs run.
    pub bugs: u64,
    /// Bugs whose rule caught them.
    pub caught: u64,
    /// Bugs that were not caught although the engine can see them.
    pub missed: u64,
    /// Bugs whose fixed form is clean.
    pub clean: u64,
    /// Fixed forms in which a rule was broken.
    pub false_alarms: u64,
    /// Scenarios run, once an engine.
    pub scenarios: u64,
    /// Of these: explored to the end.
    pub exhaustive: u64,
    /// Of these: explored within a stated bound.
    pub bounded: u64,
    /// Of these: sampled at random.
    pub sampled: u64,
    /// Of these: cut, or a point that must be reached was not.
    pub unknown: u64,
}

/// A documented bug, both ways.
#[derive(Debug, Serialize)]
pub struct BugJson {
    /// Id.
    pub id: &'static str,
    /// Where it comes from.
    pub origin: &'static str,
    /// Rule that must catch it.
    pub rule: &'static str,
    /// Engine that ran it.
    pub engine: &'static str,
    /// Whether the rule caught it; null when this engine can not see it.
    pub caught: Option<bool>,
    /// Why this engine can not see it.
    pub unseen: Option<&'static str>,
    /// Executions until it was caught.
    pub executions: u64,
    /// Events that the rules saw until then.
    pub events: u64,
    /// Verdict of the fixed form.
    pub verdict_fixed: String,
    /// Token that replays it.
    pub replay: Option<String>,
}

/// A scenario under an engine.
#[derive(Debug, Serialize)]
pub struct ScenarioJson {
    /// Id.
    pub id: &'static str,
    /// Engine.
    pub engine: &'static str,
    /// Memory model in which it ran.
    pub memory_model: &'static str,
    /// Threads and agents.
    pub threads: u32,
    /// Verdict, its label first.
    pub verdict: String,
    /// Executions.
    pub executions: u64,
    /// Executions known to suffice, from an independent source.
    pub optimal: Option<u64>,
    /// Processor time.
    pub seconds: f64,
    /// What was found, if anything.
    pub finding: Option<String>,
}

/// A question decided by exploration.
#[derive(Debug, Serialize)]
pub struct QuestionJson {
    /// Id.
    pub id: &'static str,
    /// The question.
    pub question: &'static str,
    /// `yes`, `no` or `undecided`.
    pub answer: &'static str,
    /// Token that shows a yes, or the verdict behind a no.
    pub shown_by: String,
}

/// A capture through the house.
#[derive(Debug, Serialize)]
pub struct CaptureJson {
    /// Name of the file.
    pub id: String,
    /// Device.
    pub nic: &'static str,
    /// Frames in.
    pub frames: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// Frames dropped.
    pub dropped: u64,
    /// What was found, if anything.
    pub finding: Option<String>,
}

/// What `bench --format json` prints.
#[derive(Debug, Serialize)]
pub struct BenchJson {
    /// Version of the output.
    pub schema_version: u32,
    /// Measurements.
    pub results: Vec<BenchResultJson>,
    /// What each side of a comparison does, and what could not be measured.
    pub notes: Vec<String>,
}

/// One measurement beside a peer's of the same run.
#[derive(Debug, Serialize)]
pub struct BenchResultJson {
    /// What was measured.
    pub id: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// Who else; empty when there is nobody to compare with.
    pub peer: &'static str,
    /// How much of the same; 0 when it was not measured.
    pub peer_value: f64,
    /// Value by the peer's; 0 when that was not measured.
    pub ratio: f64,
}

/// `figures --format json`.
#[derive(Debug, Serialize)]
pub struct FiguresJson {
    /// Version of the output.
    pub schema_version: u32,
    /// Figures.
    pub cells: Vec<FigureJson>,
}

/// A figure beside what the models give.
#[derive(Debug, Serialize)]
pub struct FigureJson {
    /// What it is.
    pub id: String,
    /// Where it was published; empty if it was not.
    pub source: &'static str,
    /// As published, if it was.
    pub published: Option<f64>,
    /// As computed.
    pub computed: f64,
    /// By how much the second is off, as a fraction.
    pub error: Option<f64>,
    /// `fitted`, `predicted` or `simulated`.
    pub tag: &'static str,
    /// Of what.
    pub parameters: String,
}
