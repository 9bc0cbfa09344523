//! GRO as a NAPI context uses it: `napi_gro_receive`, `gro_normal_one`, `gro_normal_list`,
//! `napi_gro_flush`, `flush_gro_hash` (6.12; before 5.4 what is not merged goes up at once, which
//! a batch of 1 is).
//!
//! All of it is the owner's. The state is taken out while it is worked on, since reading a packet
//! is seen by engines.

use super::{frags, Completed, Gro, GroResult};
use crate::{lock, Napi, Net, SkBuff, SkbList};
use pollproof_events::{emit, Event, Link, SkbStep};
use pollproof_sync::bug;

/// Nanoseconds of a jiffy (HZ = 1000).
const JIFFY_NS: u64 = 1_000_000;

/// How packets go up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroOptions {
    /// Datagrams are merged, too (`rx-udp-gro-forwarding`, or sockets that ask for it).
    pub udp: bool,
    /// `net.core.gro_normal_batch`: packets that go up together.
    pub normal_batch: u32,
    /// The first packet is put on a list only when a second one comes: a poll of one packet does
    /// nothing with lists. Linux has it on a list at once.
    pub lazy_list: bool,
}

impl GroOptions {
    /// With batches of so many.
    pub const fn new(udp: bool, normal_batch: u32) -> Self {
        Self { udp, normal_batch, lazy_list: true }
    }
}

impl Default for GroOptions {
    fn default() -> Self {
        Self::new(false, 8)
    }
}

/// What a context holds.
#[derive(Default)]
pub(crate) struct NapiGro {
    pub(super) gro: Gro,
    /// `napi->rx_list`.
    rx_list: SkbList,
    /// What would be alone on it.
    alone: Option<SkBuff>,
    /// `napi->rx_count`: packets in it, merged ones counted.
    rx_count: u32,
    /// What stands in `rx_list`, counted anew, and the same without the last.
    waiting: (u32, u32),
    /// Kept for its memory.
    done: Completed,
    /// `napi->skb`: a packet that is to be filled, and how often one was used again.
    pub(super) spare: Option<SkBuff>,
    pub(super) reused: u64,
}

impl NapiGro {
    pub fn new(options: &GroOptions) -> Self {
        Self { gro: Gro::new(options.udp), ..Self::default() }
    }
}

impl Net {
    /// `napi_gro_receive`: the packet is merged, held, or goes up.
    #[inline(always)]
    pub fn napi_gro_receive(&self, napi: &Napi, skb: SkBuff) {
        self.cost.touch(&skb);
        if self.options.gro.is_some() {
            self.gro_receive(napi, skb);
        } else if !self.netif_receive_at_once(&skb) {
            self.netif_receive_skb(skb);
        }
    }

    /// `skb_unshare`: GRO writes into packets, so they must be ours alone.
    #[cold]
    fn unshare(&self, mut skb: SkBuff) -> Option<SkBuff> {
        let cloned = |skb: &SkBuff| skb.meta.ext.as_ref().is_some_and(|e| e.cloned);
        if cloned(&skb) && !bug("D-5") {
            let copy = skb.skb_copy(&*self.below.dma);
            let Ok(copy) = copy else {
                self.kfree_skb(skb, "skb_unshare");
                return None;
            };
            skb.release(&*self.below.dma);
            skb = copy;
        }
        let exclusive = !cloned(&skb);
        emit(Event::Skb(SkbStep::Enters { skb: skb.number, exclusive }));
        Some(skb)
    }

    #[inline(never)]
    pub(super) fn gro_receive(&self, napi: &Napi, mut skb: SkBuff) -> GroResult {
        if skb.meta.ext.is_some() {
            match self.unshare(skb) {
                Some(ours) => skb = ours,
                None => return GroResult::Normal,
            }
        }
        let number = skb.number;
        let of_frags = skb.is_of_frags();
        let Some(mut state) = self.gro_take(napi) else {
            // Somebody else is in here, which SINGLE-CONSUMER tells of.
            self.netif_receive_skb(skb);
            return GroResult::Normal;
        };
        let dma = &*self.below.dma;
        self.cost.touch(&skb);
        let (result, skb) = state.gro.receive(skb, dma, || self.jiffies(), &mut state.done);
        self.cost.list_ops.add(u64::from(result == GroResult::Held));
        tell_held(napi, number, result);
        self.gro_complete(napi, &mut state);
        if result == GroResult::Merged {
            frags::reuse(&mut state, of_frags);
        }
        if let Some(mut skb) = skb {
            Self::napi_frags_finish(&mut skb);
            self.gro_normal_one(napi, &mut state, skb);
        }
        self.gro_put(napi, state);
        result
    }

