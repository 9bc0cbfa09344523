//! Generic receive offload: `dev_gro_receive`, `tcp_gro_receive`, `udp_gro_receive_segment`,
//! `skb_gro_receive`, `napi_gro_flush` of Linux 6.12.
//!
//! Packets of a flow that follow each other are held and merged until something ends the flow's
//! run. What is merged can be taken apart again, byte for byte ([`segment`]).
//!
//! Headers of packets that come as fragments move to the linear area when a packet is held or goes
//! up (`gro_pull_from_frag0`).
//!
//! Left out: tunnels, IPv6 extension headers, `CHECKSUM_COMPLETE`, packets that are merged before
//! they come here (hardware), fraglist GRO, sockets that ask for UDP GRO (a switch of the core
//! stands for them), limits above 64 KiB.

mod complete;
mod context;
mod frags;
mod headers;

pub use complete::{segment, Gso, Merged};
pub use context::GroOptions;
pub(crate) use context::NapiGro;
use headers::Headers;

use crate::SkBuff;
use headers::{be16, csum, flag, IPPROTO_TCP};
use pollproof_events::Link;
use pollproof_kapi::Dma;
use pollproof_sync::bug;
use std::collections::VecDeque;

/// `GRO_HASH_BUCKETS`.
const BUCKETS: usize = 8;
/// `MAX_GRO_SKBS`: held packets of a bucket.
const HELD_MAX: usize = 8;
/// `GRO_LEGACY_MAX_SIZE`.
const SIZE_MAX: usize = 65_536;
/// `UDP_GRO_CNT_MAX`.
const UDP_MAX: u32 = 64;

/// What became of a packet (`gro_result_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroResult {
    /// It is part of a held packet now.
    Merged,
    /// It is held, and others may follow.
    Held,
    /// It goes up as it is.
    Normal,
}

/// A held packet (`napi_gro_cb` with its `sk_buff`).
#[derive(Default)]
struct Held {
    skb: SkBuff,
    headers: Headers,
    /// Payload bytes so far.
    payload: usize,
    /// Payload of the first packet: `gso_size`.
    mss: usize,
    count: u32,
    /// All have the same IP identification.
    fixed_id: bool,
    /// Jiffy in which it was first held; what is merged does not refresh it.
    age: u64,
}

/// Held packets of a context (`napi->gro_hash`), each bucket oldest first.
#[derive(Default)]
pub struct Gro {
    buckets: [VecDeque<Box<Held>>; BUCKETS],
    /// Headers of the packet that is looked at.
    headers: Headers,
    /// Memory of packets that are no longer held.
    spare: VecDeque<Box<Held>>,
    /// Also UDP.
    udp: bool,
    /// Headers of the packet that was merged last, of those that come as fragments: they stay in
    /// the linear area that it leaves.
    left: Vec<u8>,
}

/// Completed packets, in the order in which they go up.
pub(crate) type Completed = Vec<SkBuff>;

impl Gro {
    /// Nothing is held; datagrams are merged if `udp`.
    pub fn new(udp: bool) -> Self {
        Self { udp, ..Self::default() }
    }

