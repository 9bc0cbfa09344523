//! Many paced flows through fq: how often timers interrupt, how many packets leave behind one
//! doorbell, and how late they are.
//!
//! Each flow sends at its own even pace: packet after packet, each with its departure time, however
//! late the one before it left (as TCP keeps its pacing time by itself). Queues share the flows and
//! nothing else.

use crate::line::Line;
use pollproof_events::with_visitor;
use pollproof_rules::{Finding, Judge};
use pollproof_sched::netlink::{kind, put_u32};
use pollproof_sched::{Packet, WatchdogForm};
use pollproof_sim::{Stream, Streams};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Bytes of a packet.
const LEN: u32 = 1_514;
const NSEC_PER_SEC: u64 = 1_000_000_000;

/// When a flow hands its next packet over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// When the one before it left.
    Behind,
    /// At random, at most so long before it is due.
    Ahead {
        /// Longest time.
        lead_ns: u64,
    },
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Flows, over all queues.
    pub flows: u64,
    /// Packets a second, over all queues.
    pub packets_per_s: u64,
    /// Queues, each with its CPU.
    pub queues: u64,
    /// `timer_slack`.
    pub slack_ns: u32,
    /// Form of the watchdog.
    pub form: WatchdogForm,
    /// When packets are handed over.
    pub feed: Feed,
    /// Simulated time.
    pub time_ns: u64,
    /// Seed of phases and leads.
    pub seed: u64,
    /// All rules watch.
    pub judged: bool,
}

impl Default for Load {
    /// The load of the series of March 2020, on one queue, for 50 ms.
    fn default() -> Self {
        Self {
            flows: 1_000,
            packets_per_s: 1_000_000,
            queues: 1,
            slack_ns: 10_000,
            form: WatchdogForm::LastExpires,
            feed: Feed::Behind,
            time_ns: 50_000_000,
            seed: 7,
            judged: false,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    /// Simulated time.
    pub time_ns: u64,
    /// Packets that left.
    pub packets: u64,
    /// Interrupts of timers.
    pub interrupts: u64,
    /// Times that a timer's hardware was programmed.
    pub programmed: u64,
    /// Doorbells: packets behind which no more came (`xmit_more`).
    pub doorbells: u64,
    /// Packets that left before their time.
    pub early: u64,
    /// How late packets left: how many by so many microseconds, rounded down.
    pub late_us: Vec<u64>,
    /// The latest of them.
    pub late_max_ns: u64,
    /// Sum of how late they were.
    pub late_sum_ns: u64,
    /// Rules that were broken.
    pub findings: Vec<Finding>,
}

impl Sent {
    /// So many a second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * NSEC_PER_SEC as f64 / self.time_ns.max(1) as f64
    }

    /// Packets a doorbell.
    pub fn batch(&self) -> f64 {
        self.packets as f64 / self.doorbells.max(1) as f64
    }

    /// How late packets are on average, in microseconds.
    pub fn late_mean_us(&self) -> f64 {
        self.late_sum_ns as f64 / self.packets.max(1) as f64 / 1e3
    }

    /// Microseconds by which this part of a thousand is late at most, rounded up.
    pub fn late_us_of(&self, per_mille: u64) -> u64 {
        let mut seen = 0;
        for (us, count) in (1..).zip(&self.late_us) {
            seen += count;
            if seen * 1_000 >= self.packets * per_mille {
                return us;
            }
        }
        0
    }

    fn packet(&mut self, now_ns: u64, packet: &Packet, more: bool) {
        self.packets += 1;
        self.doorbells += u64::from(!more);
        let late_ns = now_ns.saturating_sub(packet.tstamp_ns);
        self.early += u64::from(now_ns < packet.tstamp_ns);
        self.late_max_ns = self.late_max_ns.max(late_ns);
        self.late_sum_ns += late_ns;
        let us = (late_ns / 1_000) as usize;
        if self.late_us.len() <= us {
            self.late_us.resize(us + 1, 0);
        }
        self.late_us[us] += 1;
    }
}

/// Sends a load.
pub fn send(load: &Load) -> Sent {
    let judge = Rc::new(RefCell::new(Judge::new()));
    let all = || {
        let mut sent = Sent { time_ns: load.time_ns, ..Sent::default() };
        let streams = Streams::new(load.seed);
        for queue in 0..load.queues {
            Queue::new(load, queue, &streams).run(&mut sent, &mut |_, _| {});
        }
        sent
    };
    let mut sent = if load.judged { with_visitor(judge.clone(), all) } else { all() };
    sent.findings = judge.borrow().findings().to_vec();
    sent
}

/// Packets as they leave a queue together: when, and each with whether more come behind it.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(u64, &[(Packet, bool)]);

/// One queue with its share of the flows.
pub(crate) struct Queue<'a> {
    load: &'a Load,
    line: Line,
    /// Packets that will be handed over: when, of which flow, and when they are due.
    arrivals: BinaryHeap<Reverse<(u64, u64, u64)>>,
    leads: Stream,
    gap_ns: u64,
    numbers: u64,
}

