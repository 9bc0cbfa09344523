//! `SKB-OWNER`, `GRO-EXCLUSIVE`, `REF-BALANCE`, and `PAYLOAD-FIDELITY` by events: what packets
//! refer to and what is in them.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::IdMap;
use pollproof_events::{Event, Record, SkbStep};
use std::collections::BTreeMap;

const OWNER: &str = "SKB-OWNER";
const EXCLUSIVE: &str = "GRO-EXCLUSIVE";
const BALANCE: &str = "REF-BALANCE";
const PAYLOAD: &str = "PAYLOAD-FIDELITY";

/// State: references that are held, hashes of frames by number, frames of packets.
#[derive(Default)]
pub(crate) struct Refs {
    held: BTreeMap<(&'static str, u64), u32>,
    sent: IdMap<u32>,
    frames: IdMap<u64>,
}

impl Refs {
    /// Whether completions are of interest: somebody tells what frames hold.
    #[inline]
    pub(crate) fn minds_frames(&self) -> bool {
        self.sent.len() > 0
    }
}

impl Rule for Refs {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::CqeWrite { cq, index, number } if self.minds_frames() => {
                self.frames.insert(u64::from(cq) << 32 | u64::from(index), number);
            }
            Event::RestGro { .. } => self.at_rest(record, verdicts),
            Event::Skb(step) => self.step(step, record, verdicts),
            _ => {}
        }
    }
}

impl Refs {
    fn step(&mut self, step: SkbStep, record: &Record, verdicts: &mut Verdicts) {
        match step {
            SkbStep::Owned { skb, owner, destructor } => {
                verdicts.reach(OWNER, "orphaned");
                if owner != destructor {
                    let (has, lacks) =
                        if owner { ("owner", "destructor") } else { ("destructor", "owner") };
                    let message = format!("packet {skb:#x} has the {has} and no {lacks}");
                    verdicts.broken(OWNER, record, message);
                }
            }
            SkbStep::Enters { skb, exclusive } => {
                verdicts.reach(EXCLUSIVE, "enters");
                if !exclusive {
                    let message =
                        format!("packet {skb:#x} goes into GRO, and another has its bytes");
                    verdicts.broken(EXCLUSIVE, record, message);
                }
            }
            SkbStep::RefGet { kind, object } => *self.held.entry((kind, object)).or_default() += 1,
            SkbStep::RefPut { kind, object } => {
                verdicts.reach(BALANCE, "put");
                let held = self.held.entry((kind, object)).or_default();
                if *held == 0 {
                    let message = format!("{kind} {object} is given back and nobody had it so");
                    verdicts.broken(BALANCE, record, message);
                }
                *held = held.saturating_sub(1);
            }
            SkbStep::Sent { number, sum } => {
                self.sent.insert(number, sum);
            }
            SkbStep::Read { skb, sum } => self.read(skb, sum, record, verdicts),
            _ => {}
        }
    }

    fn read(&mut self, skb: u64, sum: u32, record: &Record, verdicts: &mut Verdicts) {
        let Some(number) = self.frames.remove(skb) else { return };
        let Some(sent) = self.sent.remove(number) else { return };
        verdicts.reach(PAYLOAD, "read");
        if sent != sum {
            let message = format!("packet {skb:#x} is not what frame {number} was, byte for byte");
            verdicts.broken(PAYLOAD, record, message);
        }
    }

    fn at_rest(&self, record: &Record, verdicts: &mut Verdicts) {
        for ((kind, object), held) in &self.held {
            if *held > 0 {
                let message = format!("{held} references to {kind} {object} are left");
                verdicts.broken(BALANCE, record, message);
            }
        }
    }
}
