//! `NAPI-ID`: ids of live contexts are distinct and issuable; what packets and sockets hold was
//! issued, or means none; a lookup asks for an id and gives the context asked for.

use super::Rule;
use crate::judge::Verdicts;
use pollproof_events::{Event, NapiId, Record};
use std::collections::{BTreeMap, BTreeSet};

const ID: &str = "NAPI-ID";

/// State: the hash as it should be.
#[derive(Default)]
pub(crate) struct Ids {
    /// The first id that may be issued; 0 never is.
    first: u32,
    live: BTreeMap<u32, NapiId>,
    /// All that were ever issued.
    issued: BTreeSet<u32>,
    /// What the last packet held, found right.
    held: u32,
}

impl Rule for Ids {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        match record.event {
            Event::NapiIds { first } => self.first = first,
            Event::NapiHashed { napi, id } => self.hashed(napi, id, record, verdicts),
            Event::NapiUnhashed { napi, id } => {
                if self.live.get(&id) == Some(&napi) {
                    self.live.remove(&id);
                }
            }
            Event::NapiLookup { id, found } => self.looked_up(id, found, record, verdicts),
            Event::SkMark { sock, id } => {
                verdicts.reach(ID, "marked");
                if self.is_wild(id) {
                    let message = format!("socket {sock} holds id {id}, which nobody ever got");
                    verdicts.broken(ID, record, message);
                }
            }
            Event::SkbEnd { napi_id, .. } if napi_id != self.held => {
                self.held = napi_id;
                if self.is_wild(napi_id) {
                    let message = format!("a packet holds id {napi_id}, which nobody ever got");
                    verdicts.broken(ID, record, message);
                }
            }
            _ => {}
        }
    }
}

impl Ids {
    /// Whether an id means none.
    fn is_none(&self, id: u32) -> bool {
        id < self.first.max(1)
    }

    fn is_wild(&self, id: u32) -> bool {
        !self.is_none(id) && !self.issued.contains(&id)
    }

    fn hashed(&mut self, napi: NapiId, id: u32, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(ID, "hashed");
        if self.is_none(id) {
            let message = format!("NAPI {napi} got the id {id}, which means none");
            verdicts.broken(ID, record, message);
        }
        self.issued.insert(id);
        if let Some(other) = self.live.insert(id, napi).filter(|n| *n != napi) {
            let message = format!("NAPI {other} and NAPI {napi} both have the id {id}");
            verdicts.broken(ID, record, message);
        }
    }

    fn looked_up(&self, id: u32, found: Option<u32>, r: &Record, verdicts: &mut Verdicts) {
        if found.is_some() {
            verdicts.reach(ID, "found");
        }
        if self.is_none(id) {
            verdicts.broken(ID, r, format!("id {id} is looked up, which means none"));
        }
        if let Some(other) = found.filter(|f| *f != id) {
            let message = format!("a lookup of id {id} gave the context with id {other}");
            verdicts.broken(ID, r, message);
        }
    }
}