    /// `napi_gro_receive_list` of the series of 2018: packets that were prepared before go through
    /// GRO one by one. What is not merged gathers in a list, which goes up before anything is held
    /// or merged. Gives the number that were kept.
    pub fn napi_gro_receive_list(&self, napi: &Napi, list: &mut SkbList) -> u32 {
        let (mut up, mut kept) = (SkbList::default(), 0);
        for mut skb in list.drain() {
            self.cost.list_ops.add(1);
            skb.meta.link = Link::Null;
            let Some(mut state) = self.gro_take(napi) else { continue };
            let (number, of_frags) = (skb.number, skb.is_of_frags());
            let dma = &*self.below.dma;
            let (result, skb) = state.gro.receive(skb, dma, || self.jiffies(), &mut state.done);
            tell_held(napi, number, result);
            // What is completed goes up at once; what waits in the list is of other flows.
            let done = std::mem::take(&mut state.done);
            if result == GroResult::Merged {
                frags::reuse(&mut state, of_frags);
            }
            self.gro_put(napi, state);
            for skb in done {
                self.netif_receive_skb(skb);
            }
            if let Some(mut skb) = skb {
                if !bug("D-26") {
                    Self::napi_frags_finish(&mut skb);
                }
                self.list_add_tail(&mut up, skb);
                continue;
            }
            kept += self.netif_receive_skb_list(&mut up) + 1;
        }
        kept + self.netif_receive_skb_list(&mut up)
    }

    /// Packets whose `struct sk_buff` was used again; only when nothing runs.
    pub fn gro_reused(&self, napi: &Napi) -> u64 {
        let reused = |gro: &mut Option<Box<NapiGro>>| gro.as_ref().map_or(0, |g| g.reused);
        napi.gro.with(reused).unwrap_or(0)
    }

    fn jiffies(&self) -> u64 {
        self.below.clock.now_ns() / JIFFY_NS
    }

    fn gro_take(&self, napi: &Napi) -> Option<Box<NapiGro>> {
        napi.gro.with(Option::take).flatten()
    }

    fn gro_put(&self, napi: &Napi, state: Box<NapiGro>) {
        napi.gro.with(|gro| *gro = Some(state));
    }