    /// Whether nothing is held (`gro_bitmask`).
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(VecDeque::is_empty)
    }

    /// Packets that are held, merged ones included.
    pub fn held(&self) -> u64 {
        self.buckets.iter().flatten().map(|p| u64::from(p.count)).sum()
    }

    /// `dev_gro_receive`. The packet comes back when the result is normal; `done` gets what is
    /// completed on the way, which goes up before it.
    pub(crate) fn receive(
        &mut self,
        mut skb: SkBuff,
        dma: &dyn Dma,
        jiffies: impl Fn() -> u64,
        done: &mut Completed,
    ) -> (GroResult, Option<SkBuff>) {
        let Self { buckets, headers, spare, udp, left } = self;
        if !headers.read(&skb, dma) || (headers.proto != IPPROTO_TCP && !*udp) {
            return (GroResult::Normal, Some(skb));
        }
        if skb.is_of_frags() {
            skb.pull_from_frag0(headers.len().saturating_sub(skb.linear_len()), dma);
        }
        let bucket = &mut buckets[skb.hash as usize % BUCKETS];
        let found = bucket.iter().position(|p| p.headers.same_flow(headers));
        let good = !headers.flush && checksum_is_good(&skb, headers, dma);
        let says = match found.and_then(|at| bucket.get(at)) {
            Some(p) if good => p.meets(headers, &skb),
            _ => Meeting::alone(headers, good),
        };
        let mut complete = |held: Option<Box<Held>>| {
            if let Some(mut held) = held {
                done.push(held.complete());
                spare.push_back(held);
            }
        };
        if let Some(at) = found {
            if says.merges {
                if skb.is_of_frags() {
                    left.clear();
                    left.extend_from_slice(headers.all());
                }
                if let Some(p) = bucket.get_mut(at) {
                    p.merge(skb, headers);
                }
                if says.ends {
                    complete(bucket.remove(at));
                }
                return (GroResult::Merged, None);
            }
            // What is held came before this one.
            if bug("GRO-UDP-ORDER") && !good {
                return (GroResult::Normal, Some(skb));
            }
            complete(bucket.remove(at));
        }
        if says.ends {
            return (GroResult::Normal, Some(skb));
        }
        if bucket.len() >= HELD_MAX {
            complete(bucket.pop_front());
        }
        let mut held = spare.pop_back().unwrap_or_default();
        held.hold(skb, headers, jiffies());
        bucket.push_back(held);
        (GroResult::Held, None)
    }

    /// `napi_gro_flush`: completes all, or what was not first held in this jiffy.
    pub(crate) fn flush(&mut self, old_at: Option<u64>, done: &mut Completed) {
        for bucket in &mut self.buckets {
            while let Some(mut p) = bucket.pop_front() {
                if old_at == Some(p.age) {
                    bucket.push_front(p);
                    break;
                }
                done.push(p.complete());
                self.spare.push_back(p);
            }
        }
    }
}

/// What a packet does where it comes.
struct Meeting {
    /// It joins the held packet of its flow.
    merges: bool,
    /// With it, or instead of it, the run is over.
    ends: bool,
}

impl Meeting {
    /// The packet joins nobody; it may be held if something may follow.
    fn alone(headers: &Headers, good: bool) -> Self {
        Self { merges: false, ends: !good || ends_run(headers, 1) }
    }
}

/// `out_check_final`: after such a packet nothing of its flow may be merged.
fn ends_run(headers: &Headers, mss: usize) -> bool {
    let last = flag::URG | flag::PSH | flag::RST | flag::SYN | flag::FIN;
    let is_tcp = headers.proto == IPPROTO_TCP;
    headers.payload < mss || (is_tcp && headers.tcp_flags() & last != 0)
}

impl Held {
    /// The packet is held from here on.
    fn hold(&mut self, mut skb: SkBuff, headers: &Headers, age: u64) {
        skb.meta.link = Link::Listed;
        (self.skb, self.headers) = (skb, *headers);
        (self.payload, self.mss, self.count) = (headers.payload, headers.payload, 1);
        (self.fixed_id, self.age) = (false, age);
    }

    /// Whether a good packet of the same flow joins, and whether the run then is over.
    fn meets(&self, h: &Headers, skb: &SkBuff) -> Meeting {
        let fits = match h.proto {
            IPPROTO_TCP => self.tcp_fits(h),
            _ => self.count < UDP_MAX && h.payload <= self.mss,
        };
        let size = self.headers.len() + self.payload + h.payload;
        let fits = fits && self.skb.is_of_the_kind(skb);
        if !fits || !self.network_fits(h) || size >= SIZE_MAX {
            return Meeting::alone(h, true);
        }
        let is_full = h.proto != IPPROTO_TCP && self.count + 1 == UDP_MAX;
        Meeting { merges: true, ends: ends_run(h, self.mss) || is_full }
    }

