//! `BUFFER-OWNERSHIP` and `DEVICE-RULES`: the ledger of hostmem and the device's own complaints.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::IdMap;
use pollproof_events::{Event, Owner, Record};

const OWNER: &str = "BUFFER-OWNERSHIP";
const DEVICE: &str = "DEVICE-RULES";

/// State: owner of each buffer that is not free.
#[derive(Default)]
pub(crate) struct Buffers {
    owners: IdMap<Owner>,
}

impl Rule for Buffers {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::Own { buf, from, to } => {
                if to == Owner::Device {
                    verdicts.reach(OWNER, "given-to-device");
                }
                let before = if to == Owner::Free {
                    self.owners.remove(buf)
                } else {
                    self.owners.insert(buf, to)
                };
                let known = before.unwrap_or(Owner::Free);
                if known != from {
                    let message =
                        format!("buffer {buf:#x} goes from {from:?} to {to:?}, but is {known:?}'s");
                    verdicts.broken(OWNER, record, message);
                }
            }
            Event::IllegalAccess { addr, by, owner, why } => {
                let message = format!("{why} at {addr:#x} by {by:?}, owned by {owner:?}");
                verdicts.broken(OWNER, record, message);
            }
            Event::DeviceMisuse { why, at } => {
                verdicts.broken(DEVICE, record, format!("{why} ({at:#x})"));
            }
            _ => {}
        }
    }
}
