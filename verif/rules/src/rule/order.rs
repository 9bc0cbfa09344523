//! `FLOW-ORDER`: packets of a flow are delivered in the order in which they came in.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::IdMap;
use pollproof_events::{Event, Record, SkbEnd};

const ID: &str = "FLOW-ORDER";

/// State: flow of each frame under way, frame of each packet, last delivered frame of each flow.
#[derive(Default)]
pub(crate) struct Order {
    flows: IdMap<u32>,
    frames: IdMap<u64>,
    last: IdMap<u64>,
}

impl Rule for Order {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::WireRx { number, flow, .. } => {
                self.flows.insert(number, flow);
            }
            Event::WireDrop { number, .. } => {
                self.flows.remove(number);
            }
            Event::CqeWrite { cq, index, number } => {
                self.frames.insert(u64::from(cq) << 32 | u64::from(index), number);
            }
            Event::CqePartial { cq, index, .. } => {
                self.frames.remove(u64::from(cq) << 32 | u64::from(index));
            }
            Event::SkbEnd { skb, end: SkbEnd::Socket(_), .. } => {
                let Some(number) = self.frames.remove(skb) else { return };
                let Some(flow) = self.flows.remove(number) else { return };
                self.delivered(flow, number, record, verdicts);
            }
            Event::SkbEnd { skb, .. } => {
                if let Some(number) = self.frames.remove(skb) {
                    self.flows.remove(number);
                }
            }
            _ => {}
        }
    }
}

impl Order {
    fn delivered(&mut self, flow: u32, number: u64, r: &Record, verdicts: &mut Verdicts) {
        if let Some(before) = self.last.insert(flow.into(), number) {
            verdicts.reach(ID, "second-of-a-flow");
            if before > number {
                let message =
                    format!("frame {number} of flow {flow:#x} is delivered after {before}");
                verdicts.broken(ID, r, message);
            }
        }
    }
}
