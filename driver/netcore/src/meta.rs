//! What a packet has beside its bytes: its list link, who owns it, what it refers to.
//!
//! A packet from a device has next to nothing; one that a virtual device forwards may have all of
//! it. Left out: `skb_ext`, `_skb_refdst`, time stamps, marks.

use pollproof_events::{emit, Event, Link, SkbStep};

/// What a packet has beside its bytes: nothing, in most.
#[derive(Debug, Default)]
pub struct Meta {
    /// Where its list link points.
    pub link: Link,
    /// Bytes at its start that upper layers do not see (`skb->data` behind `skb->head`).
    pub(crate) pulled: u16,
    pub(crate) ext: Option<Box<Ext>>,
    /// Linear area of a packet whose bytes come in fragments.
    pub(crate) area: Option<Box<Area>>,
}

/// A linear area (`skb->head`).
#[derive(Debug, Default)]
pub(crate) struct Area {
    /// Bytes in it.
    pub linear: Vec<u8>,
    /// What it still holds of the packet that had it before.
    pub left: Vec<u8>,
}

/// What few packets have.
#[derive(Clone, Debug, Default)]
pub struct Ext {
    /// Socket that it is charged to (`skb->sk`).
    pub owner: Option<u32>,
    /// It has a destructor, which gives the charge back.
    pub destructor: bool,
    /// Connection that it belongs to (`_nfct`): a reference.
    pub nfct: Option<u64>,
    /// Page of its bytes, and whether it goes back to a pool (`pp_recycle`): a reference.
    pub page: Option<(u64, bool)>,
    /// Somebody else has its bytes (`skb_cloned`).
    pub cloned: bool,
}

/// Kinds of references, as events name them.
const CONNECTION: &str = "connection";
const PAGE: &str = "page";
const POOL_PAGE: &str = "page of a pool";

fn kind_of(pool: bool) -> &'static str {
    if pool {
        POOL_PAGE
    } else {
        PAGE
    }
}

impl Meta {
    /// The packet has these things from here on; references are taken.
    pub fn attach(&mut self, ext: Ext) {
        if let Some(object) = ext.nfct {
            emit(Event::Skb(SkbStep::RefGet { kind: CONNECTION, object }));
        }
        if let Some((object, pool)) = ext.page {
            emit(Event::Skb(SkbStep::RefGet { kind: kind_of(pool), object }));
        }
        self.ext = Some(Box::new(ext));
    }

    /// Whether its pages go back to a pool.
    pub(crate) fn pp_recycle(&self) -> bool {
        self.ext.as_ref().and_then(|e| e.page).is_some_and(|(_, pool)| pool)
    }

    pub(crate) fn nfct(&self) -> Option<u64> {
        self.ext.as_ref()?.nfct
    }

    /// `nf_reset_ct`: the connection is given back.
    pub(crate) fn release_nfct(&mut self) {
        if let Some(object) = self.ext.as_mut().and_then(|e| e.nfct.take()) {
            emit(Event::Skb(SkbStep::RefPut { kind: CONNECTION, object }));
        }
    }

    /// All references are given back; pages in the manner of the packet that they are part of.
    pub(crate) fn release(&self, pool: bool) {
        let Some(ext) = &self.ext else { return };
        if let Some(object) = ext.nfct {
            emit(Event::Skb(SkbStep::RefPut { kind: CONNECTION, object }));
        }
        if let Some((object, _)) = ext.page {
            emit(Event::Skb(SkbStep::RefPut { kind: kind_of(pool), object }));
        }
    }

    /// `skb_orphan`: whoever comes here wants owner and destructor, or neither.
    pub(crate) fn orphan(&mut self, skb: u64) {
        let Some(ext) = self.ext.as_mut() else { return };
        let (owner, destructor) = (ext.owner.is_some(), ext.destructor);
        if owner || destructor {
            emit(Event::Skb(SkbStep::Owned { skb, owner, destructor }));
        }
        (ext.owner, ext.destructor) = (None, false);
    }
}
