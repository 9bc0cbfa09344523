//! `MASKED-WHILE-OWNED`: a vector whose interrupt scheduled a context is quiet until the context is
//! given up.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, NapiId, Record, INTX};
use std::collections::{BTreeMap, BTreeSet};

const ID: &str = "MASKED-WHILE-OWNED";

/// State: the vector that runs on each thread, the one that each owned context came by, and
/// contexts that were given up since they were enabled.
#[derive(Default)]
pub(crate) struct Masked {
    running: BTreeMap<usize, u32>,
    owned: BTreeMap<NapiId, u32>,
    given_up: BTreeSet<NapiId>,
}

impl Rule for Masked {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            // Others pull a shared line whenever they like.
            Event::Irq { vector } if vector != INTX => {
                self.running.insert(record.thread, vector);
            }
            Event::NapiPrep { napi, granted } if record.context.hardirq > 0 => {
                let Some(&vector) = self.running.get(&record.thread) else { return };
                if granted {
                    verdicts.reach(ID, "scheduled");
                    // On its way up a driver unmasks all vectors, whoever was scheduled already.
                    if self.given_up.contains(&napi) {
                        self.owned.insert(napi, vector);
                    }
                } else if self.owned.get(&napi) == Some(&vector) {
                    let message = format!(
                        "vector {vector} interrupts while context {napi}, which it scheduled, is \
                         still polled"
                    );
                    verdicts.broken(ID, record, message);
                }
            }
            Event::NapiEnabled { napi } => {
                self.given_up.remove(&napi);
            }
            // Who arms now gave the context up before; it was scheduled again in between.
            Event::NapiComplete { napi, done: true, .. }
            | Event::NapiDisabled { napi }
            | Event::ArmCq { napi, .. } => {
                self.owned.remove(&napi);
                self.given_up.insert(napi);
            }
            _ => {}
        }
    }
}
