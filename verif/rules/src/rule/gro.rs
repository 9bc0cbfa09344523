//! `GRO-ROUND-TRIP`, `GRO-BATCH`, `GRO-FLUSH`, `GRO-LATENCY`: what GRO merges, keeps and holds.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, NapiId, Record};
use std::collections::{BTreeMap, BTreeSet};

const TRIP: &str = "GRO-ROUND-TRIP";
const BATCH: &str = "GRO-BATCH";
const FLUSH: &str = "GRO-FLUSH";

const LATENCY: &str = "GRO-LATENCY";
/// What is older at the end of a full poll is old for sure: two jiffies.
const OLD_PS: u64 = 2_000_000_000;

/// State: what each context holds, since when; and whose timer runs.
#[derive(Default)]
pub(crate) struct Gro {
    held: BTreeMap<u64, (NapiId, u64)>,
    timers: BTreeSet<NapiId>,
}

impl Rule for Gro {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::GsoSplit { skb, segs, same } => {
                verdicts.reach(TRIP, "merged");
                if !same {
                    let message = format!(
                        "the {segs} packets that were merged into {skb:#x} are not what it is \
                         taken apart into"
                    );
                    verdicts.broken(TRIP, record, message);
                }
            }
            Event::GroUp { napi, before_last, batch, .. } => {
                verdicts.reach(BATCH, "up");
                if before_last >= batch {
                    let message = format!(
                        "{before_last} packets of context {napi} waited for one more, a batch is \
                         {batch}"
                    );
                    verdicts.broken(BATCH, record, message);
                }
            }
            Event::GroHeld { napi, skb, .. } => {
                self.held.insert(skb, (napi, record.time_ps));
            }
            Event::SkbEnd { skb, .. } => {
                self.held.remove(&skb);
            }
            Event::TimerStart { napi, .. } => {
                self.timers.insert(napi);
            }
            Event::TimerFired { napi } => {
                self.timers.remove(&napi);
            }
            Event::NapiComplete { napi, done: true, .. } => {
                verdicts.reach(LATENCY, "completed");
                let held = self.held.values().filter(|(of, _)| *of == napi).count();
                if held > 0 && !self.timers.contains(&napi) {
                    let message =
                        format!("context {napi} is given up with {held} packets and no timer");
                    verdicts.broken(LATENCY, record, message);
                }
            }
            Event::PollExit { napi, work, budget } if work >= budget => {
                let old = |(of, since): &&(NapiId, u64)| {
                    *of == napi && record.time_ps.saturating_sub(*since) > OLD_PS
                };
                // What was looked at is flushed after the poll, so it counts from the next on.
                if self.held.values().filter(old).count() > 0 {
                    let message = format!("context {napi} holds packets through full polls");
                    verdicts.broken(LATENCY, record, message);
                }
            }
            Event::RestGro { napi, held, wakeup } => {
                verdicts.reach(FLUSH, "rest");
                if held > 0 && !wakeup {
                    let message =
                        format!("context {napi} holds {held} packets and nobody comes for them");
                    verdicts.broken(FLUSH, record, message);
                }
            }
            _ => {}
        }
    }
}
