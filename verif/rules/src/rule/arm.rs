//! `ARM-DISCIPLINE`: an interrupt is asked for only after a completion that allowed it, once each.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, NapiId, Record};
use std::collections::{BTreeMap, BTreeSet};

const ID: &str = "ARM-DISCIPLINE";

/// State: permissions to arm, by thread and context.
#[derive(Default)]
pub(crate) struct Arm {
    allowed: BTreeMap<(usize, NapiId), bool>,
    polled: BTreeSet<NapiId>,
}

impl Rule for Arm {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts<'_>) {
        match record.event {
            Event::PollEnter { napi, .. } => {
                self.polled.insert(napi);
                self.allowed.insert((record.thread, napi), false);
            }
            Event::NapiComplete { napi, done, .. } => {
                self.allowed.insert((record.thread, napi), done);
            }
            // The queue's first arm, when it is opened, needs no completion.
            Event::ArmCq { napi, .. } if !self.polled.contains(&napi) => {}
            Event::ArmCq { cq, napi, .. } => {
                verdicts.reach(ID, "armed");
                if self.allowed.insert((record.thread, napi), false) != Some(true) {
                    let message = format!(
                        "CQ {cq:#x} is armed although its context was not given up just before"
                    );
                    verdicts.broken(ID, record, message);
                }
            }
            _ => {}
        }
    }
}
