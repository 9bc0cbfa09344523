//! A finding as a person reads it.

use crate::lanes::lanes;
use pollproof_events::Record;
use pollproof_rules::info;
use std::fmt::Write;

/// What is known of a finding.
pub struct FindingView<'a> {
    /// Rule that was broken.
    pub rule: &'static str,
    /// What happened.
    pub message: &'a str,
    /// File and line.
    pub at: Option<(&'static str, u32)>,
    /// The other half of a race.
    pub other: Option<(&'static str, u32)>,
    /// Other rules that the same execution broke.
    pub others: &'a [(&'static str, String)],
    /// Events of the execution.
    pub records: &'a [Record],
    /// Number of the event at which it came to light.
    pub event: Option<u64>,
    /// Token that replays it.
    pub replay: &'a str,
}

/// Events shown of a finding.
const EVENTS_SHOWN: usize = 12;

impl FindingView<'_> {
    /// The whole finding, for a terminal.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "FOUND  {}: {}", self.rule, self.message);
        if let Some(rule) = info(self.rule) {
            let _ = writeln!(out, "  rule    {}", rule.sentence);
        }
        if let Some((file, line)) = self.at {
            let _ = writeln!(out, "  where   {file}:{line}");
        }
        if let Some((file, line)) = self.other {
            let _ = writeln!(out, "  against {file}:{line}");
        }
        for (rule, message) in self.others.iter().take(4) {
            let _ = writeln!(out, "  also    {rule}: {message}");
        }
        for line in lanes(self.records, self.event, EVENTS_SHOWN) {
            let _ = writeln!(out, "  {line}");
        }
        let _ = writeln!(out, "  replay  pollproof replay '{}'", self.replay);
        let _ = writeln!(out, "  explain pollproof explain {}", self.rule);
        out
    }
}

/// A finding as a short story without places in the code, which do not matter to it: at most twelve
/// lines. Checked in beside each bug and compared in the tests.
pub fn narrative(rule: &str, message: &str, records: &[Record], event: Option<u64>) -> String {
    let mut out = format!("{rule}\n");
    // A message of the race detector carries places; its first part says what it is about.
    let short = message.split(" by T").next().unwrap_or(message);
    let _ = writeln!(out, "{short}");
    for line in lanes(records, event, 9) {
        let _ = writeln!(out, "{line}");
    }
    out
}
