//! `CONTEXT`, as far as events show it, and `SOFTIRQ-RUNS`: where a poll runs, what it leaves
//! behind, and who runs a softirq that is raised.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, List, Record};
use std::collections::BTreeMap;

const CONTEXT: &str = "CONTEXT";
const RUNS: &str = "SOFTIRQ-RUNS";

/// State: the entries of the polls that each thread is in.
#[derive(Default)]
pub(crate) struct Contexts {
    polls: BTreeMap<usize, Vec<Record>>,
}

impl Rule for Contexts {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let now = record.context;
        match record.event {
            Event::PollEnter { napi, .. } => {
                verdicts.reach(CONTEXT, "polled");
                self.polls.entry(record.thread).or_default().push(*record);
                if now.takes_softirqs() {
                    let message = format!("NAPI {napi} is polled with BH on: a softirq may come");
                    verdicts.broken(CONTEXT, record, message);
                }
            }
            Event::PollExit { napi, .. } => {
                let entered = self.polls.get_mut(&record.thread).and_then(Vec::pop);
                if let Some(before) = entered.map(|e| e.context).filter(|before| *before != now) {
                    let message = format!(
                        "the poll of NAPI {napi} leaves {now:?}, and was entered in {before:?}"
                    );
                    verdicts.broken(CONTEXT, record, message);
                }
            }
            Event::ListAdd { napi, list: List::Poll, cpu, .. } => {
                verdicts.reach(RUNS, "raised");
                if now.takes_softirqs() {
                    let message = format!(
                        "NAPI {napi} is scheduled on CPU {cpu} in task context with BH on: nothing \
                         runs the softirq"
                    );
                    verdicts.broken(RUNS, record, message);
                }
            }
            _ => {}
        }
    }
}
