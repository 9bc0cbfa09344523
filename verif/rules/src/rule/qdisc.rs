//! `NEVER-EARLY`, `SLACK-BOUND`, `QDISC-PROGRESS`, `QDISC-COUNTS`, `FQ-TREES` and `FQ-ORDER`: what
//! a scheduler does with packets.
//!
//! The rule keeps the packets by itself, and which flow waits until when.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::FewMap;
use pollproof_events::{
    Event, QdiscCounts, QdiscId, QdiscPacket, QdiscPromise, Record, Sched, NEVER,
};
use std::collections::{BTreeMap, BTreeSet};

const EARLY: &str = "NEVER-EARLY";
const SLACK: &str = "SLACK-BOUND";
const PROGRESS: &str = "QDISC-PROGRESS";
const COUNTS: &str = "QDISC-COUNTS";
const TREES: &str = "FQ-TREES";
const ORDER: &str = "FQ-ORDER";

#[derive(Default)]
struct Flow {
    /// Packets by the time from which on they may leave, and then by arrival.
    packets: BTreeMap<(u64, u64), u64>,
    until_ns: Option<u64>,
    /// A packet of it is paced by the discipline.
    paced: bool,
}

#[derive(Default)]
struct Qdisc {
    promise: Option<QdiscPromise>,
    flows: BTreeMap<u64, Flow>,
    /// Packets by identity, with the number of their arrival.
    packets: BTreeMap<u64, (QdiscPacket, u64)>,
    arrivals: u64,
    backlog: u64,
    /// Flows with packets that do not wait.
    ready: BTreeSet<u64>,
    /// Flows that wait, by their time.
    waiting: BTreeSet<(u64, u64)>,
    /// Flows that got a packet while they wait.
    changed: BTreeSet<u64>,
}

/// State: disciplines.
#[derive(Default)]
pub(crate) struct Qdiscs {
    qdiscs: FewMap<QdiscId, Qdisc>,
}

impl Rule for Qdiscs {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let Event::Sched(event) = record.event else { return };
        match event {
            Sched::Promise(promise) => {
                self.qdiscs.entry(promise.qdisc).promise = Some(promise);
            }
            Sched::Enqueue(packet) => self.qdiscs.entry(packet.qdisc).enqueue(packet),
            Sched::Dequeue { qdisc, packet, now_ns } => {
                self.qdiscs.entry(qdisc).dequeue(packet, now_ns, record, verdicts);
            }
            Sched::Throttle { qdisc, flow, until_ns } => {
                self.qdiscs.entry(qdisc).throttle(flow, until_ns, record, verdicts);
            }
            Sched::Unthrottle { qdisc, flow } => {
                if !self.qdiscs.entry(qdisc).unthrottle(flow) {
                    let message = format!("flow {flow:#x} goes on, and did not wait");
                    verdicts.broken(TREES, record, message);
                }
            }
            Sched::Nothing { qdisc, now_ns } => {
                self.qdiscs.entry(qdisc).nothing(now_ns, record, verdicts);
            }
            Sched::Stuck { rounds, .. } => {
                let message = format!("no packet is found in {rounds} rounds: it never ends");
                verdicts.broken(PROGRESS, record, message);
            }
            Sched::Reset { qdisc } => {
                let promise = self.qdiscs.entry(qdisc).promise;
                self.qdiscs.insert(qdisc, Qdisc { promise, ..Qdisc::default() });
            }
            Sched::Counts { qdisc, kept, walked } => {
                self.qdiscs.entry(qdisc).counted(&kept, &walked, record, verdicts);
            }
            Sched::Rest { qdisc } => {
                verdicts.reach(PROGRESS, "rest");
                let left = self.qdiscs.entry(qdisc).packets.len();
                if left > 0 {
                    let message = format!("{left} packets are queued, and nobody will send them");
                    verdicts.broken(PROGRESS, record, message);
                }
            }
            _ => {}
        }
    }
}

impl Qdisc {
    fn enqueue(&mut self, packet: QdiscPacket) {
        self.arrivals += 1;
        self.backlog += u64::from(packet.len);
        self.packets.insert(packet.packet, (packet, self.arrivals));
        let flow = self.flows.entry(packet.flow).or_default();
        flow.packets.insert((packet.departs_ns, self.arrivals), packet.packet);
        flow.paced |= packet.rate != NEVER;
        if flow.until_ns.is_some() {
            self.changed.insert(packet.flow);
        } else {
            self.ready.insert(packet.flow);
        }
    }

