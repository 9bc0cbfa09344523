//! `ARM-DISCIPLINE`: an interrupt is asked for only after a completion that allowed it, once each.
//! `IRQ-PROGRESS`: a queue does not fire again and again for what it has fired for.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{CqId, Event, NapiId, Record};
use std::collections::{BTreeMap, BTreeSet};

const ID: &str = "ARM-DISCIPLINE";
const PROGRESS: &str = "IRQ-PROGRESS";

/// Fires of one queue at one producer index. Twice is a race that was won late; more often means
/// that nobody takes what is there, or that nobody says that it was taken.
const FIRES_MAX: u32 = 8;

/// State: permissions to arm, by thread and context.
#[derive(Default)]
pub(crate) struct Arm {
    allowed: BTreeMap<(usize, NapiId), bool>,
    polled: BTreeSet<NapiId>,
    /// Producer index of each queue's last fire, and how often it fired there.
    fired: BTreeMap<CqId, (u32, u32)>,
}

impl Rule for Arm {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::PollEnter { napi, .. } => {
                self.polled.insert(napi);
                self.allowed.insert((record.thread, napi), false);
            }
            Event::NapiComplete { napi, done, .. } => {
                self.allowed.insert((record.thread, napi), done);
            }
            // The arm that opens a queue again needs no completion either.
            Event::NapiEnabled { napi } => {
                self.polled.remove(&napi);
            }
            Event::RingStarted { cq, .. } => {
                self.fired.remove(&cq);
            }
            Event::CqFired { cq, producer } => {
                let (at, fires) = self.fired.entry(cq).or_insert((producer, 0));
                *fires = if *at == producer { *fires + 1 } else { 1 };
                *at = producer;
                if *fires > FIRES_MAX {
                    let message = format!(
                        "CQ {cq:#x} fired {fires} times at producer index {producer}: interrupts \
                         without progress"
                    );
                    verdicts.broken(PROGRESS, record, message);
                }
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
