//! `sch_fq`: fair queueing with a departure time for each packet, after `net/sched/sch_fq.c` of
//! Linux 6.12.
//!
//! Flows lie in trees by their key, those with packets in two lists of their band, and those whose
//! first packet is not due yet in a tree by time. The trees are those of std; what that changes is
//! told in docs/FIDELITY.md. Left out: ECN marks (they are counted), the offload horizon of 6.13,
//! `sk_pacing_status`, allocation failures.

mod config;
mod dequeue;
mod enqueue;
mod flow;
mod stats;

pub use config::Config;
pub use enqueue::Refused;
pub use stats::{Stats, Totals};

use crate::netlink::FQ_BANDS;
use crate::packet::GSO_MAX_SIZE;
use crate::watchdog::QdiscWatchdog;
use flow::{Flow, FlowId};
use pollproof_events::{emit, is_recording, Event, QdiscId, QdiscPromise, Sched, NEVER};
use pollproof_kapi::Clock;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How a discipline is made.
#[derive(Clone, Copy, Debug)]
pub struct FqOptions {
    /// Its number.
    pub id: QdiscId,
    /// `psched_mtu`: MTU and hardware header.
    pub mtu: u32,
    /// How late a packet may leave after the timer, for the promise; [`NEVER`] promises nothing.
    pub latency_ns: u64,
}

impl Default for FqOptions {
    fn default() -> Self {
        Self { id: 0, mtu: 1_514, latency_ns: NEVER }
    }
}

/// The flows with packets of a band, in turn.
#[derive(Default)]
struct Band {
    new_flows: VecDeque<FlowId>,
    old_flows: VecDeque<FlowId>,
    credit: i32,
    packets: u32,
}

/// The discipline. Its user holds the qdisc's lock.
pub struct Fq {
    options: FqOptions,
    clock: Arc<dyn Clock>,
    watchdog: Arc<QdiscWatchdog>,
    config: Config,
    /// All flows that there are or were; those of the free list are empty.
    arena: Vec<Flow>,
    free: Vec<FlowId>,
    /// Trees of flows by key.
    roots: Vec<BTreeMap<u64, FlowId>>,
    bands: [Band; FQ_BANDS],
    /// Band that is served.
    band_nr: usize,
    /// The queue of the fast path.
    internal: Flow,
    /// Flows that wait, by their time and then by who came first.
    delayed: BTreeSet<(u64, u64, FlowId)>,
    /// Packets and flows that were ordered by arrival.
    arrivals: u64,
    time_next_delayed_ns: u64,
    unthrottle_latency_ns: u64,
    qlen: u64,
    backlog: u64,
    flows: u64,
    inactive_flows: u64,
    throttled_flows: u64,
    totals: Totals,
}

impl Fq {
    /// `fq_init` with default settings.
    pub fn new(options: FqOptions, clock: Arc<dyn Clock>, watchdog: Arc<QdiscWatchdog>) -> Self {
        let config = Config::new(options.mtu);
        let fq = Self {
            options,
            clock,
            watchdog,
            roots: vec![BTreeMap::new(); 1 << config.buckets_log],
            config,
            arena: Vec::new(),
            free: Vec::new(),
            bands: Default::default(),
            band_nr: 0,
            internal: Flow::default(),
            delayed: BTreeSet::new(),
            arrivals: 0,
            time_next_delayed_ns: NEVER,
            unthrottle_latency_ns: 0,
            qlen: 0,
            backlog: 0,
            flows: 0,
            inactive_flows: 0,
            throttled_flows: 0,
            totals: Totals::default(),
        };
        fq.promise();
        fq
    }

    /// Its number.
    pub fn id(&self) -> QdiscId {
        self.options.id
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Packets that are queued.
    pub fn qlen(&self) -> u64 {
        self.qlen
    }

    /// Tells rules what holds from here on.
    fn promise(&self) {
        if !is_recording() {
            return;
        }
        let (quantum, initial) = (self.config.quantum.into(), self.config.initial_quantum.into());
        emit(Event::Sched(Sched::Promise(QdiscPromise {
            qdisc: self.id(),
            timer: self.watchdog.timer(),
            slack_ns: self.config.timer_slack_ns.into(),
            slacks: self.watchdog.form().slacks(),
            latency_ns: self.options.latency_ns,
            burst: u64::max(quantum, initial),
            quantum,
            refill_ns: self.config.flow_refill_delay_ns,
        })));
    }

    /// `fq_reset`: throws all packets and flows away.
    pub fn reset(&mut self) {
        self.internal = Flow::default();
        self.arena.clear();
        self.free.clear();
        self.roots.iter_mut().for_each(BTreeMap::clear);
        self.bands = Default::default();
        self.delayed.clear();
        self.time_next_delayed_ns = NEVER;
        (self.qlen, self.backlog) = (0, 0);
        (self.flows, self.inactive_flows, self.throttled_flows) = (0, 0, 0);
        emit(Event::Sched(Sched::Reset { qdisc: self.id() }));
    }

    /// Rounds of a dequeue after which something must be wrong: each turn of a flow adds a quantum
    /// to its credit, which is never further below zero than the longest packet, and so for bands.
    fn rounds_max(&self) -> u64 {
        let turns = |quantum: u32| u64::from(GSO_MAX_SIZE / quantum.max(1)) + 3;
        let least = self.config.weights.into_iter().min().unwrap_or(0);
        (self.flows + 1) * turns(self.config.quantum) + FQ_BANDS as u64 * turns(least)
    }
}
