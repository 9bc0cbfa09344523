//! `LIST-INTEGRITY`, `LIST-SCOPE`, `RETURN-TRUTH`, `SCORE-TRUTH`: lists of packets, and what is
//! told of them.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::IdSet;
use pollproof_events::{CqId, Event, NapiId, Record, SkbEnd, SkbStep};
use std::collections::BTreeMap;

const INTEGRITY: &str = "LIST-INTEGRITY";
const SCOPE: &str = "LIST-SCOPE";
const RETURNS: &str = "RETURN-TRUTH";
const SCORE: &str = "SCORE-TRUTH";
/// What a packet adds to the score (`irq_mod_score`).
const SCORE_OF_PACKET: u64 = 2;

/// State: lists that are under way, packets that are part of others, packets that were taken.
#[derive(Default)]
pub(crate) struct Packets {
    /// Packets delivered since a list came, by thread.
    lists: BTreeMap<usize, u32>,
    merged: IdSet,
    open: BTreeMap<NapiId, bool>,
    taken: BTreeMap<CqId, u64>,
}

impl Rule for Packets {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::GroHeld { skb, merged: true, .. } => {
                self.merged.insert(skb, ());
            }
            Event::SkbEnd { skb, end, .. } => self.ended(skb, end, record.thread),
            Event::CqeConsume { cq, .. } => *self.taken.entry(cq).or_default() += 1,
            Event::CqePartial { cq, .. } => {
                let taken = self.taken.entry(cq).or_default();
                *taken = taken.saturating_sub(1);
            }
            Event::PollExit { napi, .. } => {
                if self.open.remove(&napi).is_some_and(|open| open) {
                    let message = format!("the poll of context {napi} ends and leaves its list");
                    verdicts.broken(SCOPE, record, message);
                }
            }
            Event::Skb(step) => self.step(step, record, verdicts),
            _ => {}
        }
    }
}

impl Packets {
    fn ended(&mut self, skb: u64, end: SkbEnd, thread: usize) {
        let alone = self.merged.remove(skb).is_none();
        if !matches!(end, SkbEnd::Socket(_)) {
            return;
        }
        if let Some(count) = self.lists.get_mut(&thread).filter(|_| alone) {
            *count += 1;
        }
    }

    fn step(&mut self, step: SkbStep, record: &Record, verdicts: &mut Verdicts) {
        match step {
            SkbStep::Linked { skb, link, at } => {
                let message = format!("packet {skb:#x} comes to {at} with a link that is {link:?}");
                verdicts.broken(INTEGRITY, record, message);
            }
            SkbStep::ListIn { .. } => {
                verdicts.reach(INTEGRITY, "list");
                self.lists.insert(record.thread, 0);
            }
            SkbStep::ListOut { kept } => {
                verdicts.reach(RETURNS, "list");
                let delivered = self.lists.remove(&record.thread).unwrap_or(0);
                if kept != delivered {
                    let message = format!("{kept} packets are said to be kept, {delivered} are");
                    verdicts.broken(RETURNS, record, message);
                }
            }
            SkbStep::ListScope { napi, open } => {
                verdicts.reach(SCOPE, "open");
                if self.open.insert(napi, open) == Some(open) {
                    let message = format!("context {napi} has a list already, or none to close");
                    verdicts.broken(SCOPE, record, message);
                }
            }
            SkbStep::Score { cq, total } => {
                verdicts.reach(SCORE, "score");
                let wanted = SCORE_OF_PACKET * self.taken.get(&cq).copied().unwrap_or(0);
                if total != wanted {
                    let message = format!(
                        "the score of queue {cq:#x} is {total}, by the packets that were taken it \
                         is {wanted}"
                    );
                    verdicts.broken(SCORE, record, message);
                }
            }
            _ => {}
        }
    }
}
