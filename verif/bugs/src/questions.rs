//! Questions that are answered by exploration, with a trace or a proof within bounds.

use crate::scenarios::{BUSY_PREFER_EARLY, TWO_LISTS_3_18, TWO_LISTS_6_12};
use pollproof_bench::run::Change;
use pollproof_bench::scenario::Scenario;

/// A question and the scenario that decides it.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Stable id.
    pub id: &'static str,
    /// The question; yes is a finding of the rule.
    pub question: &'static str,
    /// Rule that a yes breaks.
    pub rule: &'static str,
    /// Where it is decided.
    pub scenario: &'static Scenario,
    /// What exploration found: true is yes, with a trace.
    pub answer: bool,
}

impl Question {
    /// The surroundings in which the scenario decides it.
    pub fn change(&self) -> Change {
        Change { only: Some(self.rule), ..Change::default() }
    }
}

/// All questions.
pub const ALL: &[&Question] = &[&TWO_LISTS_OLD, &TWO_LISTS_NEW, &PREFER_EARLY];

const TWO_LISTS_OLD: Question = Question {
    id: "two-lists-3.18",
    question:
        "Can completing and then returning the full budget put one context on two poll lists \
               (lists as in 3.18, before repoll lists)?",
    rule: "SCHED-ONE-LIST",
    scenario: &TWO_LISTS_3_18,
    answer: true,
};

const TWO_LISTS_NEW: Question = Question {
    id: "two-lists-6.12",
    question: "Can it still in 6.12, which looks whether the context was rescheduled meanwhile?",
    rule: "SCHED-ONE-LIST",
    scenario: &TWO_LISTS_6_12,
    answer: true,
};

const PREFER_EARLY: Question = Question {
    id: "prefer-early-timer",
    question:
        "A busy poller of 6.12 that will be back starts a timer instead of the interrupt, and \
               gives the context up after one more poll. Can the timer fire before that, so that \
               nobody comes?",
    rule: "NO-LOST-WORK",
    scenario: &BUSY_PREFER_EARLY,
    answer: true,
};
