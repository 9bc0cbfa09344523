//! A flow: its packets by departure time, its credit, and where it is linked.

use super::Fq;
use crate::packet::Packet;
use pollproof_events::{emit, Event, Sched};
use pollproof_sync::bug;
use std::collections::{BTreeMap, VecDeque};

/// Place of a flow in the arena.
pub(super) type FlowId = u32;

/// A packet with what fq keeps of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub packet: Packet,
    pub time_to_send_ns: u64,
    pub band: u8,
}

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// On no list: without packets since then.
    Detached { since_ns: u64 },
    /// On a list of a band.
    Listed,
    /// In the tree of flows that wait.
    Throttled { until_ns: u64, order: u64 },
}

/// Packets in order of arrival. The first lies in the flow itself: most flows have no other, and a
/// million of them are no part of any cache.
#[derive(Debug, Default)]
pub(super) struct List {
    first: Option<Queued>,
    others: VecDeque<Queued>,
}

impl List {
    pub fn front(&self) -> Option<&Queued> {
        self.first.as_ref()
    }

    fn back(&self) -> Option<&Queued> {
        self.others.back().or(self.first.as_ref())
    }

    fn push_back(&mut self, queued: Queued) {
        match self.first {
            None => self.first = Some(queued),
            Some(_) => self.others.push_back(queued),
        }
    }

    fn pop_front(&mut self) -> Option<Queued> {
        std::mem::replace(&mut self.first, self.others.pop_front())
    }

    fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.first.iter().chain(&self.others)
    }
}

/// A flow.
#[derive(Debug)]
pub(super) struct Flow {
    /// Packets in order of arrival whose times never go back.
    pub list: List,
    /// The others, by time and then by arrival.
    pub tree: BTreeMap<(u64, u64), Queued>,
    pub key: u64,
    pub socket_hash: u32,
    pub qlen: u32,
    pub credit: i32,
    pub band: u8,
    pub link: Link,
    /// No packet leaves before this time.
    pub time_next_packet_ns: u64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            list: List::default(),
            tree: BTreeMap::new(),
            key: 0,
            socket_hash: 0,
            qlen: 0,
            credit: 0,
            band: 0,
            link: Link::Detached { since_ns: 0 },
            time_next_packet_ns: 0,
        }
    }
}

impl Flow {
    /// `flow_queue_add`.
    pub fn add(&mut self, queued: Queued, arrival: u64) {
        self.qlen += 1;
        match self.list.back() {
            Some(last) if queued.time_to_send_ns < last.time_to_send_ns => {
                self.tree.insert((queued.time_to_send_ns, arrival), queued);
            }
            _ => self.list.push_back(queued),
        }
    }

    /// Whether the next packet is in the tree.
    fn next_in_tree(&self) -> bool {
        match (self.tree.first_key_value(), self.list.front()) {
            (Some(((time_ns, _), _)), Some(head)) => *time_ns < head.time_to_send_ns,
            (in_tree, _) => in_tree.is_some(),
        }
    }

    /// `fq_peek`.
    pub fn peek(&self) -> Option<&Queued> {
        if self.next_in_tree() {
            return self.tree.first_key_value().map(|(_, queued)| queued);
        }
        self.list.front()
    }

    /// Takes the packet that a peek gives.
    pub fn pop(&mut self) -> Option<Queued> {
        let queued = if self.next_in_tree() {
            self.tree.pop_first().map(|(_, queued)| queued)
        } else {
            self.list.pop_front()
        };
        self.qlen -= u32::from(queued.is_some());
        queued
    }

    /// All packets.
    pub fn packets(&self) -> impl Iterator<Item = &Queued> {
        self.list.iter().chain(self.tree.values())
    }

    /// When the next packet may leave.
    pub fn due_ns(&self) -> Option<u64> {
        Some(self.peek()?.time_to_send_ns.max(self.time_next_packet_ns))
    }
}

impl Fq {
    pub(super) fn flow(&mut self, id: FlowId) -> &mut Flow {
        &mut self.arena[id as usize]
    }

    /// `fq_flow_add_tail` of the old flows of its band.
    pub(super) fn add_old(&mut self, id: FlowId) {
        let band = self.flow(id).band;
        self.flow(id).link = Link::Listed;
        self.bands[usize::from(band)].old_flows.push_back(id);
    }

    /// `fq_flow_set_throttled`: a flow that is on no list waits for its time.
    pub(super) fn set_throttled(&mut self, id: FlowId, until_ns: u64) {
        self.arrivals += 1;
        let (qdisc, order) = (self.id(), self.arrivals);
        self.delayed.insert((until_ns, order, id));
        self.throttled_flows += 1;
        self.totals.throttled += 1;
        self.time_next_delayed_ns = self.time_next_delayed_ns.min(until_ns);
        let flow = self.flow(id);
        flow.link = Link::Throttled { until_ns, order };
        emit(Event::Sched(Sched::Throttle { qdisc, flow: flow.key, until_ns }));
    }

    /// Takes a flow out of the tree of those that wait.
    fn erase_delayed(&mut self, id: FlowId) {
        if let Link::Throttled { until_ns, order } = self.flow(id).link {
            self.delayed.remove(&(until_ns, order, id));
            self.throttled_flows -= 1;
        }
    }

    /// `fq_flow_unset_throttled`: it goes to the end of the old flows.
    pub(super) fn unset_throttled(&mut self, id: FlowId) {
        self.erase_delayed(id);
        let (qdisc, flow) = (self.id(), self.flow(id));
        if let Link::Throttled { until_ns, .. } = flow.link {
            // How late it is counts from here.
            flow.time_next_packet_ns = flow.time_next_packet_ns.max(until_ns);
        }
        emit(Event::Sched(Sched::Unthrottle { qdisc, flow: flow.key }));
        self.add_old(id);
    }

    /// A packet came to a flow that waits: it may be due before the one that the flow waits for.
    pub(super) fn key_delayed_anew(&mut self, id: FlowId) {
        let flow = self.flow(id);
        let (Link::Throttled { until_ns, .. }, Some(due_ns)) = (flow.link, flow.due_ns()) else {
            return;
        };
        if due_ns < until_ns && !bug("H-16") {
            self.erase_delayed(id);
            self.set_throttled(id, due_ns);
            self.totals.throttled -= 1;
        }
    }

    /// `time_next_delayed_flow` from the tree.
    pub(super) fn find_next_delayed(&mut self) {
        let first = self.delayed.first();
        self.time_next_delayed_ns = first.map_or(pollproof_events::NEVER, |(ns, _, _)| *ns);
    }
}
