//! `NAPI-BUDGET`, `HONEST-WORK` and `BOUNDED-WORK`: what a poll returns, does and reports agree.
//!
//! Looks at one thread's events between entry and exit of its poll, so the order of other threads'
//! events does not matter.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::FewMap;
use pollproof_events::{CqId, Event, NapiId, Record, SkbStep};

const BUDGET: &str = "NAPI-BUDGET";
const HONEST: &str = "HONEST-WORK";
const BOUNDED: &str = "BOUNDED-WORK";

#[derive(Default)]
struct Poll {
    napi: NapiId,
    netpoll: bool,
    /// Packets that ended.
    consumed: i32,
    /// Queues that something was taken from.
    queues: Vec<CqId>,
    /// Packets before the last entry, which may tell of several; and how many of those are to come.
    before_entry: i32,
    of_entry: u32,
    completed: bool,
    armed: bool,
}

/// State: the poll that each thread is in.
#[derive(Default)]
pub(crate) struct Budget {
    polls: FewMap<usize, Vec<Poll>>,
}

impl Rule for Budget {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let stack = self.polls.entry(record.thread);
        match record.event {
            Event::PollEnter { napi, netpoll, .. } => {
                stack.push(Poll { napi, netpoll, ..Poll::default() });
            }
            Event::CqeConsume { cq, napi, .. } => {
                if let Some(poll) = stack.last_mut().filter(|p| p.napi == napi) {
                    match poll.of_entry {
                        0 => poll.before_entry = poll.consumed,
                        n => poll.of_entry = n - 1,
                    }
                    poll.consumed += 1;
                    if !poll.queues.contains(&cq) {
                        poll.queues.push(cq);
                    }
                }
            }
            Event::Skb(SkbStep::Entry { packets, .. }) => {
                if let Some(poll) = stack.last_mut() {
                    (poll.before_entry, poll.of_entry) = (poll.consumed, packets);
                }
            }
            // It is part of a packet that is counted when it ends.
            Event::CqePartial { napi, .. } => {
                if let Some(poll) = stack.last_mut().filter(|p| p.napi == napi) {
                    poll.consumed -= 1;
                }
            }
            Event::NapiComplete { napi, .. } => {
                if let Some(poll) = stack.last_mut().filter(|p| p.napi == napi) {
                    poll.completed = true;
                }
            }
            Event::ArmCq { napi, .. } => {
                if let Some(poll) = stack.last_mut().filter(|p| p.napi == napi) {
                    poll.armed = true;
                }
            }
            Event::PollExit { work, budget, .. } => {
                if let Some(poll) = stack.pop() {
                    at_exit(&poll, work, budget, record, verdicts);
                }
            }
            _ => {}
        }
    }
}

fn at_exit(poll: &Poll, work: i32, budget: i32, record: &Record, verdicts: &mut Verdicts) {
    if work == budget && budget > 0 {
        verdicts.reach(BUDGET, "full-budget");
    }
    if poll.completed {
        verdicts.reach(BUDGET, "completed");
    }
    if work < 0 || work > budget {
        let message = format!("the poll returned {work} of a budget of {budget}");
        return verdicts.broken(BUDGET, record, message);
    }
    if budget == 0 {
        return at_exit_without_budget(poll, record, verdicts);
    }
    let most = budget.max(poll.queues.len() as i32);
    if poll.consumed > 0 {
        verdicts.reach(BOUNDED, "received");
    }
    if poll.consumed > most && poll.before_entry >= most {
        let message = format!("the poll took {} packets of a budget of {budget}", poll.consumed);
        verdicts.broken(BOUNDED, record, message);
    }
    if work == budget && poll.completed {
        let message = format!(
            "the poll completed its context and returned its whole budget of {budget}, which says \
             that it still owns it"
        );
        verdicts.broken(BUDGET, record, message);
    }
    if work < budget && !poll.completed {
        let message = format!("the poll returned {work} of {budget} without completing");
        verdicts.broken(BUDGET, record, message);
    }
    if poll.completed {
        verdicts.reach(HONEST, "completed");
        if !(0..=1).contains(&(poll.consumed - work)) {
            let message = format!(
                "the poll completed, consumed {} completions and reported {work}",
                poll.consumed
            );
            verdicts.broken(HONEST, record, message);
        }
    }
}

fn at_exit_without_budget(poll: &Poll, record: &Record, verdicts: &mut Verdicts) {
    verdicts.reach(BUDGET, "zero-budget");
    let by = if poll.netpoll { "netpoll's poll" } else { "a poll" };
    for (wrong, what) in
        [(poll.consumed > 0, "received"), (poll.completed, "completed"), (poll.armed, "armed")]
    {
        if wrong {
            let message = format!("{by} with budget 0 {what}");
            verdicts.broken(BUDGET, record, message);
        }
    }
}
