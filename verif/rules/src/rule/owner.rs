//! `NAPI-OWNER`: a context that is owned has one holder, and at rest somebody comes for it.
//!
//! The state word says that a context is owned, not by whom. The stream does: who was granted the
//! schedule holds it until it is on a list, left to the kthread or polled, and a busy poller or a
//! disable holds it by itself.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, List, NapiId, NapiStep, Record, RestCq};
use std::collections::BTreeMap;

const ID: &str = "NAPI-OWNER";

/// Who holds a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Holder {
    /// The context is new to this rule: nothing is known.
    #[default]
    Unknown,
    Nobody,
    /// New, or a disable returned.
    Disabled,
    /// A thread that took it and has not passed it on.
    Thread(usize),
    List,
    Kthread,
    /// A busy poller.
    Busy(usize),
}

/// A context: who holds it, and who is inside the poll method as its owner.
#[derive(Default)]
struct Context {
    holder: Holder,
    polling: Option<usize>,
}

/// State of each context.
#[derive(Default)]
pub(crate) struct Owner {
    contexts: BTreeMap<NapiId, Context>,
}

impl Rule for Owner {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let me = record.thread;
        match record.event {
            Event::NapiAdd { napi } => self.of(napi).holder = Holder::Disabled,
            Event::NapiEnabled { napi } => self.of(napi).holder = Holder::Nobody,
            Event::NapiFreed { napi } => {
                self.contexts.remove(&napi);
            }
            Event::NapiDisabled { napi } => {
                self.takes(napi, Holder::Disabled, record, verdicts);
            }
            Event::NapiPrep { napi, granted: true } => {
                verdicts.reach(ID, "granted");
                self.takes(napi, Holder::Thread(me), record, verdicts);
            }
            Event::Napi { napi, step } => self.step(napi, step, record, verdicts),
            Event::ListAdd { napi, .. } => self.of(napi).holder = Holder::List,
            Event::ListDel { napi, list: List::Taken, .. } => {
                self.of(napi).holder = Holder::Thread(me);
            }
            Event::PollEnter { napi, netpoll: false, .. } => self.enters(napi, record, verdicts),
            Event::PollExit { napi, .. } => {
                let context = self.of(napi);
                if context.polling == Some(me) {
                    context.polling = None;
                }
            }
            Event::Rest(rest) => self.rests(&rest, record, verdicts),
            _ => {}
        }
    }
}

impl Owner {
    fn of(&mut self, napi: NapiId) -> &mut Context {
        self.contexts.entry(napi).or_default()
    }

    /// Somebody who did not have it has it from here on.
    fn takes(&mut self, napi: NapiId, to: Holder, r: &Record, verdicts: &mut Verdicts) {
        let context = self.of(napi);
        let from = std::mem::replace(&mut context.holder, to);
        if !matches!(from, Holder::Unknown | Holder::Nobody) {
            let message = format!("NAPI {napi} goes to {}, but {} has it", name(to), name(from));
            verdicts.broken(ID, r, message);
        }
    }

    fn step(&mut self, napi: NapiId, step: NapiStep, r: &Record, verdicts: &mut Verdicts) {
        let me = r.thread;
        match step {
            NapiStep::Released => self.releases(napi, r, verdicts),
            NapiStep::ForKthread => self.of(napi).holder = Holder::Kthread,
            NapiStep::BusyTaken => {
                verdicts.reach(ID, "busy");
                self.takes(napi, Holder::Busy(me), r, verdicts);
            }
            NapiStep::BusyLeft => self.of(napi).holder = Holder::Thread(me),
            NapiStep::Deleted | NapiStep::Disabling => {}
        }
    }

    fn releases(&mut self, napi: NapiId, r: &Record, verdicts: &mut Verdicts) {
        let context = self.of(napi);
        let from = std::mem::replace(&mut context.holder, Holder::Nobody);
        let polled = context.polling.take();
        // Lists of 3.18 and kthreads keep a context while it is polled: by whom, is told by the
        // poll that is under way.
        let is_own = match from {
            Holder::Unknown => true,
            Holder::Thread(t) => t == r.thread,
            Holder::List | Holder::Kthread => polled == Some(r.thread),
            Holder::Nobody | Holder::Disabled | Holder::Busy(_) => false,
        };
        if !is_own {
            let message =
                format!("NAPI {napi} is given up by T{}, {} has it", r.thread, name(from));
            verdicts.broken(ID, r, message);
        }
    }

    fn enters(&mut self, napi: NapiId, record: &Record, verdicts: &mut Verdicts) {
        let me = record.thread;
        let context = self.of(napi);
        let is_own = match context.holder {
            Holder::Unknown | Holder::List | Holder::Kthread => true,
            Holder::Thread(t) | Holder::Busy(t) => t == me,
            Holder::Nobody | Holder::Disabled => false,
        };
        context.polling = Some(me);
        if !is_own {
            let holder = name(context.holder);
            let message = format!("NAPI {napi} is polled by T{me}, but {holder} has it");
            verdicts.broken(ID, record, message);
        }
    }

    /// Nothing runs any more: an owner that will not come back holds the context for ever.
    fn rests(&mut self, rest: &RestCq, record: &Record, verdicts: &mut Verdicts) {
        if !rest.enabled || rest.wakeup {
            return;
        }
        let Some(context) = self.contexts.get(&rest.napi) else { return };
        if !matches!(context.holder, Holder::Unknown | Holder::Nobody | Holder::Disabled) {
            let holder = name(context.holder);
            let message = format!("at rest {holder} has NAPI {} and nobody polls", rest.napi);
            verdicts.broken(ID, record, message);
        }
    }
}

fn name(holder: Holder) -> String {
    match holder {
        Holder::Unknown | Holder::Nobody => "nobody".into(),
        Holder::Disabled => "a disable".into(),
        Holder::Thread(thread) => format!("T{thread}"),
        Holder::List => "a poll list".into(),
        Holder::Kthread => "its kthread".into(),
        Holder::Busy(thread) => format!("the busy poller T{thread}"),
    }
}
