//! `NO-LOST-WORK`: when nothing runs any more, nothing is left to do, or somebody is coming.
//! `QUEUE-ISOLATION`, `CAUSE-LEDGER`: what a device must not keep to itself then.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, Record, RestCq, RestDevice, RestTx};

const ID: &str = "NO-LOST-WORK";
const ISOLATION: &str = "QUEUE-ISOLATION";
const CAUSES: &str = "CAUSE-LEDGER";

/// No state: a rest event says all.
#[derive(Default)]
pub(crate) struct Rest;

impl Rule for Rest {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::Rest(rest) => {
                verdicts.reach(ID, "rest");
                if let Some(message) = lost(&rest) {
                    verdicts.broken(ID, record, message);
                }
            }
            Event::RestTx(RestTx { tail, stopped: true, enabled: true, wakeup: false, .. }) => {
                let message = format!("the queue of ring {tail:#x} has room and nobody wakes it");
                verdicts.broken(ID, record, message);
            }
            Event::RestTx(RestTx { tail, uncleaned, enabled: true, wakeup: false, .. })
                if uncleaned > 0 =>
            {
                let message = format!(
                    "{uncleaned} descriptors of ring {tail:#x} are sent and nobody comes to know"
                );
                verdicts.broken(ID, record, message);
            }
            Event::RestDevice(rest) => at_rest(&rest, record, verdicts),
            _ => {}
        }
    }
}

fn at_rest(rest: &RestDevice, record: &Record, verdicts: &mut Verdicts) {
    verdicts.reach(ISOLATION, "rest");
    verdicts.reach(CAUSES, "rest");
    if rest.blocked > 0 {
        let n = rest.blocked;
        let message =
            format!("{n} frames wait in the device behind one whose queue has no descriptor");
        verdicts.broken(ISOLATION, record, message);
    }
    if rest.causes != 0 {
        let causes = rest.causes;
        let message = format!("causes {causes:#x} are set and enabled, and interrupt nobody");
        verdicts.broken(CAUSES, record, message);
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
