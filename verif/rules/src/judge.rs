//! The judge of a run: shows every event to all rules and collects what they say.

use crate::rule::{self, Rule};
use pollproof_events::{Record, Visitor};
use std::collections::BTreeSet;

/// A rule that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Rule.
    pub rule: &'static str,
    /// What happened, in one line.
    pub message: String,
    /// File and line.
    pub at: (&'static str, u32),
    /// Thread that did it.
    pub thread: usize,
    /// Number of the event, if it was one.
    pub event: Option<u64>,
    /// The other half of a race, or the earlier event that makes this one wrong.
    pub other: Option<String>,
}

/// What the rules may say while they look at one event.
pub(crate) struct Verdicts<'a> {
    pub(crate) findings: &'a mut Vec<Finding>,
    pub(crate) reached: &'a mut BTreeSet<(&'static str, &'static str)>,
}

impl Verdicts<'_> {
    /// The rule is broken by this event.
    pub(crate) fn broken(&mut self, rule: &'static str, record: &Record, message: String) {
        // One finding a rule is enough; a broken run repeats itself.
        if self.findings.iter().any(|f| f.rule == rule) {
            return;
        }
        self.findings.push(Finding {
            rule,
            message,
            at: record.at,
            thread: record.thread,
            event: Some(record.number),
            other: None,
        });
    }

    /// A point that must be reached was reached.
    pub(crate) fn reach(&mut self, rule: &'static str, point: &'static str) {
        self.reached.insert((rule, point));
    }
}

/// All rules over one run.
pub struct Judge {
    rules: Vec<Box<dyn Rule>>,
    findings: Vec<Finding>,
    reached: BTreeSet<(&'static str, &'static str)>,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new()
    }
}

impl Judge {
    /// A judge with all rules.
    pub fn new() -> Self {
        Self { rules: rule::all(), findings: Vec::new(), reached: BTreeSet::new() }
    }

    /// Judges a whole run at once.
    pub fn of(records: &[Record]) -> Self {
        let mut judge = Self::new();
        for record in records {
            judge.visit(record);
        }
        judge
    }

    /// What was broken so far, in the order it happened.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Points reached so far, with their rules.
    pub fn reached(&self) -> &BTreeSet<(&'static str, &'static str)> {
        &self.reached
    }
}

impl Visitor for Judge {
    fn visit(&mut self, record: &Record) {
        let mut verdicts = Verdicts { findings: &mut self.findings, reached: &mut self.reached };
        for rule in &mut self.rules {
            rule.see(record, &mut verdicts);
        }
    }
}
