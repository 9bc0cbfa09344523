//! `DISABLE-MEANS-DISABLED` and `NAPI-LIFECYCLE`.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{CqId, Event, NapiId, NapiStep, Record, RingId};
use std::collections::{BTreeMap, BTreeSet};

const DISABLED: &str = "DISABLE-MEANS-DISABLED";
const CYCLE: &str = "NAPI-LIFECYCLE";

#[derive(Clone, Copy, PartialEq)]
enum Life {
    Disabled,
    Enabled,
    /// A disable was called and has not returned.
    Disabling,
    Deleted,
    Freed,
}

/// State of each context and of stopped queues.
#[derive(Default)]
pub(crate) struct Disable {
    contexts: BTreeMap<NapiId, Life>,
    /// Polls that are under way and have not given their context up, and the thread of each.
    inside: BTreeSet<(NapiId, usize)>,
    hashed: BTreeSet<NapiId>,
    stopped_cqs: BTreeSet<CqId>,
    stopped_rings: BTreeSet<RingId>,
}

impl Rule for Disable {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::NapiAdd { napi } => {
                self.contexts.insert(napi, Life::Disabled);
            }
            Event::NapiEnabled { napi } => self.becomes(napi, Life::Enabled, record, verdicts),
            Event::NapiDisabled { napi } => {
                verdicts.reach(DISABLED, "disabled");
                self.becomes(napi, Life::Disabled, record, verdicts);
                if let Some((_, thread)) = self.inside.iter().find(|(n, _)| *n == napi) {
                    let message = format!("the disable of NAPI {napi} returns, T{thread} polls it");
                    verdicts.broken(DISABLED, record, message);
                }
            }
            Event::Napi { napi, step: NapiStep::Disabling } => {
                self.becomes(napi, Life::Disabling, record, verdicts);
            }
            Event::Napi { napi, step: NapiStep::Deleted } => {
                self.becomes(napi, Life::Deleted, record, verdicts);
            }
            Event::Napi { napi, step: NapiStep::Released } => {
                self.inside.remove(&(napi, record.thread));
            }
            Event::NapiFreed { napi } => {
                self.becomes(napi, Life::Freed, record, verdicts);
                if self.hashed.remove(&napi) {
                    let message = format!("NAPI {napi} is freed while its id is in the hash");
                    verdicts.broken(CYCLE, record, message);
                }
            }
            Event::NapiHashed { napi, .. } => {
                self.hashed.insert(napi);
                if matches!(self.contexts.get(&napi), Some(Life::Deleted | Life::Freed)) {
                    let message = format!("NAPI {napi} gets an id after its delete");
                    verdicts.broken(CYCLE, record, message);
                }
            }
            Event::NapiUnhashed { napi, .. } => {
                self.hashed.remove(&napi);
            }
            Event::NapiPrep { napi, granted: true }
            | Event::Napi { napi, step: NapiStep::BusyTaken } => {
                if self.contexts.get(&napi).is_some_and(|l| *l != Life::Enabled) {
                    let message = format!("NAPI {napi} is taken during its disable, or after it");
                    verdicts.broken(DISABLED, record, message);
                }
            }
            Event::PollEnter { napi, .. } => {
                self.inside.insert((napi, record.thread));
                if self.is_off(napi) {
                    let message = format!("NAPI {napi} is polled after its disable returned");
                    verdicts.broken(DISABLED, record, message);
                }
            }
            Event::PollExit { napi, .. } => {
                self.inside.remove(&(napi, record.thread));
            }
            Event::RingStarted { ring, cq } => {
                self.stopped_rings.remove(&ring);
                self.stopped_cqs.remove(&cq);
            }
            Event::RingStopped { ring, cq } => {
                self.stopped_rings.insert(ring);
                self.stopped_cqs.insert(cq);
            }
            Event::CqeConsume { cq, .. } if self.stopped_cqs.contains(&cq) => {
                let message = format!("CQ {cq:#x} is consumed after it was stopped");
                verdicts.broken(DISABLED, record, message);
            }
            Event::Doorbell { ring, .. } if self.stopped_rings.contains(&ring) => {
                let message = format!("ring {ring:#x} is posted to after it was stopped");
                verdicts.broken(DISABLED, record, message);
            }
            _ => {}
        }
    }
}

impl Disable {
    /// Nobody may schedule or poll it. One that is being disabled is still somebody's.
    fn is_off(&self, napi: NapiId) -> bool {
        let life = self.contexts.get(&napi);
        life.is_some_and(|l| !matches!(l, Life::Enabled | Life::Disabling))
    }

    fn becomes(&mut self, napi: NapiId, to: Life, record: &Record, verdicts: &mut Verdicts) {
        let from = self.contexts.insert(napi, to);
        let legal = matches!(
            (from, to),
            (None, _)
                | (Some(Life::Enabled), Life::Disabling | Life::Disabled)
                | (Some(Life::Disabling), Life::Disabled)
                | (Some(Life::Disabled), Life::Enabled | Life::Deleted | Life::Freed)
                | (Some(Life::Deleted), Life::Freed)
        );
        verdicts.reach(CYCLE, "enabled");
        if !legal {
            let (was, what) = (name(from), done(to));
            let message = format!("NAPI {napi} is {what}, but it was {was}");
            verdicts.broken(CYCLE, record, message);
        }
    }
}

fn name(life: Option<Life>) -> &'static str {
    match life {
        None => "never added",
        Some(Life::Disabled) => "disabled",
        Some(Life::Enabled) => "enabled",
        Some(Life::Disabling) => "about to be disabled",
        Some(Life::Deleted) => "deleted",
        Some(Life::Freed) => "freed",
    }
}

fn done(to: Life) -> &'static str {
    match to {
        Life::Enabled => "enabled",
        Life::Disabling | Life::Disabled => "disabled",
        Life::Deleted => "deleted",
        Life::Freed => "freed",
    }
}
