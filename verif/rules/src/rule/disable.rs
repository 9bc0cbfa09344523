//! `DISABLE-MEANS-DISABLED` and `NAPI-LIFECYCLE`.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{CqId, Event, NapiId, Record, RingId};
use std::collections::{BTreeMap, BTreeSet};

const DISABLED: &str = "DISABLE-MEANS-DISABLED";
const CYCLE: &str = "NAPI-LIFECYCLE";

#[derive(Clone, Copy, PartialEq)]
enum Life {
    Disabled,
    Enabled,
    Freed,
}

/// State of each context and of stopped queues.
#[derive(Default)]
pub(crate) struct Disable {
    contexts: BTreeMap<NapiId, Life>,
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
            }
            Event::NapiFreed { napi } => self.becomes(napi, Life::Freed, record, verdicts),
            Event::PollEnter { napi, .. } => {
                if self.contexts.get(&napi).is_some_and(|l| *l != Life::Enabled) {
                    let message = format!("NAPI {napi} is polled after its disable returned");
                    verdicts.broken(DISABLED, record, message);
                }
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
    fn becomes(&mut self, napi: NapiId, to: Life, record: &Record, verdicts: &mut Verdicts) {
        let from = self.contexts.insert(napi, to);
        let legal = matches!(
            (from, to),
            (None, _)
                | (Some(Life::Disabled), Life::Enabled)
                | (Some(Life::Enabled), Life::Disabled)
                | (Some(Life::Disabled), Life::Freed)
        );
        verdicts.reach(CYCLE, "enabled");
        if !legal {
            let message = match to {
                Life::Enabled => format!("NAPI {napi} is enabled, but was not disabled"),
                Life::Disabled => format!("NAPI {napi} is disabled twice"),
                Life::Freed => format!("NAPI {napi} is freed, but was not disabled"),
            };
            verdicts.broken(CYCLE, record, message);
        }
    }
}
