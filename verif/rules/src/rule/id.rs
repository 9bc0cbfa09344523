//! `NAPI-ID`: ids of live contexts are distinct and issued; a lookup gives the context asked for.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, NapiId, Record};
use std::collections::BTreeMap;

const ID: &str = "NAPI-ID";

/// State: the hash as it should be.
#[derive(Default)]
pub(crate) struct Ids {
    live: BTreeMap<u32, NapiId>,
}

impl Rule for Ids {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::NapiHashed { napi, id } => {
                verdicts.reach(ID, "hashed");
                if id == 0 {
                    let message = format!("NAPI {napi} got the id 0, which means none");
                    verdicts.broken(ID, record, message);
                }
                if let Some(other) = self.live.insert(id, napi).filter(|n| *n != napi) {
                    let message = format!("NAPI {other} and NAPI {napi} both have the id {id}");
                    verdicts.broken(ID, record, message);
                }
            }
            Event::NapiUnhashed { napi, id } => {
                if self.live.get(&id) == Some(&napi) {
                    self.live.remove(&id);
                }
            }
            Event::NapiLookup { id, found } => {
                if found.is_some() {
                    verdicts.reach(ID, "found");
                }
                if let Some(other) = found.filter(|f| *f != id) {
                    let message = format!("a lookup of id {id} gave the context with id {other}");
                    verdicts.broken(ID, record, message);
                }
            }
            _ => {}
        }
    }
}
