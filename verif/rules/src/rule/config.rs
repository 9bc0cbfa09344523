//! `QDISC-CONFIG`: settings are refused or take effect as they were given, and a dump says so.
//!
//! Lengths and ranges are written down here once more, after `include/uapi/linux/pkt_sched.h` and
//! the policy of fq: the rule does not ask the driver.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::FewMap;
use pollproof_events::{Event, QdiscId, Record, Sched, NO_FLOW_WAITS};
use std::collections::{BTreeMap, BTreeSet};

const ID: &str = "QDISC-CONFIG";

/// An attribute: type, name, length of its payload, least and largest value.
type Attribute = (u16, &'static str, u32, u64, u64);

const U32: u64 = u32::MAX as u64;
const ANY: u64 = u64::MAX;
const ATTRIBUTES: [Attribute; 17] = [
    (1, "limit", 4, 0, U32),
    (2, "flow_limit", 4, 0, U32),
    (3, "quantum", 4, 1, 1 << 20),
    (4, "initial_quantum", 4, 0, i32::MAX as u64),
    (5, "rate_enable", 4, 0, 1),
    (6, "defrate", 4, 0, U32),
    (7, "maxrate", 4, 0, U32),
    (8, "buckets", 4, 1, 18),
    (9, "refill_delay", 4, 0, U32),
    (10, "orphan_mask", 4, 0, U32),
    (11, "low_rate_threshold", 4, 0, U32),
    (12, "ce_threshold", 4, 0, U32),
    (13, "timer_slack", 4, 0, U32),
    (14, "horizon", 4, 0, U32),
    (15, "horizon_drop", 1, 0, 255),
    (16, "priomap", 20, 0, ANY),
    (17, "weights", 12, 0, ANY),
];

/// `defrate` is taken and ignored, and told by no dump.
const NEVER_DUMPED: u16 = 6;

#[derive(Default)]
struct Qdisc {
    slack_ns: u64,
    /// What was set last, and what was dumped before that.
    values: BTreeMap<u16, u64>,
    waiting: BTreeSet<(u64, u64)>,
    until: BTreeMap<u64, u64>,
}

/// State: settings.
#[derive(Default)]
pub(crate) struct Configs {
    qdiscs: FewMap<QdiscId, Qdisc>,
}

impl Rule for Configs {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let Event::Sched(event) = record.event else { return };
        match event {
            Sched::Promise(p) => self.qdiscs.entry(p.qdisc).slack_ns = p.slack_ns,
            Sched::Attr { qdisc, kind, len, value } => {
                self.qdiscs.entry(qdisc).set(kind, len, value, record, verdicts);
            }
            Sched::Dump { qdisc, kind, value } => {
                self.qdiscs.entry(qdisc).dumped(kind, value, record, verdicts);
            }
            Sched::Throttle { qdisc, flow, until_ns } => {
                let qdisc = self.qdiscs.entry(qdisc);
                qdisc.goes_on(flow);
                qdisc.until.insert(flow, until_ns);
                qdisc.waiting.insert((until_ns, flow));
            }
            Sched::Unthrottle { qdisc, flow } => self.qdiscs.entry(qdisc).goes_on(flow),
            Sched::Reset { qdisc } => {
                let qdisc = self.qdiscs.entry(qdisc);
                qdisc.until.clear();
                qdisc.waiting.clear();
            }
            Sched::NextDelayed { qdisc, now_ns, told_ns } => {
                self.qdiscs.entry(qdisc).next_delayed(now_ns, told_ns, record, verdicts);
            }
            _ => {}
        }
    }
}

impl Qdisc {
    fn goes_on(&mut self, flow: u64) {
        if let Some(until_ns) = self.until.remove(&flow) {
            self.waiting.remove(&(until_ns, flow));
        }
    }

    fn set(&mut self, kind: u16, len: u32, value: u64, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(ID, "set");
        let Some((_, name, want, least, most)) = ATTRIBUTES.iter().find(|a| a.0 == kind) else {
            let message = format!("attribute {kind} is taken, and there is none");
            return verdicts.broken(ID, record, message);
        };
        if len != *want {
            let message = format!("{name} is taken from {len} bytes instead of {want}");
            verdicts.broken(ID, record, message);
        } else if !(*least..=*most).contains(&value) {
            let message = format!("{name} is set to {value}, which is not in {least} to {most}");
            verdicts.broken(ID, record, message);
        }
        if kind != NEVER_DUMPED {
            self.values.insert(kind, value);
        }
    }

    fn dumped(&mut self, kind: u16, value: u64, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(ID, "dumped");
        let before = self.values.insert(kind, value);
        if let Some(before) = before.filter(|b| *b != value) {
            let name = ATTRIBUTES.iter().find(|a| a.0 == kind).map_or("?", |a| a.1);
            let message = format!("{name} was {before}, and a dump says {value}");
            verdicts.broken(ID, record, message);
        }
    }

    fn next_delayed(&self, now_ns: u64, told_ns: i64, r: &Record, v: &mut Verdicts) {
        let due = |(ns, _): &(u64, u64)| i128::from(*ns) + i128::from(self.slack_ns);
        let due_ns = self.waiting.first().map(|first| due(first) - i128::from(now_ns));
        v.reach(ID, if due_ns.is_some() { "next" } else { "no next" });
        let right = match due_ns {
            Some(due_ns) => i128::from(told_ns) == due_ns,
            None => told_ns == NO_FLOW_WAITS,
        };
        if !right {
            let due_ns = due_ns.map_or("none".into(), |ns| format!("{ns} ns"));
            let message = format!("next flow due: {due_ns}; statistics tell {told_ns} ns");
            v.broken(ID, r, message);
        }
    }
}
