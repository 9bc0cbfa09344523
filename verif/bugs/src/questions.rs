//! Questions that are answered by exploration, with a trace or a proof within bounds.

use crate::scenarios::{
    BUSY_PREFER_EARLY, DD_NO_BARRIER, HASHED_BEFORE_LOCK, IXGBE_BH_ON_SPIN, RE_ADD_WITHOUT_GRACE,
    TWO_LISTS_3_18, TWO_LISTS_6_12,
};
use pollproof_bench::run::Change;
use pollproof_bench::scenario::{EngineKind, Scenario};

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
    /// And by which engine.
    pub engine: EngineKind,
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
pub const ALL: &[&Question] = &[
    &TWO_LISTS_OLD,
    &TWO_LISTS_NEW,
    &PREFER_EARLY,
    &HASHED_BIT,
    &RE_ADD,
    &SPIN_BH_ON,
    &DD_BARRIER_TSO,
    &DD_BARRIER_WEAK,
];

const TWO_LISTS_OLD: Question = Question {
    id: "two-lists-3.18",
    question:
        "Can completing and then returning the full budget put one context on two poll lists \
               (lists as in 3.18, before repoll lists)?",
    rule: "SCHED-ONE-LIST",
    scenario: &TWO_LISTS_3_18,
    engine: EngineKind::Explore,
    answer: true,
};

const TWO_LISTS_NEW: Question = Question {
    id: "two-lists-6.12",
    question: "Can it still in 6.12, which looks whether the context was rescheduled meanwhile?",
    rule: "SCHED-ONE-LIST",
    scenario: &TWO_LISTS_6_12,
    engine: EngineKind::Explore,
    answer: true,
};

const HASHED_BIT: Question = Question {
    id: "hashed-before-lock",
    question: "napi_hash_add sets HASHED before it takes the lock: can a concurrent napi_hash_del \
               unlink a context that is not linked yet?",
    rule: "NAPI-ID",
    scenario: &HASHED_BEFORE_LOCK,
    engine: EngineKind::Explore,
    answer: true,
};

const RE_ADD: Question = Question {
    id: "re-add-without-grace",
    question: "Can re-adding a context without a grace period lead a reader into another chain?",
    rule: "NAPI-ID",
    scenario: &RE_ADD_WITHOUT_GRACE,
    engine: EngineKind::Explore,
    answer: true,
};

const SPIN_BH_ON: Question = Question {
    id: "qv-lock-spin",
    question: "Can the first form of the vector's lock deadlock when a softirq interrupts its \
               holder, who has BHs on?",
    rule: "LOCK-ORDER",
    scenario: &IXGBE_BH_ON_SPIN,
    engine: EngineKind::Explore,
    answer: true,
};

const DD_BARRIER_TSO: Question = Question {
    id: "barrier-after-dd-tso",
    question: "Without the barrier after DD, can a CPU with x86's order use old words?",
    rule: "VALID-BEFORE-USE",
    scenario: &DD_NO_BARRIER,
    engine: EngineKind::ExploreTso,
    answer: false,
};

const DD_BARRIER_WEAK: Question = Question {
    id: "barrier-after-dd-weak",
    question: "And a CPU that may load out of order?",
    rule: "VALID-BEFORE-USE",
    scenario: &DD_NO_BARRIER,
    engine: EngineKind::ExploreRc11,
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
    engine: EngineKind::Explore,
    answer: true,
};
