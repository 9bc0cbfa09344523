//! Lists of packets and listified receive: `netif_receive_skb_list`,
//! `__netif_receive_skb_list_core`, `ip_list_rcv`, `ip_list_rcv_finish`, `ip_sublist_rcv_finish`
//! and their IPv6 twins (5.0 to 6.12), with the count of packets that were kept, which a series of
//! 2018 proposed.
//!
//! A list is cut where the protocol, then where the destination changes; each part goes through a
//! layer as a whole, and before the next part. What the kernel does by links is done by places in a
//! vector here; the link of each packet says what the kernel's would be, and each operation that
//! the kernel needs is counted. Left out: several devices and namespaces, packets on emergency
//! memory, RPS, time stamping, netfilter, taps; a packet with bad headers goes up like any other.

use crate::{Net, SkBuff};
use pollproof_events::{emit, Event, Link, SkbStep};
use pollproof_kapi::Dma;
use pollproof_sync::bug;
use std::ops::Range;

const ETH_HLEN: usize = 14;
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const ETH_P_8021Q: u16 = 0x8100;
/// Ethernet, a tag, IPv6.
const HEADERS: usize = ETH_HLEN + 4 + 40;

/// A list of packets (`list_head` of `skb->list`), in order.
#[derive(Debug, Default)]
pub struct SkbList {
    skbs: Vec<Option<SkBuff>>,
    /// Kept for its memory.
    routes: Vec<Route>,
}

/// Where a packet goes: handler of its protocol (`packet_type`), and destination (`dst_entry`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Route {
    /// EtherType of a protocol that takes lists; 0 is any other.
    ptype: u16,
    dst: [u8; 16],
}

impl Route {
    fn of(skb: &SkBuff, dma: &dyn Dma) -> Self {
        let mut bytes = [0; HEADERS];
        let have = skb.len.min(HEADERS);
        skb.read_start(dma, &mut bytes[..have]);
        let pulled = usize::from(skb.meta.pulled).min(HEADERS);
        bytes.copy_within(pulled.., 0);
        let be16 = |at: usize| u16::from(bytes[at]) << 8 | u16::from(bytes[at + 1]);
        let (kind, net) = match be16(12) {
            ETH_P_8021Q => (be16(16), ETH_HLEN + 4),
            kind => (kind, ETH_HLEN),
        };
        let mut dst = [0; 16];
        match kind {
            ETH_P_IP => dst[..4].copy_from_slice(&bytes[net + 16..net + 20]),
            ETH_P_IPV6 => dst.copy_from_slice(&bytes[net + 24..net + 40]),
            _ => return Self::default(),
        }
        Self { ptype: kind, dst }
    }
}

impl SkbList {
    /// Packets on it.
    pub fn len(&self) -> usize {
        self.skbs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.skbs.is_empty()
    }

    /// Takes all packets off, whatever their links say.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = SkBuff> + '_ {
        self.skbs.drain(..).flatten()
    }
}

/// End of the run of equal keys that begins at `from`.
fn run_end<K: PartialEq>(
    routes: &[Route],
    from: usize,
    to: usize,
    key: impl Fn(&Route) -> K,
) -> usize {
    let first = key(&routes[from]);
    routes[from..to].iter().position(|r| key(r) != first).map_or(to, |n| from + n)
}

impl Net {
    /// `list_add_tail`.
    #[inline]
    pub fn list_add_tail(&self, list: &mut SkbList, mut skb: SkBuff) {
        if skb.meta.link == Link::Listed {
            self.tell_link(&skb, "list_add_tail");
        }
        self.cost.list_ops.add(1);
        skb.meta.link = Link::Listed;
        list.skbs.push(Some(skb));
    }

    #[cold]
    fn tell_link(&self, skb: &SkBuff, at: &'static str) {
        emit(Event::Skb(SkbStep::Linked { skb: skb.number, link: skb.meta.link, at }));
    }

    /// Whoever takes a packet by itself may use its link as a chain's, so it must be null.
    #[inline]
    pub(crate) fn check_link(&self, skb: &SkBuff, at: &'static str) {
        if skb.meta.link != Link::Null {
            self.tell_link(skb, at);
        }
    }

    /// `netif_receive_skb_list`: takes all packets up. Gives the number that were not dropped.
    pub fn netif_receive_skb_list(&self, list: &mut SkbList) -> u32 {
        if list.is_empty() {
            return 0;
        }
        self.lists.add(1);
        emit(Event::Skb(SkbStep::ListIn { skbs: list.len() as u32 }));
        let kept = self.list_core(list);
        emit(Event::Skb(SkbStep::ListOut { kept }));
        kept
    }

    /// `__netif_receive_skb_list_core`: parts of one protocol.
    fn list_core(&self, list: &mut SkbList) -> u32 {
        let dma = &*self.below.dma;
        let SkbList { skbs, routes } = list;
        routes.clear();
        routes.extend(skbs.iter().flatten().map(|skb| Route::of(skb, dma)));
        self.cost.calls.add(1);
        self.layer(skbs);
        let (mut at, mut kept) = (0, 0);
        while at < routes.len() {
            let end = run_end(routes, at, routes.len(), |r| r.ptype);
            kept += match routes[at].ptype {
                0 => skbs[at..end].iter_mut().filter_map(|skb| self.deliver_one(skb)).sum(),
                _ => self.ip_list_rcv(skbs, routes, at..end),
            };
            at = end;
        }
        skbs.clear();
        kept
    }

    /// `ip_list_rcv`, `ip_list_rcv_finish`: parts of one destination.
    fn ip_list_rcv(
        &self,
        skbs: &mut [Option<SkBuff>],
        routes: &[Route],
        part: Range<usize>,
    ) -> u32 {
        self.cost.calls.add(1);
        // Off the list and on a sublist: by device, then by destination.
        self.cost.list_ops.add(2 * part.len() as u64);
        self.layer(&skbs[part.clone()]);
        let (mut at, mut kept) = (part.start, 0);
        while at < part.end {
            let end = run_end(routes, at, part.end, |r| r.dst);
            kept += self.ip_sublist_rcv_finish(&mut skbs[at..end]);
            at = end;
        }
        kept
    }

    /// `ip_sublist_rcv_finish`: each packet by itself, off the list for good.
    fn ip_sublist_rcv_finish(&self, skbs: &mut [Option<SkBuff>]) -> u32 {
        skbs.iter_mut().filter_map(|skb| self.deliver_one(skb)).sum()
    }

    /// `skb_list_del_init`, `dst_input`; whether it was kept.
    #[inline]
    fn deliver_one(&self, slot: &mut Option<SkBuff>) -> Option<u32> {
        let mut skb = slot.take()?;
        self.cost.list_ops.add(1);
        self.cost.calls.add(1);
        skb.meta.link = if bug("GRO-LINK") { Link::Poison } else { Link::Null };
        self.cost.touch(&skb);
        self.check_link(&skb, "dst_input");
        let kept = self.finish_receive(skb);
        Some(u32::from(kept || bug("D-23")))
    }

    /// A layer goes over a list: each packet comes off it and goes on the next layer's.
    fn layer(&self, skbs: &[Option<SkBuff>]) {
        self.cost.list_ops.add(2 * skbs.len() as u64);
        skbs.iter().flatten().for_each(|skb| self.cost.touch(skb));
    }

    /// Counts of what it took to take packets up.
    pub fn rx_costs(&self) -> crate::RxCosts {
        self.cost.counts()
    }
}
