//! The judge of a run: shows every event to all rules and collects what they say.

use crate::rule::Rules;
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
pub(crate) struct Verdicts {
    pub(crate) findings: Vec<Finding>,
    pub(crate) reached: BTreeSet<(&'static str, &'static str)>,
    /// Where the texts of points lie that were reached: most are reached again and again.
    known: [usize; KNOWN],
}

/// Places for known points.
const KNOWN: usize = 64;

impl Default for Verdicts {
    fn default() -> Self {
        Self { findings: Vec::new(), reached: BTreeSet::new(), known: [0; KNOWN] }
    }
}

impl Verdicts {
    /// The rule is broken by this event.
    #[cold]
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
    #[inline]
    pub(crate) fn reach(&mut self, rule: &'static str, point: &'static str) {
        // The same text may belong to several rules, so both places count.
        let place = (rule.as_ptr() as usize).rotate_left(32) ^ point.as_ptr() as usize;
        if self.known[place % KNOWN] != place {
            self.known[place % KNOWN] = place;
            self.reached.insert((rule, point));
        }
    }
}

/// All rules over one run.
#[derive(Default)]
pub struct Judge {
    rules: Rules,
    verdicts: Verdicts,
}

impl Judge {
    /// A judge with all rules.
    pub fn new() -> Self {
        Self::default()
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
        &self.verdicts.findings
    }

    /// Points reached so far, with their rules.
    pub fn reached(&self) -> &BTreeSet<(&'static str, &'static str)> {
        &self.verdicts.reached
    }
}

impl Visitor for Judge {
    fn visit(&mut self, record: &Record) {
        self.rules.see(record, &mut self.verdicts);
    }
}
