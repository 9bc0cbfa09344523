//! `PORT-LIFECYCLE`, `REMOVAL-FENCE` and `RESET-FENCE`: a port's states, and what may happen in
//! them.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{CqId, Event, NapiId, PortState, Record};
use std::collections::{BTreeMap, BTreeSet};

const CYCLE: &str = "PORT-LIFECYCLE";
const FENCE: &str = "REMOVAL-FENCE";
const RESET: &str = "RESET-FENCE";

/// Reads that a driver may need to tell a register of ones from a function that is gone.
const READS_MAX: u32 = 8;
/// Accesses of a thread that were under way when another found out.
const LATE_MAX: u32 = 4;

/// State of each port, and of what runs.
#[derive(Default)]
pub(crate) struct Port {
    ports: BTreeMap<u32, PortState>,
    rings: BTreeSet<CqId>,
    enabled: BTreeMap<NapiId, bool>,
    /// The device was reset and has been given no ring since.
    idle: bool,
    /// The function left the bus; reads since then.
    removed: Option<u32>,
    /// The driver knows it: the thread that found out, and accesses of others since.
    gone: Option<usize>,
    late: BTreeMap<usize, u32>,
}

impl Rule for Port {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::Port { port, state } => self.becomes(port, state, record, verdicts),
            Event::FunctionRemoved => {
                verdicts.reach(FENCE, "removed");
                self.removed = Some(0);
            }
            Event::MmioWrite { offset, .. } if self.knows(record.thread) => {
                let message = format!("register {offset:#x} of a device that is gone is written");
                verdicts.broken(FENCE, record, message);
            }
            Event::MmioRead { offset, .. } => self.read(offset, record, verdicts),
            Event::RestDevice(_) => {
                if let Some(reads) = self.removed.filter(|&n| n > 0 && self.gone.is_none()) {
                    let message =
                        format!("{reads} reads gave all ones and the driver took them for data");
                    verdicts.broken(FENCE, record, message);
                }
            }
            Event::DmaWrite { addr, .. } | Event::DmaRead { addr, .. } if self.idle => {
                let message = format!(
                    "DMA at {addr:#x} lands after a reset and before the driver gave the device a \
                     ring: it is from before"
                );
                verdicts.broken(RESET, record, message);
            }
            Event::RingStarted { cq, .. } => {
                self.idle = false;
                self.rings.insert(cq);
            }
            Event::RingStopped { cq, .. } => {
                self.rings.remove(&cq);
            }
            Event::NapiAdd { napi } | Event::NapiDisabled { napi } => {
                self.enabled.insert(napi, false);
            }
            Event::NapiEnabled { napi } => {
                self.enabled.insert(napi, true);
            }
            Event::NapiFreed { napi } => {
                self.enabled.remove(&napi);
            }
            _ => {}
        }
    }
}

/// Whether a port may go from one state to another.
fn is_legal(from: Option<PortState>, to: PortState) -> bool {
    use PortState::*;
    match (from, to) {
        (None, Probed) => true,
        (None | Some(Removed), _) | (_, Probed) => false,
        (_, Removed) => true,
        (Some(Up), Down) => true,
        (Some(Up), _) | (_, Down) => false,
        (Some(Probed | Reset | Down), Up | Reset) => true,
    }
}

impl Port {
    /// Whether DMA is looked at.
    pub fn minds_dma(&self) -> bool {
        self.idle
    }

    fn becomes(&mut self, port: u32, to: PortState, r: &Record, verdicts: &mut Verdicts) {
        let from = self.ports.insert(port, to);
        if !is_legal(from, to) {
            let from = from.map_or_else(|| "nothing".to_owned(), |from| format!("{from:?}"));
            verdicts.broken(CYCLE, r, format!("port {port} goes from {from} to {to:?}"));
        }
        if to == PortState::Reset {
            self.idle = true;
            verdicts.reach(RESET, "reset");
        }
        match to {
            PortState::Up => {
                verdicts.reach(CYCLE, "up");
                if self.rings.is_empty() || self.enabled.values().any(|on| !on) {
                    let message = format!("port {port} is up before its rings and contexts are");
                    verdicts.broken(CYCLE, r, message);
                }
            }
            PortState::Down | PortState::Reset => {
                if !self.rings.is_empty() || self.enabled.values().any(|on| *on) {
                    let message = format!("port {port} is {to:?}, rings or contexts still run");
                    verdicts.broken(CYCLE, r, message);
                }
            }
            PortState::Removed => {
                if self.removed.is_none() {
                    let message = format!("port {port} gives up a device that is there");
                    verdicts.broken(FENCE, r, message);
                }
                self.gone = Some(r.thread);
            }
            PortState::Probed => {}
        }
    }

    /// Whether a thread must know that the device is gone, of which it makes an access. What others
    /// found out it may not have seen yet.
    fn knows(&mut self, thread: usize) -> bool {
        let Some(finder) = self.gone else { return false };
        let late = self.late.entry(thread).or_default();
        *late += 1;
        thread == finder || *late > LATE_MAX
    }

    fn read(&mut self, offset: u64, record: &Record, verdicts: &mut Verdicts) {
        let Some(reads) = &mut self.removed else { return };
        *reads += 1;
        let reads = *reads;
        if self.knows(record.thread) {
            let message = format!("register {offset:#x} of a device that is gone is read");
            verdicts.broken(FENCE, record, message);
        } else if self.gone.is_none() && reads > READS_MAX {
            let message = format!("{reads} reads gave all ones and the driver reads on");
            verdicts.broken(FENCE, record, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PortState::*;

    #[test]
    fn a_port_that_was_removed_stays_removed_and_one_that_is_up_goes_down_first() {
        for to in [Probed, Reset, Up, Down, Removed] {
            assert!(!is_legal(Some(Removed), to));
            assert_eq!(is_legal(None, to), to == Probed);
            assert_eq!(is_legal(Some(Up), to), matches!(to, Down | Removed), "{to:?}");
            assert_eq!(is_legal(Some(Down), to), matches!(to, Up | Reset | Removed), "{to:?}");
        }
    }
}