impl<'a> Queue<'a> {
    pub fn new(load: &'a Load, queue: u64, streams: &Streams) -> Self {
        let line = Line::new(queue as u32, load.form, 0);
        let mut options = Vec::new();
        put_u32(&mut options, kind::TIMER_SLACK, load.slack_ns);
        let changed = line.qdisc.change(&options);
        debug_assert!(changed.is_ok());
        let gap_ns = load.flows * NSEC_PER_SEC / load.packets_per_s.max(1);
        let mut phases = streams.stream(&format!("phases of queue {queue}"));
        let leads = streams.stream(&format!("leads of queue {queue}"));
        let mut this =
            Self { load, line, arrivals: BinaryHeap::new(), leads, gap_ns, numbers: queue << 40 };
        for flow in (0..load.flows).filter(|flow| flow % load.queues == queue) {
            let due_ns = 1 + phases.below(gap_ns.max(1));
            this.hand_over(flow, due_ns, 0);
        }
        this
    }

    /// A packet of the flow is due then; it is handed over some time before.
    fn hand_over(&mut self, flow: u64, due_ns: u64, now_ns: u64) {
        let at_ns = match self.load.feed {
            Feed::Behind => now_ns,
            Feed::Ahead { lead_ns } => due_ns.saturating_sub(self.leads.below(lead_ns.max(1))),
        };
        self.arrivals.push(Reverse((at_ns.max(now_ns), flow, due_ns)));
    }

    pub fn run(mut self, sent: &mut Sent, sink: Sink) {
        loop {
            let timer_ns = self.line.programmed_ns();
            let arrival_ns = self.arrivals.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
            let now_ns = timer_ns.min(arrival_ns);
            if now_ns > self.load.time_ns {
                break;
            }
            self.line.at(now_ns);
            let mut left = Vec::new();
            let mut ring = |packet: Packet, more| left.push((packet, more));
            if arrival_ns <= timer_ns {
                let Some(Reverse((_, flow, due_ns))) = self.arrivals.pop() else { break };
                self.numbers += 1;
                self.line.xmit(Packet::edt(self.numbers, flow + 1, LEN, due_ns), &mut ring);
            } else {
                self.line.interrupt(&mut ring);
            }
            let now_ns = self.line.now_ns();
            sink(now_ns, &left);
            for (packet, more) in left {
                sent.packet(now_ns, &packet, more);
                let flow = packet.sk.map_or(0, |sk| u64::from(sk.sk_hash)) - 1;
                self.hand_over(flow, packet.tstamp_ns + self.gap_ns, now_ns);
            }
        }
        let counts = &self.line.base.counts;
        sent.interrupts += counts.interrupts.get();
        sent.programmed += counts.programmed.get();
        self.line.qdisc.with(|fq| fq.tell_counts());
    }
}
