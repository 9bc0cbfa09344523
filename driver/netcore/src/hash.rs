//! `napi_hash`: from an id to the live context, under RCU. `net/core/dev.c`, as of 3.11 (the thread
//! that added it) with the id range of 6.12 as an option.
//!
//! The `HASHED` bit is changed under the lock (3.11 set it before: an option). Writers hold
//! `napi_hash_lock`; readers hold `rcu_read_lock` and take no reference. Ids come from a
//! counter; reserved ids and ids that are taken are skipped.

use crate::napi::{Napi, NapiState};
use crate::{Net, NetOptions};
use pollproof_events::{emit, Event, NapiStep};
use pollproof_sync::switch::fault;
use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{bug, cpu, AtomicU32, PlainU32, SpinLock, What};
use std::panic::Location;
use std::sync::Arc;

/// The table.
pub struct NapiHash {
    lock: SpinLock<()>,
    /// `napi_gen_id`: last id issued; guarded by the lock.
    last_id: PlainU32,
    min_id: u32,
    /// Slot plus one of the first context of each bucket.
    heads: Vec<AtomicU32>,
}

impl NapiHash {
    pub(crate) fn new(options: &NetOptions) -> Self {
        let gen_id = What { rule: "NAPI-ID", name: "napi_gen_id" };
        Self {
            lock: SpinLock::new(()),
            last_id: PlainU32::new(options.last_napi_id, gen_id),
            min_id: options.first_napi_id(),
            heads: (0..options.hash_buckets.max(1)).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    fn bucket(&self, id: u32) -> usize {
        id as usize % self.heads.len()
    }

    fn head(&self, id: u32) -> &AtomicU32 {
        &self.heads[self.bucket(id)]
    }
}

impl Net {
    /// `napi_by_id`: the caller holds `rcu_read_lock` and uses the context only inside it.
    pub fn napi_by_id(&self, id: u32) -> Option<Arc<Napi>> {
        let found = self.find(id);
        let found_id = found.as_ref().map(|n| n.id.get());
        emit(Event::NapiLookup { id, found: found_id });
        found
    }

    fn find(&self, id: u32) -> Option<Arc<Napi>> {
        // rcu_dereference: an acquire load here, since no engine follows address dependencies.
        let mut link = self.hash.head(id).load(Acquire);
        // A chain is as long as there are contexts; a corrupt one may loop.
        for _ in 0..=self.contexts() {
            let napi = self.napi(link.checked_sub(1)?)?;
            napi.lifetime.used();
            if napi.id.get() == id {
                return Some(napi);
            }
            if self.hash.bucket(napi.id.get()) != self.hash.bucket(id) {
                let why = format!("a lookup of id {id} is in the chain of another bucket");
                fault("NAPI-ID", why, Location::caller());
            }
            // Contexts are added at the head, so whatever lies behind this one was initialised
            // before it was published: the acquire above covers it.
            link = napi.hash_next.load(Relaxed);
        }
        None
    }

    /// `napi_hash_add`: issues an id and publishes the context.
    pub fn napi_hash_add(&self, napi: &Arc<Napi>) {
        let hashed = NapiState::HASHED.bits();
        let mark = || napi.state.fetch_or(hashed, Relaxed) & hashed == 0;
        let early = self.options.hashed_before_lock;
        if early && !mark() {
            return;
        }
        let _guard = (!bug("A-3")).then(|| self.hash.lock.lock());
        if !early && !mark() {
            return;
        }
        let id = self.issue_id();
        napi.id.set(id);
        let head = self.hash.head(id);
        napi.hash_next.store(head.load(Relaxed), Relaxed);
        head.store(napi.slot + 1, Release);
        emit(Event::NapiHashed { napi: napi.slot, id });
    }

    /// The next id that is neither reserved nor taken; the lock is held.
    fn issue_id(&self) -> u32 {
        let mut id = self.hash.last_id.get().wrapping_add(1);
        // With n contexts, one of n + 1 ids in a row is free.
        let tries = if bug("A-2") { 0 } else { self.contexts() };
        for _ in 0..tries {
            id = id.max(self.hash.min_id);
            if self.find(id).is_none() {
                break;
            }
            id = id.wrapping_add(1);
        }
        self.hash.last_id.set(id);
        id
    }

    /// `napi_hash_del`: unpublishes the context. True when a grace period is owed before its memory
    /// may be freed: a reader may have found it just before.
    pub fn napi_hash_del(&self, napi: &Arc<Napi>) -> bool {
        let _guard = self.hash.lock.lock();
        let hashed = NapiState::HASHED.bits();
        if napi.state.fetch_and(!hashed, Relaxed) & hashed == 0 {
            return false;
        }
        let id = napi.id.get();
        self.unlink(napi, id);
        emit(Event::NapiUnhashed { napi: napi.slot, id });
        true
    }

    /// `hlist_del_rcu`: the node keeps its own link, a reader may stand on it.
    fn unlink(&self, napi: &Napi, id: u32) {
        let after = napi.hash_next.load(Relaxed);
        let head = self.hash.head(id);
        let mut link = head.load(Relaxed);
        if link == napi.slot + 1 {
            // The new first context may have been added by another CPU: pass its publication on.
            head.store(after, Release);
            return;
        }
        for _ in 0..=self.contexts() {
            let Some(previous) = link.checked_sub(1).and_then(|slot| self.napi(slot)) else {
                let why = format!("context {} is unlinked and is in no chain", napi.slot);
                return fault("NAPI-ID", why, Location::caller());
            };
            link = previous.hash_next.load(Relaxed);
            if link == napi.slot + 1 {
                previous.hash_next.store(after, Relaxed);
                return;
            }
        }
    }

    /// `netif_napi_del`: unpublishes and waits for a grace period when one is owed. Sleeps.
    pub fn netif_napi_del(&self, napi: &Arc<Napi>) {
        cpu::might_sleep("netif_napi_del");
        emit(napi.step(NapiStep::Deleted));
        if self.napi_hash_del(napi) && !bug("A-4") {
            self.rcu.synchronize();
        }
        self.flush_gro_hash(napi);
    }
}