    /// What is completed joins what goes up, behind those of its flow that are there already.
    fn gro_complete(&self, napi: &Napi, state: &mut NapiGro) {
        if state.done.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut state.done);
        self.cost.list_ops.add(done.len() as u64);
        for skb in done.drain(..) {
            if bug("D-1") {
                self.netif_receive_skb(skb);
            } else {
                self.gro_normal_one(napi, state, skb);
            }
        }
        state.done = done;
    }

    /// `gro_normal_one`: the batch is full when it has so many packets, as the wire counts them.
    fn gro_normal_one(&self, napi: &Napi, state: &mut NapiGro, skb: SkBuff) {
        let segs = skb.gso().map_or(1, |gso| gso.segs);
        let counted = if bug("GRO-SEGS") { 1 } else { segs };
        let (lazy, batch) =
            self.options.gro.map_or((true, 1), |gro| (gro.lazy_list, gro.normal_batch));
        let is_first = state.rx_list.is_empty() && state.alone.is_none();
        if lazy && is_first && counted >= batch {
            emit(Event::GroUp { napi: napi.slot, packets: segs, before_last: 0, batch });
            self.netif_receive_skb(skb);
            return;
        }
        if lazy && is_first {
            state.alone = Some(skb);
        } else {
            for skb in state.alone.take().into_iter().chain([skb]) {
                self.list_add_tail(&mut state.rx_list, skb);
            }
        }
        state.rx_count += counted;
        state.waiting = (state.waiting.0 + segs, state.waiting.0);
        if state.rx_count >= batch {
            self.gro_up(napi, state);
        }
    }

    fn gro_up(&self, napi: &Napi, state: &mut NapiGro) {
        state.rx_count = 0;
        let (packets, before_last) = std::mem::take(&mut state.waiting);
        let alone = state.alone.take();
        if alone.is_none() && state.rx_list.is_empty() {
            return;
        }
        let batch = self.options.gro.map_or(1, |gro| gro.normal_batch);
        emit(Event::GroUp { napi: napi.slot, packets, before_last, batch });
        match alone {
            Some(skb) => {
                self.netif_receive_skb(skb);
            }
            None => {
                self.netif_receive_skb_list(&mut state.rx_list);
            }
        }
    }

    /// `gro_normal_list`: what waits for a full batch goes up now.
    pub fn gro_normal_list(&self, napi: &Napi) {
        if let Some(mut state) = self.gro_take(napi) {
            self.gro_up(napi, &mut state);
            self.gro_put(napi, state);
        }
    }

    /// Whether something is held (`gro_bitmask`).
    pub(crate) fn gro_holds(&self, napi: &Napi) -> bool {
        let holds =
            |gro: &mut Option<Box<NapiGro>>| gro.as_ref().is_some_and(|g| !g.gro.is_empty());
        napi.gro.with(holds).unwrap_or(false)
    }

    /// Packets that a context holds or keeps for a full batch; only when nothing runs.
    pub fn gro_held(&self, napi: &Napi) -> u64 {
        let held = |gro: &mut Option<Box<NapiGro>>| {
            gro.as_ref().map_or(0, |g| g.gro.held() + u64::from(g.rx_count))
        };
        napi.gro.with(held).unwrap_or(0)
    }

    /// Packets that all contexts hold or keep; only when nothing runs.
    pub fn gro_held_all(&self) -> u64 {
        lock(&self.napis).iter().map(|napi| self.gro_held(napi)).sum()
    }

    /// What each context holds when nothing runs, as events; `wakeup` says that somebody still
    /// comes for it.
    #[track_caller]
    pub fn emit_rest_gro(&self, wakeup: bool) {
        if self.options.gro.is_none() {
            return;
        }
        for napi in lock(&self.napis).iter() {
            emit(Event::RestGro { napi: napi.slot, held: self.gro_held(napi), wakeup });
        }
    }

    /// `napi_gro_flush`: all, or what was not first held in this jiffy.
    pub fn napi_gro_flush(&self, napi: &Napi, flush_old: bool) {
        let Some(mut state) = self.gro_take(napi) else { return };
        let old_at = flush_old.then(|| self.jiffies());
        state.gro.flush(old_at, &mut state.done);
        self.gro_complete(napi, &mut state);
        self.gro_put(napi, state);
    }

    /// A poll used its whole weight and goes on later: what is old goes up (`__napi_poll`).
    pub(crate) fn gro_after_full_poll(&self, napi: &Napi) {
        if self.options.gro.is_some() {
            self.napi_gro_flush(napi, true);
            self.gro_normal_list(napi);
        }
    }

    /// `flush_gro_hash`: the context goes; what it holds is freed.
    pub(crate) fn flush_gro_hash(&self, napi: &Napi) {
        let Some(mut state) = self.gro_take(napi) else { return };
        state.gro.flush(None, &mut state.done);
        let NapiGro { alone, rx_list, done, .. } = &mut *state;
        let held = alone.take().into_iter().chain(rx_list.drain()).chain(done.drain(..));
        held.for_each(|skb| self.kfree_skb(skb, "gro_flush"));
    }
}

/// Held, or part of what is held.
fn tell_held(napi: &Napi, skb: u64, result: GroResult) {
    if result != GroResult::Normal {
        let merged = result == GroResult::Merged;
        emit(Event::GroHeld { napi: napi.slot, skb, merged });
    }
}
