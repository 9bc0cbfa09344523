//! `SCHED-ONE-LIST`, `LISTED-MEANS-OWNED` and `SINGLE-CONSUMER`, as far as events show them.
//!
//! A context has one owner: whoever was granted the schedule. Only an owned context is on a poll
//! list, and on one only. The engine's race detector stands behind both rules: two CPUs that touch
//! the list node or the poll body without order between them are a race, in whatever order their
//! events happen to be seen.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, NapiId, NapiStep, Record};
use std::collections::BTreeMap;

const LIST: &str = "SCHED-ONE-LIST";
const OWNED: &str = "LISTED-MEANS-OWNED";
const SINGLE: &str = "SINGLE-CONSUMER";

#[derive(Default)]
struct Context {
    owned: bool,
    /// Thread inside the poll method that has not given the context up.
    inside: Option<usize>,
}

/// State of each context.
#[derive(Default)]
pub(crate) struct Lists {
    contexts: BTreeMap<NapiId, Context>,
}

impl Rule for Lists {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::NapiAdd { napi } => {
                self.contexts.insert(napi, Context { owned: true, inside: None });
            }
            Event::NapiEnabled { napi } => self.of(napi).owned = false,
            Event::NapiDisabled { napi } => self.of(napi).owned = true,
            Event::NapiPrep { napi, granted: true }
            | Event::Napi { napi, step: NapiStep::BusyTaken } => self.of(napi).owned = true,
            Event::Napi { napi, step: NapiStep::Released } => self.of(napi).owned = false,
            Event::NapiComplete { napi, done: true, .. } => {
                let context = self.of(napi);
                context.owned = false;
                context.inside = None;
            }
            Event::NapiCompleteUnowned { napi } => {
                let message = format!("NAPI {napi} is completed by one that does not own it");
                verdicts.broken(OWNED, record, message);
            }
            Event::ListAdd { napi, cpu, lists, .. } => {
                self.added(napi, cpu, lists, record, verdicts);
            }
            Event::PollEnter { napi, netpoll: false, .. } => self.entered(napi, record, verdicts),
            Event::PollExit { napi, .. } => {
                let context = self.of(napi);
                if context.inside == Some(record.thread) {
                    context.inside = None;
                }
            }
            _ => {}
        }
    }
}

impl Lists {
    fn of(&mut self, napi: NapiId) -> &mut Context {
        self.contexts.entry(napi).or_default()
    }

    fn added(&mut self, napi: u32, cpu: u32, lists: u32, r: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(LIST, "listed");
        if lists > 1 {
            let message = format!("NAPI {napi} is on {lists} poll lists, now also on CPU {cpu}'s");
            verdicts.broken(LIST, r, message);
        }
        if !self.of(napi).owned {
            let message = format!("NAPI {napi} goes on CPU {cpu}'s poll list, but nobody owns it");
            verdicts.broken(OWNED, r, message);
        }
    }

    fn entered(&mut self, napi: NapiId, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(SINGLE, "polled");
        let thread = record.thread;
        let context = self.of(napi);
        if let Some(other) = context.inside.replace(thread).filter(|t| *t != thread) {
            let message = format!("NAPI {napi} is polled by threads {other} and {thread} at once");
            verdicts.broken(SINGLE, record, message);
        }
    }
}
