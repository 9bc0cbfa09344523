//! GRO as a NAPI context uses it: `napi_gro_receive`, `gro_normal_one`, `gro_normal_list`,
//! `napi_gro_flush`, `flush_gro_hash` (6.12; before 5.4 what is not merged goes up at once, which
//! a batch of 1 is).
//!
//! All of it is the owner's. The state is taken out while it is worked on, since reading a packet
//! is seen by engines.

use super::{Completed, Gro, GroResult};
use crate::{lock, Napi, Net, SkBuff};
use pollproof_events::{emit, Event};
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
}

impl Default for GroOptions {
    fn default() -> Self {
        Self { udp: false, normal_batch: 8 }
    }
}

/// What a context holds.
#[derive(Default)]
pub(crate) struct NapiGro {
    gro: Gro,
    /// `napi->rx_list`.
    rx_list: Vec<SkBuff>,
    /// `napi->rx_count`: packets in it, merged ones counted.
    rx_count: u32,
    /// What stands in `rx_list`, counted anew, and the same without the last.
    waiting: (u32, u32),
    /// Kept for its memory.
    done: Completed,
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
        if self.options.gro.is_none() {
            self.netif_receive_skb(skb);
            return;
        }
        self.gro_receive(napi, skb);
    }

    #[inline(never)]
    fn gro_receive(&self, napi: &Napi, skb: SkBuff) {
        let number = skb.number;
        let Some(mut state) = self.gro_take(napi) else {
            // Somebody else is in here, which SINGLE-CONSUMER tells of.
            self.netif_receive_skb(skb);
            return;
        };
        let jiffies = self.below.clock.now_ns() / JIFFY_NS;
        let dma = &*self.below.dma;
        let (result, skb) = state.gro.receive(skb, dma, jiffies, &mut state.done);
        self.gro_complete(napi, &mut state);
        if result != GroResult::Normal {
            let merged = result == GroResult::Merged;
            emit(Event::GroHeld { napi: napi.slot, skb: number, merged });
        }
        if let Some(skb) = skb {
            self.gro_normal_one(napi, &mut state, skb);
        }
        self.gro_put(napi, state);
    }

    fn gro_take(&self, napi: &Napi) -> Option<Box<NapiGro>> {
        napi.gro.with(Option::take).flatten()
    }

    fn gro_put(&self, napi: &Napi, state: Box<NapiGro>) {
        napi.gro.with(|gro| *gro = Some(state));
    }

    /// What is completed joins what goes up, behind those of its flow that are there already.
    fn gro_complete(&self, napi: &Napi, state: &mut NapiGro) {
        let mut done = std::mem::take(&mut state.done);
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
        state.rx_list.push(skb);
        state.rx_count += if bug("GRO-SEGS") { 1 } else { segs };
        state.waiting = (state.waiting.0 + segs, state.waiting.0);
        let batch = self.options.gro.map_or(1, |gro| gro.normal_batch);
        if state.rx_count >= batch {
            self.gro_up(napi, state);
        }
    }

    fn gro_up(&self, napi: &Napi, state: &mut NapiGro) {
        state.rx_count = 0;
        let (packets, before_last) = std::mem::take(&mut state.waiting);
        if !state.rx_list.is_empty() {
            let batch = self.options.gro.map_or(1, |gro| gro.normal_batch);
            emit(Event::GroUp { napi: napi.slot, packets, before_last, batch });
            let mut list = std::mem::take(&mut state.rx_list);
            self.netif_receive_skb_list(&mut list);
            state.rx_list = list;
        }
    }

    /// `gro_normal_list`: what waits for a full batch goes up now.
    pub(crate) fn gro_normal_list(&self, napi: &Napi) {
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
    pub(crate) fn napi_gro_flush(&self, napi: &Napi, flush_old: bool) {
        let Some(mut state) = self.gro_take(napi) else { return };
        let jiffies = self.below.clock.now_ns() / JIFFY_NS;
        state.gro.flush(flush_old.then_some(jiffies), &mut state.done);
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
        let held = state.rx_list.drain(..).chain(state.done.drain(..));
        held.for_each(|skb| self.kfree_skb(skb, "gro_flush"));
    }
}
