//! `NO-LOST-WORK`: when nothing runs any more, nothing is left to do, or somebody is coming.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, Record, RestCq};

const ID: &str = "NO-LOST-WORK";

/// No state: a rest event says all.
#[derive(Default)]
pub(crate) struct Rest;

impl Rule for Rest {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let Event::Rest(rest) = record.event else { return };
        verdicts.reach(ID, "rest");
        if let Some(message) = lost(&rest) {
            verdicts.broken(ID, record, message);
        }
    }
}

fn lost(rest: &RestCq) -> Option<String> {
    if !rest.enabled || rest.wakeup {
        return None;
    }
    let cq = rest.cq;
    if rest.unconsumed > 0 {
        let n = rest.unconsumed;
        return Some(format!("{n} completions wait in CQ {cq:#x} and nobody is coming"));
    }
    if rest.posted == 0 {
        return Some(format!("the ring of CQ {cq:#x} is empty and nobody will refill it"));
    }
    if !rest.armed {
        return Some(format!("CQ {cq:#x} is idle and not armed: its next packet wakes nobody"));
    }
    None
}
