//! `GRO-ROUND-TRIP`, `GRO-BATCH`, `GRO-FLUSH`: what GRO merges, keeps and holds.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, Record};

const TRIP: &str = "GRO-ROUND-TRIP";
const BATCH: &str = "GRO-BATCH";
const FLUSH: &str = "GRO-FLUSH";

/// No state: each event says it all.
#[derive(Default)]
pub(crate) struct Gro;

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
