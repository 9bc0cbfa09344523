//! `fq_enqueue`, `fq_classify`, the fast path and the collection of old flows.

use super::flow::{Flow, FlowId, Link, Queued};
use super::Fq;
use crate::packet::{Packet, Sock, SockKind, GSO_MAX_SIZE, NO_RATE};
use pollproof_events::{emit, is_recording, Event, QdiscPacket, Sched, NEVER};
use pollproof_sync::bug;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// Packets that the queue of the fast path may hold before it is closed.
const FAST_MAX: u32 = 8;
/// `FQ_GC_AGE`: a flow without packets is kept so long.
const GC_AGE_NS: u64 = 3_000_000_000;
/// Flows that are looked at on each side of the one that is wanted.
const GC_LOOKS: usize = 4;

/// Why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its band is full (`limit`).
    BandLimit,
    /// Its flow is full (`flow_limit`).
    FlowLimit,
    /// It wants to leave beyond the horizon.
    Horizon,
    /// It is longer than packets can be.
    TooLong,
}

impl Refused {
    fn name(self) -> &'static str {
        match self {
            Self::BandLimit => "band_drops",
            Self::FlowLimit => "flows_plimit",
            Self::Horizon => "horizon_drops",
            Self::TooLong => "too long",
        }
    }
}

/// Where a packet goes.
enum Class {
    Fast,
    Flow(FlowId),
}

impl Fq {
    /// `fq_enqueue`.
    pub fn enqueue(&mut self, packet: Packet) -> Result<(), Refused> {
        let now_ns = self.clock.now_ns();
        self.try_enqueue(packet, now_ns).inspect_err(|refused| {
            let (qdisc, packet, why) = (self.id(), packet.id, refused.name());
            emit(Event::Sched(Sched::Drop { qdisc, packet, why }));
        })
    }

    fn try_enqueue(&mut self, mut packet: Packet, now_ns: u64) -> Result<(), Refused> {
        if packet.len > GSO_MAX_SIZE {
            return Err(Refused::TooLong);
        }
        let band = self.config.band_of(packet.priority);
        if self.bands[usize::from(band)].packets >= self.config.plimit {
            self.totals.band_drops[usize::from(band)] += 1;
            return Err(Refused::BandLimit);
        }
        let horizon_ns = now_ns.saturating_add(self.config.horizon_ns);
        if packet.tstamp_ns > horizon_ns {
            if self.config.horizon_drop != 0 {
                self.totals.horizon_drops += 1;
                return Err(Refused::Horizon);
            }
            self.totals.horizon_caps += 1;
            packet.tstamp_ns = horizon_ns;
        }
        let time_to_send_ns = if packet.tstamp_ns == 0 { now_ns } else { packet.tstamp_ns };
        let queued = Queued { packet, time_to_send_ns, band };
        match self.classify(&queued, now_ns) {
            Class::Fast => {
                self.tell_enqueue(&queued, now_ns);
                self.totals.fastpath_packets += 1;
                self.arrivals += 1;
                self.internal.add(queued, self.arrivals);
            }
            Class::Flow(id) => self.add_to_flow(id, queued, now_ns)?,
        }
        self.qlen += 1;
        self.backlog += u64::from(packet.len);
        Ok(())
    }

    fn tell_enqueue(&self, queued: &Queued, now_ns: u64) {
        if is_recording() {
            let packet = &queued.packet;
            let limited = packet.sk.is_some_and(|sk| sk.max_pacing_rate != NO_RATE)
                || self.config.flow_max_rate != NO_RATE;
            let paces = limited && self.config.rate_enable;
            let rate = if paces { self.rate_of(packet) } else { NO_RATE };
            emit(Event::Sched(Sched::Enqueue(QdiscPacket {
                qdisc: self.id(),
                packet: packet.id,
                flow: self.key_of(packet),
                len: packet.len,
                departs_ns: queued.time_to_send_ns,
                rate,
                now_ns,
            })));
        }
    }

    fn add_to_flow(&mut self, id: FlowId, queued: Queued, now_ns: u64) -> Result<(), Refused> {
        let (quantum, refill_ns) = (self.config.quantum, self.config.flow_refill_delay_ns);
        if self.flow(id).qlen >= self.config.flow_plimit {
            self.totals.flows_plimit += 1;
            return Err(Refused::FlowLimit);
        }
        self.tell_enqueue(&queued, now_ns);
        self.arrivals += 1;
        let arrival = self.arrivals;
        let flow = self.flow(id);
        let was_empty = flow.qlen == 0;
        if let Link::Detached { since_ns } = flow.link {
            flow.link = Link::Listed;
            if now_ns.saturating_sub(since_ns) > refill_ns || bug("H-17") {
                flow.credit = flow.credit.max(quantum as i32);
            }
            // As Linux has it: of the band that it had before.
            let band = usize::from(flow.band);
            self.bands[band].new_flows.push_back(id);
        }
        let flow = self.flow(id);
        flow.band = queued.band;
        flow.add(queued, arrival);
        self.inactive_flows -= u64::from(was_empty);
        self.bands[usize::from(queued.band)].packets += 1;
        self.key_delayed_anew(id);
        Ok(())
    }

    /// Key of the flow of a packet: its socket, or a hash where there is none to speak of. A socket
    /// is aligned, so that its address is even.
    pub(super) fn key_of(&self, packet: &Packet) -> u64 {
        match own_sock(packet) {
            Some(sk) => sk.addr & !1,
            None => u64::from(packet.hash & self.config.orphan_mask) << 1 | 1,
        }
    }

