//! `PACKET-CONSERVATION`: every frame that came in is delivered, dropped and counted, or still
//! held, and each of these once.
//!
//! The packet of a completion has the identity `cq << 32 | index`, so that a frame can be followed
//! from the wire to the socket without looking at its bytes.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::IdSet;
use pollproof_events::{CqId, Event, Record};
use std::collections::BTreeSet;

const ID: &str = "PACKET-CONSERVATION";

/// State: frames by the place where they were last seen.
#[derive(Default)]
pub(crate) struct Conservation {
    /// In the device: accepted from the wire, not completed.
    device: IdSet,
    /// Completed, not consumed: identity of the packet to be.
    queued: IdSet,
    /// In the driver: consumed, not delivered.
    driver: IdSet,
    /// Queues that were stopped: what they hold is discarded with them.
    stopped: BTreeSet<CqId>,
    /// What GRO says it holds at rest, contexts so far.
    gro: u64,
}

fn identity(cq: CqId, index: u32) -> u64 {
    u64::from(cq) << 32 | u64::from(index)
}

impl Rule for Conservation {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::WireRx { number, .. } => {
                self.device.insert(number, ());
            }
            Event::WireDrop { number, .. } => {
                if self.device.remove(number).is_none() {
                    let message = format!("frame {number} is dropped, but was not in the device");
                    verdicts.broken(ID, record, message);
                }
            }
            Event::CqeWrite { cq, index, number } => {
                self.device.remove(number);
                if !self.stopped.contains(&cq) {
                    self.queued.insert(identity(cq, index), ());
                }
            }
            Event::CqeConsume { cq, index, .. } => {
                let skb = identity(cq, index);
                if self.queued.remove(skb).is_none() {
                    let message = format!(
                        "completion {index} of CQ {cq:#x} is consumed twice or \
                                           was never written"
                    );
                    verdicts.broken(ID, record, message);
                }
                self.driver.insert(skb, ());
            }
            // The frame goes on in the next completion and will be known by the last.
            Event::CqePartial { cq, index, .. } => {
                self.driver.remove(identity(cq, index));
            }
            Event::SkbEnd { skb, .. } => {
                verdicts.reach(ID, "delivered");
                if self.driver.remove(skb).is_none() {
                    let (cq, index) = (skb >> 32, skb as u32);
                    let message =
                        format!("packet {index} of CQ {cq:#x} ends twice or was never received");
                    verdicts.broken(ID, record, message);
                }
            }
            Event::RingStarted { cq, .. } => {
                self.stopped.remove(&cq);
            }
            Event::RingStopped { cq, .. } => {
                self.stopped.insert(cq);
                self.queued.retain(|skb| skb >> 32 != u64::from(cq));
            }
            Event::RestGro { held, .. } => self.gro += held,
            Event::RestHeld { device, queued } => self.at_rest(device, queued, record, verdicts),
            _ => {}
        }
    }
}

impl Conservation {
    fn at_rest(&mut self, device: u64, queued: u64, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(ID, "rest");
        let gro = std::mem::take(&mut self.gro);
        for (place, seen, held) in [
            ("the device", self.device.len() as u64, device),
            ("completion queues", self.queued.len() as u64, queued),
            ("the driver and GRO", self.driver.len() as u64, gro),
        ] {
            if seen != held {
                let message = format!("{seen} frames should be in {place}, {held} are");
                verdicts.broken(ID, record, message);
            }
        }
    }
}
