//! `RATE-BOUND`: a flow that the scheduler paces sends no faster than its rate, and no slower for
//! want of a timer that is on time.
//!
//! A bucket each: it fills at the flow's rate, holds what a flow may send at once, and must not run
//! dry. And a stretch: while the flow has packets and none left later than half its gap, it must
//! have sent what its rate allows.

use super::Rule;
use crate::judge::Verdicts;
use crate::map::FewMap;
use pollproof_events::{Event, QdiscId, QdiscPacket, QdiscPromise, Record, Sched, NEVER};
use std::collections::BTreeMap;

const ID: &str = "RATE-BOUND";
const NSEC_PER_SEC: u128 = 1_000_000_000;
/// A flow may be slower by one in so many.
const SLOWER: u128 = 20;

struct Flow {
    /// Packets that are queued.
    queued: u32,
    /// When the last one left, or the flow was seen first.
    last_ns: u64,
    rate: u64,
    tokens: i128,
    until_ns: u64,
    /// Begin of the stretch and the bytes sent in it.
    stretch: Option<(u64, u128)>,
    /// A packet of the stretch had a time of its own.
    timed: bool,
}

#[derive(Default)]
struct Qdisc {
    promise: Option<QdiscPromise>,
    flows: BTreeMap<u64, Flow>,
    packets: BTreeMap<u64, QdiscPacket>,
    /// There may be flows.
    used: bool,
}

/// State: what paced flows have sent.
#[derive(Default)]
pub(crate) struct Rates {
    qdiscs: FewMap<QdiscId, Qdisc>,
}

impl Rule for Rates {
    fn see(&mut self, record: &Record, verdicts: &mut Verdicts) {
        let Event::Sched(event) = record.event else { return };
        match event {
            // What flows were promised before holds no more.
            Sched::Promise(mut promise) => {
                let qdisc = self.qdiscs.entry(promise.qdisc);
                // But flows that there are keep the credit that they had.
                let before = qdisc.promise.filter(|_| qdisc.used).map_or(0, |p| p.burst);
                promise.burst = promise.burst.max(before);
                qdisc.promise = Some(promise);
                qdisc.flows.clear();
            }
            Sched::Reset { qdisc } => {
                let qdisc = self.qdiscs.entry(qdisc);
                qdisc.flows.clear();
                qdisc.packets.clear();
                qdisc.used = false;
            }
            Sched::Enqueue(packet) => {
                let qdisc = self.qdiscs.entry(packet.qdisc);
                qdisc.used = true;
                if packet.rate != NEVER {
                    qdisc.enqueue(packet);
                }
            }
            Sched::Dequeue { qdisc, packet, now_ns } => {
                let qdisc = self.qdiscs.entry(qdisc);
                if let Some(packet) = qdisc.packets.remove(&packet) {
                    qdisc.dequeue(&packet, now_ns, record, verdicts);
                }
            }
            Sched::Throttle { qdisc, flow, until_ns } => {
                if let Some(flow) = self.qdiscs.entry(qdisc).flows.get_mut(&flow) {
                    flow.until_ns = until_ns;
                }
            }
            _ => {}
        }
    }
}

/// Bytes that a flow may send beyond its rate: its credit, what one packet overdraws, and what a
/// late packet is given back.
fn most_at_once(promise: &QdiscPromise, len: u32) -> i128 {
    i128::from(promise.burst) + 3 * i128::from(promise.quantum.max(len.into()))
}

impl Qdisc {
    fn enqueue(&mut self, packet: QdiscPacket) {
        let Some(promise) = &self.promise else { return };
        let (now_ns, rate) = (packet.now_ns, packet.rate);
        let tokens = most_at_once(promise, packet.len);
        let flow = self.flows.entry(packet.flow).or_insert(Flow {
            queued: 0,
            last_ns: now_ns,
            rate,
            tokens,
            until_ns: 0,
            stretch: None,
            timed: false,
        });
        if flow.queued == 0 && now_ns.saturating_sub(flow.last_ns) > promise.refill_ns {
            flow.tokens = tokens;
        }
        flow.timed |= packet.departs_ns != now_ns;
        flow.queued += 1;
        self.packets.insert(packet.packet, packet);
    }

    fn dequeue(&mut self, packet: &QdiscPacket, now_ns: u64, r: &Record, v: &mut Verdicts) {
        let Some(promise) = self.promise else { return };
        let Some(flow) = self.flows.get_mut(&packet.flow) else { return };
        let unit = promise.quantum.max(packet.len.into());
        let gap_ns = u128::from(unit) * NSEC_PER_SEC / u128::from(packet.rate.max(1));
        flow.queued = flow.queued.saturating_sub(1);
        // A gap is one second at most, so that a slow flow is faster than its rate.
        if gap_ns <= NSEC_PER_SEC {
            flow.fill(packet, now_ns, most_at_once(&promise, packet.len));
            v.reach(ID, "paced");
            if flow.tokens < 0 {
                let message = format!(
                    "flow {:#x} of {} B/s has sent {} B more than that and its burst allow",
                    packet.flow, packet.rate, -flow.tokens
                );
                v.broken(ID, r, message);
            }
            flow.is_slow(packet, now_ns, gap_ns, unit, r, v);
        }
        (flow.last_ns, flow.rate) = (now_ns, packet.rate);
        if flow.queued == 0 {
            (flow.stretch, flow.timed) = (None, false);
        }
    }
}

impl Flow {
    fn fill(&mut self, packet: &QdiscPacket, now_ns: u64, most: i128) {
        let passed_ns = u128::from(now_ns.saturating_sub(self.last_ns));
        let rate = u128::from(self.rate.max(packet.rate));
        // Rounded up: gaps are rounded down, each by less than a nanosecond.
        let bytes = rate.saturating_mul(passed_ns + 1).div_ceil(NSEC_PER_SEC);
        let bytes = i128::try_from(bytes).unwrap_or(i128::MAX);
        self.tokens = self.tokens.saturating_add(bytes).min(most) - i128::from(packet.len);
    }

    fn is_slow(
        &mut self,
        packet: &QdiscPacket,
        now_ns: u64,
        gap_ns: u128,
        unit: u64,
        record: &Record,
        verdicts: &mut Verdicts,
    ) {
        let late_ns = u128::from(now_ns.saturating_sub(self.until_ns));
        if 2 * late_ns >= gap_ns || self.timed || self.rate != packet.rate {
            self.stretch = None;
            return;
        }
        let (begin_ns, sent) = self.stretch.get_or_insert((now_ns, 0));
        *sent += u128::from(packet.len);
        let passed_ns = u128::from(now_ns.saturating_sub(*begin_ns));
        let due = u128::from(packet.rate).saturating_mul(passed_ns) / NSEC_PER_SEC;
        verdicts.reach(ID, "backlogged");
        if due.saturating_sub(due / SLOWER) > *sent + 3 * u128::from(unit) {
            let message = format!(
                "flow {:#x} of {} B/s has sent {sent} B in {passed_ns} ns, though its timer was \
                 never late by half a gap",
                packet.flow, packet.rate
            );
            verdicts.broken(ID, record, message);
        }
    }
}
