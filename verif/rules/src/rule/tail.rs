//! `RING-TAIL`: the tail of a ring that is a register, as the device needs it.
//!
//! The rule keeps the ring by itself: what the tail was, how many descriptors the device has, and
//! which were written since they came back. It believes neither side's counters.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::{FewMap, IdMap, IdSet};
use pollproof_events::{CqId, Event, Owner, Record, TailRing};

const ID: &str = "RING-TAIL";

struct State {
    ring: TailRing,
    /// Tail as it was written last.
    tail: u32,
    /// Descriptors that the device has.
    out: u32,
    /// Descriptors that were written and not given away, with their buffers.
    written: IdMap<u64>,
}

/// State: rings by the register of their tail, and buffers that the device owns.
#[derive(Default)]
pub(crate) struct Tail {
    rings: FewMap<u64, State>,
    tail_of: FewMap<CqId, u64>,
    device: IdSet,
}

impl Rule for Tail {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::TailRing(ring) => {
                let written = IdMap::default();
                self.rings.insert(ring.tail, State { ring, tail: 0, out: 0, written });
                if let Some(cq) = ring.cq {
                    self.tail_of.insert(cq, ring.tail);
                }
            }
            Event::Own { buf, to: Owner::Device, .. } => {
                self.device.insert(buf, ());
            }
            Event::Own { buf, .. } => {
                self.device.remove(buf);
            }
            Event::Descriptor { tail, index, buf } => {
                if let Some(state) = self.rings.get_mut(tail) {
                    state.descriptor(index, buf, record, verdicts);
                }
            }
            Event::MmioWrite { bar, offset, value } => {
                let device = &self.device;
                if let Some(s) = self.rings.get_mut(offset).filter(|s| s.ring.bar == bar) {
                    s.rung(value as u32, device, record, verdicts);
                }
            }
            Event::CqeWrite { cq, .. } => {
                let state = self.tail_of.get(cq).and_then(|t| self.rings.get_mut(*t));
                if let Some(state) = state {
                    state.back(1, record, verdicts);
                }
            }
            Event::TxDone { tail, count } => {
                if let Some(state) = self.rings.get_mut(tail) {
                    state.back(count, record, verdicts);
                }
            }
            // What is gone takes nothing, and a driver that does not know yet rings on.
            Event::FunctionRemoved => self.rings = FewMap::default(),
            Event::RingStopped { cq, .. } => {
                if let Some(tail) = self.tail_of.remove(cq) {
                    self.rings.remove(tail);
                }
            }
            _ => {}
        }
    }
}

/// How far behind the head a descriptor lies, when the device has `out` up to the tail.
#[inline]
fn from_head(index: u32, tail: u32, out: u32, entries: u32) -> u32 {
    let far = index + entries + out - tail;
    // Nearly always less than two laps, and a division is dear.
    match far.checked_sub(entries) {
        Some(lap) if lap < entries => lap,
        _ => far % entries,
    }
}

impl State {
    fn descriptor(&mut self, index: u32, buf: u64, r: &Record, verdicts: &mut Verdicts) {
        let (entries, at) = (self.ring.entries, self.ring.tail);
        let from_head = from_head(index, self.tail, self.out, entries);
        if index >= entries {
            let message = format!("ring {at:#x}: descriptor {index} of {entries} is written");
            verdicts.broken(ID, r, message);
        } else if from_head < self.out {
            let message = format!("ring {at:#x}: descriptor {index} is written, the device has it");
            verdicts.broken(ID, r, message);
        }
        self.written.insert(index.into(), buf);
    }

    fn rung(&mut self, tail: u32, owned: &IdSet, r: &Record, verdicts: &mut Verdicts) {
        let (entries, at) = (self.ring.entries, self.ring.tail);
        verdicts.reach(ID, if self.ring.cq.is_some() { "receive" } else { "transmit" });
        if tail >= entries {
            let message = format!("ring {at:#x}: tail {tail} lies outside its {entries} entries");
            return verdicts.broken(ID, r, message);
        }
        if tail == self.tail && self.written.len() as u32 >= entries {
            let message = format!("ring {at:#x}: all {entries} descriptors make an empty ring");
            verdicts.broken(ID, r, message);
        }
        while self.tail != tail {
            match self.written.remove(self.tail.into()) {
                None => {
                    let index = self.tail;
                    let message = format!("ring {at:#x}: descriptor {index} was never written");
                    verdicts.broken(ID, r, message);
                }
                Some(buf) if buf != 0 && !owned.contains(buf) => {
                    let index = self.tail;
                    let message = format!(
                        "ring {at:#x}: descriptor {index} has buffer {buf:#x}, which is not the \
                         device's"
                    );
                    verdicts.broken(ID, r, message);
                }
                Some(_) => {}
            }
            self.tail = if self.tail + 1 == entries { 0 } else { self.tail + 1 };
            self.out += 1;
        }
        if self.out >= entries {
            let message = format!(
                "ring {at:#x}: the device has {} of {entries} descriptors: tail and head meet",
                self.out
            );
            verdicts.broken(ID, r, message);
        }
    }

    /// Descriptors came back from the device.
    fn back(&mut self, count: u32, record: &Record, verdicts: &mut Verdicts) {
        if count > self.out {
            let at = self.ring.tail;
            let message = format!("ring {at:#x}: {count} descriptors come back of {}", self.out);
            verdicts.broken(ID, record, message);
        }
        self.out = self.out.saturating_sub(count);
    }
}
