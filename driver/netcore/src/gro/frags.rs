//! Packets that a driver gives as fragments alone: `napi_get_frags`, `napi_gro_frags`,
//! `napi_frags_skb`, `napi_frags_finish`, `napi_reuse_skb`, `gro_pull_from_frag0` (6.12).
//!
//! The Ethernet header is copied into the linear area first, all other headers when the packet was
//! held or goes up. What was merged leaves its `struct sk_buff` to the next packet. Left out: more
//! than one size of linear area, `frag0` as a pointer (headers are copied once, see `headers.rs`).

use super::headers::ETH_HLEN;
use super::{GroResult, NapiGro};
use crate::meta::Area;
use crate::skb::release_frag;
use crate::{Napi, Net, SkBuff};
use pollproof_kapi::Dma;
use pollproof_sync::bug;

/// `GRO_MAX_HEAD`: bytes that fit in the linear area.
const GRO_MAX_HEAD: usize = 192;

impl SkBuff {
    /// A packet without bytes whose linear area is empty.
    pub fn of_frags() -> Self {
        let mut skb = Self::empty();
        skb.meta.area = Some(Box::new(Area::default()));
        skb
    }

    /// Whether its bytes come in fragments behind a linear area.
    pub(crate) fn is_of_frags(&self) -> bool {
        self.buf == 0
    }

    /// Moves bytes from the first fragment to the end of the linear area, as far as they go; what
    /// is used up is given back.
    pub(crate) fn pull_from_frag0(&mut self, bytes: usize, dma: &dyn Dma) {
        let Some(frag) = self.frags.first_mut() else { return };
        let Some(area) = self.meta.area.as_mut() else { return };
        let bytes = bytes.min(frag.len).min(GRO_MAX_HEAD - area.linear.len().min(GRO_MAX_HEAD));
        let from = area.linear.len();
        area.linear.resize(from + bytes, 0);
        dma.read_buf(frag.buf, frag.offset, &mut area.linear[from..]);
        frag.offset += bytes;
        frag.len -= bytes;
        if frag.len == 0 {
            let frag = self.frags.remove(0);
            release_frag(&frag, dma);
        }
    }
}

impl Net {
    /// `napi_get_frags`: a packet to put fragments in, a recycled one if there is one.
    pub fn napi_get_frags(&self, napi: &Napi) -> SkBuff {
        let spare = |state: &mut Option<Box<NapiGro>>| state.as_mut().and_then(|s| s.spare.take());
        napi.gro.with(spare).flatten().unwrap_or_else(SkBuff::of_frags)
    }

    /// `napi_frags_skb`: the Ethernet header becomes linear; a packet that has none is dropped.
    pub fn napi_frags_skb(&self, mut skb: SkBuff) -> Option<SkBuff> {
        let dma = &*self.below.dma;
        if skb.len < ETH_HLEN {
            self.kfree_skb(skb, "gro_no_header");
            return None;
        }
        let first = skb.frags.first().map(|frag| (frag.buf, frag.offset));
        while skb.linear_len() < ETH_HLEN && !skb.frags.is_empty() {
            skb.pull_from_frag0(ETH_HLEN - skb.linear_len(), dma);
        }
        if let (true, Some((buf, offset))) = (bug("D-6"), first) {
            // The type, from where it was.
            dma.read_buf(buf, offset + 12, &mut [0; 2]);
        }
        skb.meta.pulled = ETH_HLEN as u16;
        Some(skb)
    }

    /// `napi_gro_frags`.
    pub fn napi_gro_frags(&self, napi: &Napi, skb: SkBuff) -> GroResult {
        if self.options.gro.is_none() {
            // Nobody merges; the packet goes up with its headers as they are.
            self.napi_gro_receive(napi, skb);
            return GroResult::Normal;
        }
        match self.napi_frags_skb(skb) {
            Some(skb) => self.gro_receive(napi, skb),
            None => GroResult::Normal,
        }
    }

    /// `napi_frags_finish`, of a packet that goes up or is held: it starts with its Ethernet header
    /// again.
    pub(super) fn napi_frags_finish(skb: &mut SkBuff) {
        skb.meta.pulled = 0;
    }
}

/// `napi_reuse_skb`: what a merged packet leaves is as good as new.
pub(super) fn reuse(state: &mut NapiGro, was_of_frags: bool) {
    if was_of_frags && state.spare.is_none() {
        let mut spare = SkBuff::of_frags();
        if let Some(area) = spare.meta.area.as_mut() {
            area.left = std::mem::take(&mut state.gro.left);
        }
        state.spare = Some(spare);
        state.reused += 1;
    }
}