    fn dequeue(&mut self, id: u64, now_ns: u64, record: &Record, verdicts: &mut Verdicts) {
        let Some((packet, arrival)) = self.packets.remove(&id) else {
            let message = format!("packet {id} leaves, and was not queued");
            return verdicts.broken(COUNTS, record, message);
        };
        self.backlog -= u64::from(packet.len);
        self.in_time(&packet, now_ns, record, verdicts);
        let Some(flow) = self.flows.get_mut(&packet.flow) else { return };
        let place = (packet.departs_ns, arrival);
        // Among those that may leave no later, the first to come is the first to go.
        if let Some((_, first)) = flow.packets.range(..place).find(|((_, a), _)| *a < arrival) {
            let message = format!("packet {id} overtakes packet {first} of its flow");
            verdicts.broken(ORDER, record, message);
        }
        flow.packets.remove(&place);
        if flow.packets.len() > 1 {
            verdicts.reach(ORDER, "queued");
        }
        if flow.packets.is_empty() {
            self.ready.remove(&packet.flow);
            if flow.until_ns.is_none() {
                self.flows.remove(&packet.flow);
            }
        }
    }

    fn in_time(&self, packet: &QdiscPacket, now_ns: u64, r: &Record, v: &mut Verdicts) {
        let id = packet.packet;
        if packet.departs_ns > packet.now_ns {
            v.reach(EARLY, "packet");
        }
        if now_ns < packet.departs_ns {
            let departs_ns = packet.departs_ns;
            let message = format!("packet {id} of {departs_ns} ns leaves at {now_ns} ns");
            v.broken(EARLY, r, message);
        }
        let Some(promise) = self.promise.filter(|p| p.latency_ns != NEVER) else { return };
        if packet.rate != NEVER {
            return;
        }
        let due_ns = packet.departs_ns.max(packet.now_ns);
        let slack_ns = promise.slack_ns.saturating_mul(promise.slacks);
        let most_ns = slack_ns.saturating_add(promise.latency_ns);
        v.reach(SLACK, "packet");
        if now_ns.saturating_sub(due_ns) > most_ns {
            let message = format!(
                "packet {id} is due at {due_ns} ns and leaves at {now_ns} ns, more than {most_ns} \
                 ns later"
            );
            v.broken(SLACK, r, message);
        }
    }

    fn throttle(&mut self, id: u64, until_ns: u64, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(TREES, "waits");
        let flow = self.flows.entry(id).or_default();
        if let Some(before_ns) = flow.until_ns.replace(until_ns) {
            self.waiting.remove(&(before_ns, id));
        }
        self.waiting.insert((until_ns, id));
        self.ready.remove(&id);
        match flow.packets.first_key_value() {
            Some(((first_ns, _), _)) if *first_ns <= until_ns => {}
            first => {
                let first_ns = first.map(|((ns, _), _)| *ns);
                let message = format!(
                    "flow {id:#x} waits until {until_ns} ns, its first packet until {first_ns:?}"
                );
                verdicts.broken(TREES, record, message);
            }
        }
    }

    /// Whether it waited.
    fn unthrottle(&mut self, id: u64) -> bool {
        let Some(flow) = self.flows.get_mut(&id) else { return false };
        let Some(until_ns) = flow.until_ns.take() else { return false };
        self.waiting.remove(&(until_ns, id));
        if flow.packets.is_empty() {
            self.flows.remove(&id);
        } else {
            self.ready.insert(id);
        }
        true
    }

    fn nothing(&mut self, now_ns: u64, record: &Record, verdicts: &mut Verdicts) {
        verdicts.reach(PROGRESS, "nothing");
        if let Some(flow) = self.ready.first() {
            let message = format!("no packet is found, though flow {flow:#x} has one that may go");
            verdicts.broken(PROGRESS, record, message);
        }
        if let Some((until_ns, flow)) = self.waiting.first().filter(|(ns, _)| *ns <= now_ns) {
            let message = format!("at {now_ns} ns flow {flow:#x} still waits for {until_ns} ns");
            verdicts.broken(PROGRESS, record, message);
        }
        for id in std::mem::take(&mut self.changed) {
            let Some(flow) = self.flows.get(&id).filter(|f| !f.paced) else { continue };
            let first_ns = flow.packets.first_key_value().map(|((ns, _), _)| *ns);
            verdicts.reach(TREES, "changed");
            if let (Some(until_ns), Some(first_ns)) = (flow.until_ns, first_ns) {
                if until_ns > first_ns {
                    let message = format!(
                        "flow {id:#x} waits until {until_ns} ns, and has a packet for {first_ns} ns"
                    );
                    verdicts.broken(TREES, record, message);
                }
            }
        }
    }

    fn counted(&self, kept: &QdiscCounts, walked: &QdiscCounts, r: &Record, v: &mut Verdicts) {
        v.reach(COUNTS, "counted");
        if kept != walked {
            let message = format!("kept are {kept:?}, there are {walked:?}");
            v.broken(COUNTS, r, message);
        }
        let next_ns = self.waiting.first().map_or(NEVER, |(ns, _)| *ns);
        let seen = (self.packets.len() as u64, self.backlog, self.waiting.len() as u64, next_ns);
        let told = (kept.qlen, kept.backlog, kept.throttled, kept.next_ns);
        if told != seen {
            let message = format!(
                "packets, bytes, flows that wait and the first time are {seen:?}, kept are {told:?}"
            );
            v.broken(COUNTS, r, message);
        }
    }
}