    fn classify(&mut self, queued: &Queued, now_ns: u64) -> Class {
        if self.fastpath(queued, now_ns) {
            return Class::Fast;
        }
        let packet = &queued.packet;
        let key = self.key_of(packet);
        let root = self.root_of(key);
        let sk = own_sock(packet);
        let id = match self.roots[root].get(&key) {
            Some(id) => *id,
            None => {
                self.gc(root, key, now_ns);
                self.new_flow(root, key, sk, now_ns)
            }
        };
        let initial = self.config.initial_quantum as i32;
        if let Some(sk) = sk.filter(|sk| sk.sk_hash != self.arena[id as usize].socket_hash) {
            // Another socket at the same address: nothing of the old one counts.
            if let Link::Throttled { .. } = self.flow(id).link {
                self.unset_throttled(id);
                self.find_next_delayed();
            }
            let flow = self.flow(id);
            (flow.credit, flow.socket_hash, flow.time_next_packet_ns) = (initial, sk.sk_hash, 0);
        }
        Class::Flow(id)
    }

    /// `fq_fastpath_check`: the packet may go ahead of all flows, since none is eligible.
    fn fastpath(&self, queued: &Queued, now_ns: u64) -> bool {
        if queued.time_to_send_ns > now_ns || self.config.flow_max_rate != NO_RATE {
            return false;
        }
        if self.qlen != 0 {
            let eligible = self.flows != self.inactive_flows + self.throttled_flows;
            // A flow that is due and was not looked at is eligible too.
            let due = self.time_next_delayed_ns <= now_ns && !bug("H-21");
            if eligible || self.internal.qlen >= FAST_MAX || due {
                return false;
            }
        }
        let paced = |sk: &Sock| sk.kind == SockKind::Other || sk.kind == SockKind::Close;
        !queued.packet.sk.is_some_and(|sk| paced(&sk) && sk.max_pacing_rate != NO_RATE)
    }

    pub(super) fn root_of(&self, key: u64) -> usize {
        // Fibonacci hashing, by the upper bits, as `hash_ptr`.
        (key.wrapping_mul(0x61c8_8646_80b5_83eb) >> (64 - self.config.buckets_log)) as usize
    }

    fn new_flow(&mut self, root: usize, key: u64, sk: Option<Sock>, now_ns: u64) -> FlowId {
        let flow = Flow {
            key,
            socket_hash: sk.map_or(0, |sk| sk.sk_hash),
            credit: self.config.initial_quantum as i32,
            link: Link::Detached { since_ns: now_ns },
            ..Flow::default()
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.arena.push(Flow::default());
            (self.arena.len() - 1) as FlowId
        });
        *self.flow(id) = flow;
        self.roots[root].insert(key, id);
        self.flows += 1;
        self.inactive_flows += 1;
        id
    }

    /// `fq_gc`: throws away flows near the wanted one that were without packets for long.
    fn gc(&mut self, root: usize, key: u64, now_ns: u64) {
        if self.inactive_flows == 0 {
            return;
        }
        let (tree, arena) = (&self.roots[root], &self.arena);
        let old = |id: &FlowId| arena[*id as usize].is_old(now_ns);
        let below = tree.range(..key).rev().take(GC_LOOKS);
        let above = tree.range((Excluded(key), Unbounded)).take(GC_LOOKS);
        let gone: Vec<_> = below.chain(above).filter(|(_, id)| old(id)).map(|(k, _)| *k).collect();
        gone.into_iter().for_each(|key| self.collect(root, key));
    }

    pub(super) fn collect(&mut self, root: usize, key: u64) {
        if let Some(id) = self.roots[root].remove(&key) {
            *self.flow(id) = Flow::default();
            self.free.push(id);
            self.flows -= 1;
            self.inactive_flows -= 1;
            self.totals.gc_flows += 1;
        }
    }

    /// `fq_resize`: so many trees, as a power of two. Old flows are left behind.
    pub(super) fn resize(&mut self, buckets_log: u32) {
        let now_ns = self.clock.now_ns();
        for root in 0..self.roots.len() {
            let all = self.roots[root].range((Included(0), Included(NEVER)));
            let old = |id: &FlowId| self.arena[*id as usize].is_old(now_ns);
            let gone: Vec<_> = all.filter(|(_, id)| old(id)).map(|(key, _)| *key).collect();
            gone.into_iter().for_each(|key| self.collect(root, key));
        }
        let before = std::mem::take(&mut self.roots);
        self.config.buckets_log = buckets_log;
        self.roots = vec![Default::default(); 1 << buckets_log];
        for (key, id) in before.into_iter().flatten() {
            let root = self.root_of(key);
            self.roots[root].insert(key, id);
        }
    }
}

impl Flow {
    /// `fq_gc_candidate`.
    fn is_old(&self, now_ns: u64) -> bool {
        matches!(self.link, Link::Detached { since_ns }
            if now_ns.saturating_sub(since_ns) > GC_AGE_NS)
    }
}

/// The socket of a packet if its flow is that of the socket.
fn own_sock(packet: &Packet) -> Option<Sock> {
    packet.sk.filter(|sk| matches!(sk.kind, SockKind::Tcp | SockKind::Other))
}