    /// `tcp_gro_receive`: everything but the last flags is the same, and the bytes follow.
    fn tcp_fits(&self, h: &Headers) -> bool {
        let (th, th2) = (h.transport(), self.headers.transport());
        let may_differ = flag::CWR | flag::FIN | flag::PSH;
        let flags = h.tcp_flags();
        let next_seq = self.headers.tcp_seq().wrapping_add(self.payload as u32);
        flags & flag::CWR == 0
            && (flags ^ self.headers.tcp_flags()) & !may_differ == 0
            && th[8..12] == th2[8..12]
            && th.len() == th2.len()
            && th[20..] == th2[20..]
            && (1..=self.mss.max(if bug("D-25") { SIZE_MAX } else { 0 })).contains(&h.payload)
            && next_seq == h.tcp_seq()
    }

    /// `gro_receive_network_flush`: nothing of the network header is lost by merging.
    fn network_fits(&self, h: &Headers) -> bool {
        let (ip, ip2) = (h.network(), self.headers.network());
        if h.is_v6 {
            // Class, label, hop limit.
            return ip[..4] == ip2[..4] && ip[7] == ip2[7];
        }
        let same = ip[1] == ip2[1] && ip[8] == ip2[8] && ip[6] & 0x40 == ip2[6] & 0x40;
        let ahead = h.ip_id().wrapping_sub(self.headers.ip_id());
        let starts_fixed = self.count == 1 && h.dont_fragment() && ahead == 0;
        let wanted = if self.fixed_id || starts_fixed { 0 } else { self.count };
        same && u32::from(ahead) == wanted
    }

    /// `skb_gro_receive`.
    fn merge(&mut self, mut skb: SkBuff, h: &Headers) {
        self.fixed_id |= self.count == 1 && !h.is_v6 && h.ip_id() == self.headers.ip_id();
        if h.proto == IPPROTO_TCP {
            let at = self.headers.transport_at() + 13;
            self.headers.all_mut()[at] |= h.tcp_flags() & (flag::FIN | flag::PSH);
        }
        self.payload += h.payload;
        self.count += 1;
        skb.leave_to_head();
        self.skb.chain(skb, h.len());
    }

    /// `napi_gro_complete`: the packet goes, and what it leaves can hold another.
    fn complete(&mut self) -> SkBuff {
        let mut skb = std::mem::take(&mut self.skb);
        skb.meta.pulled = 0;
        skb.meta.link = if bug("D-13") { Link::Itself } else { Link::Null };
        if self.count > 1 {
            let gso = Gso { size: self.mss, segs: self.count, fixed_id: self.fixed_id };
            complete::finish(&mut skb, &mut self.headers, self.payload, gso);
        }
        skb
    }
}

impl SkBuff {
    /// Same connection, and pages that are given back in the same manner (`gro_list_prepare`,
    /// `skb_gro_receive`).
    fn is_of_the_kind(&self, other: &Self) -> bool {
        self.meta.nfct() == other.meta.nfct()
            && (self.meta.pp_recycle() == other.meta.pp_recycle() || bug("D-19"))
    }

    /// What a packet that becomes part of another does not take along: its references beyond bytes,
    /// and its owner.
    fn leave_to_head(&mut self) {
        if self.meta.ext.is_none() {
            return;
        }
        if !bug("D-4") {
            self.meta.release_nfct();
        }
        if let Some(ext) = self.meta.ext.as_mut() {
            ext.destructor = false;
            if !bug("D-3") {
                ext.owner = None;
            }
            if bug("D-4") {
                ext.nfct = None;
            }
        }
    }
}

/// Whether the transport checksum is good: the device said so, or it is counted here. A datagram
/// without one is never merged, for what comes of it must have one.
fn checksum_is_good(skb: &SkBuff, h: &Headers, dma: &dyn Dma) -> bool {
    let l4 = h.transport();
    if h.proto != IPPROTO_TCP {
        let len = usize::from(be16(l4, 4));
        if be16(l4, 6) == 0 || len <= 8 || len != 8 + h.payload {
            return false;
        }
    }
    if skb.csum_unnecessary {
        return true;
    }
    let bytes = skb.copy_bits(dma);
    let Some(l4) = bytes.get(h.transport_at()..) else { return false };
    csum(l4, h.pseudo_csum(l4.len())) == 0xffff
}
