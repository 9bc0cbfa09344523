//! `HANG-SOUND`: a transmit ring is declared hung when it is, and only then.
//!
//! The rule keeps by itself what moved: descriptors given and taken back, and pauses, each since
//! the watchdog looked last.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, PortState, Record};
use std::collections::BTreeMap;

const ID: &str = "HANG-SOUND";

/// Looks at a ring that does not move after which it must have been declared hung.
const LOOKS_MAX: u32 = 4;

#[derive(Default)]
struct Ring {
    /// Something was taken back, or a pause came, since the last look.
    excused: bool,
    /// The same before the last look.
    excused_before: bool,
    /// Looks in a row without an excuse.
    looks: u32,
    /// Descriptors were written since all were taken back.
    waiting: bool,
}

/// State: transmit rings by the register of their tail.
#[derive(Default)]
pub(crate) struct Hang {
    rings: BTreeMap<u64, Ring>,
}

impl Rule for Hang {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::TailRing(ring) if ring.cq.is_none() => {
                self.rings.insert(ring.tail, Ring { excused: true, ..Ring::default() });
            }
            Event::Descriptor { tail, .. } => {
                if let Some(ring) = self.rings.get_mut(&tail).filter(|r| !r.waiting) {
                    // It begins to wait: no look before this one counts.
                    (ring.waiting, ring.excused) = (true, true);
                }
            }
            Event::TxDone { tail, .. } => {
                if let Some(ring) = self.rings.get_mut(&tail) {
                    (ring.excused, ring.waiting) = (true, false);
                }
            }
            Event::Paused => self.rings.values_mut().for_each(|r| r.excused = true),
            Event::HangCheck { tail } => self.look(tail, record, verdicts),
            Event::TxHang { tail } => self.hung(tail, record, verdicts),
            Event::Port { state: PortState::Down, .. } => self.rings.clear(),
            _ => {}
        }
    }
}

impl Hang {
    fn look(&mut self, tail: u64, record: &Record, verdicts: &mut Verdicts) {
        let Some(ring) = self.rings.get_mut(&tail) else { return };
        verdicts.reach(ID, "looked");
        ring.excused_before = std::mem::take(&mut ring.excused);
        let stuck = ring.waiting && !ring.excused_before;
        ring.looks = if stuck { ring.looks + 1 } else { 0 };
        if ring.looks > LOOKS_MAX {
            let looks = ring.looks;
            let message = format!("ring {tail:#x} has not moved in {looks} looks of the watchdog");
            verdicts.broken(ID, record, message);
        }
    }

    fn hung(&mut self, tail: u64, record: &Record, verdicts: &mut Verdicts) {
        let Some(ring) = self.rings.get_mut(&tail) else { return };
        verdicts.reach(ID, "hung");
        if ring.excused_before || !ring.waiting {
            let message = format!(
                "ring {tail:#x} is declared hung although since the look before it moved, was \
                 paused, or had nothing to send"
            );
            verdicts.broken(ID, record, message);
        }
        ring.looks = 0;
    }
}
