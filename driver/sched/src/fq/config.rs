//! Settings: defaults, `fq_change`, `fq_dump`.

use super::Fq;
use crate::netlink::{self, kind, Attr, ChangeError, FQ_BANDS, PRIOS};
use crate::packet::NO_RATE;
use pollproof_events::{emit, Event, Sched};
use pollproof_sync::bug;

/// Largest quantum.
const QUANTUM_MAX: u32 = 1 << 20;
/// `FQ_MIN_WEIGHT`.
const WEIGHT_MIN: i32 = 1 << 14;
/// Most trees: 2^18.
const BUCKETS_LOG_MAX: u32 = 18;
const NSEC_PER_USEC: u64 = 1_000;

/// Settings, in the units in which they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Config {
    /// Packets of a band.
    pub plimit: u32,
    /// Packets of a flow.
    pub flow_plimit: u32,
    pub quantum: u32,
    pub initial_quantum: u32,
    pub rate_enable: bool,
    /// Bytes a second.
    pub flow_max_rate: u64,
    pub buckets_log: u32,
    pub flow_refill_delay_ns: u64,
    pub orphan_mask: u32,
    /// Bytes a second.
    pub low_rate_threshold: u32,
    pub ce_threshold_ns: u64,
    pub timer_slack_ns: u32,
    pub horizon_ns: u64,
    /// 0 caps what lies beyond the horizon.
    pub horizon_drop: u8,
    /// Band of each priority.
    pub priomap: [u8; PRIOS],
    /// Bytes that a band may send in its turn.
    pub weights: [u32; FQ_BANDS],
}

impl Config {
    /// The defaults of `fq_init`.
    pub fn new(mtu: u32) -> Self {
        Self {
            plimit: 10_000,
            flow_plimit: 100,
            quantum: (2 * u64::from(mtu)).clamp(1, QUANTUM_MAX.into()) as u32,
            initial_quantum: (10 * u64::from(mtu)).clamp(1, i32::MAX as u64) as u32,
            rate_enable: true,
            flow_max_rate: NO_RATE,
            buckets_log: 10,
            flow_refill_delay_ns: 40_000 * NSEC_PER_USEC,
            orphan_mask: 1_023,
            low_rate_threshold: 550_000 / 8,
            ce_threshold_ns: u64::from(u32::MAX) * NSEC_PER_USEC,
            timer_slack_ns: 10_000,
            horizon_ns: 10_000_000 * NSEC_PER_USEC,
            horizon_drop: 1,
            // `sch_default_prio2band`.
            priomap: [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
            weights: [9 << 16, 3 << 16, 1 << 16],
        }
    }

    pub(super) fn band_of(&self, priority: u8) -> u8 {
        self.priomap[usize::from(priority) % PRIOS]
    }

    /// Takes an attribute over, or says why not.
    fn set(&mut self, attr: &Attr) -> Result<(), ChangeError> {
        let value = attr.number();
        let in_range = |least: u32, most: u32, allowed| match value {
            v if (least..=most).contains(&v) => Ok(value),
            v => Err(ChangeError::Value { kind: attr.kind, value: v.into(), allowed }),
        };
        match attr.kind {
            kind::PLIMIT => self.plimit = value,
            kind::FLOW_PLIMIT => self.flow_plimit = value,
            kind::QUANTUM if bug("H-7") => self.quantum = value,
            kind::QUANTUM => self.quantum = in_range(1, QUANTUM_MAX, "1 to 1048576")?,
            kind::INITIAL_QUANTUM if bug("H-9") => self.initial_quantum = value,
            kind::INITIAL_QUANTUM => {
                self.initial_quantum = in_range(0, i32::MAX as u32, "0 to 2147483647")?;
            }
            kind::RATE_ENABLE => self.rate_enable = in_range(0, 1, "0 or 1")? != 0,
            // Ignored since long ago, and still known.
            kind::FLOW_DEFAULT_RATE => {}
            kind::FLOW_MAX_RATE if value == u32::MAX => self.flow_max_rate = NO_RATE,
            kind::FLOW_MAX_RATE => self.flow_max_rate = value.into(),
            kind::BUCKETS_LOG => self.buckets_log = in_range(1, BUCKETS_LOG_MAX, "1 to 18")?,
            kind::FLOW_REFILL_DELAY => self.flow_refill_delay_ns = usecs(value),
            kind::ORPHAN_MASK => self.orphan_mask = value,
            kind::LOW_RATE_THRESHOLD => self.low_rate_threshold = value,
            kind::CE_THRESHOLD => self.ce_threshold_ns = usecs(value),
            kind::TIMER_SLACK => self.timer_slack_ns = value,
            kind::HORIZON => self.horizon_ns = usecs(value),
            kind::HORIZON_DROP => self.horizon_drop = value as u8,
            kind::PRIOMAP => self.priomap = priomap(attr)?,
            kind::WEIGHTS => self.weights = weights(attr)?,
            kind => return Err(ChangeError::Unknown { at: 0, kind }),
        }
        Ok(())
    }
}

fn usecs(value: u32) -> u64 {
    u64::from(value) * NSEC_PER_USEC
}

/// `fq_load_priomap`.
fn priomap(attr: &Attr) -> Result<[u8; PRIOS], ChangeError> {
    let wrong = |value: u32, allowed| {
        let kind = attr.kind;
        Err(ChangeError::Value { kind, value: value.into(), allowed })
    };
    if attr.number() != FQ_BANDS as u32 {
        return wrong(attr.number(), "3 bands");
    }
    let mut map = [0; PRIOS];
    let bands = attr.payload.iter().skip(4);
    map.iter_mut().zip(bands).for_each(|(to, band)| *to = *band);
    match map.iter().find(|band| usize::from(**band) >= FQ_BANDS) {
        Some(band) => wrong((*band).into(), "a band of 0 to 2"),
        None => Ok(map),
    }
}

/// `fq_load_weights`.
fn weights(attr: &Attr) -> Result<[u32; FQ_BANDS], ChangeError> {
    let words: [u32; FQ_BANDS] = std::array::from_fn(|n| attr.word(n));
    let least = if bug("H-13") { 0 } else { WEIGHT_MIN };
    match words.iter().find(|word| (**word as i32) < least) {
        Some(word) => {
            let (kind, value) = (attr.kind, i64::from(*word as i32));
            Err(ChangeError::Value { kind, value, allowed: "16384 and more" })
        }
        None => Ok(words),
    }
}

impl Fq {
    /// `fq_change` by the attributes of a message: all of them, or none and why.
    pub fn change(&mut self, options: &[u8]) -> Result<(), ChangeError> {
        let attrs = netlink::parse(options)?;
        let mut config = self.config.clone();
        attrs.iter().try_for_each(|attr| config.set(attr))?;
        let qdisc = self.id();
        for attr in &attrs {
            let (kind, len, value) = (attr.kind, attr.payload.len() as u32, attr.value());
            emit(Event::Sched(Sched::Attr { qdisc, kind, len, value }));
        }
        let buckets_log = config.buckets_log;
        if buckets_log != self.config.buckets_log {
            self.resize(buckets_log);
        }
        self.config = config;
        self.promise();
        self.drop_excess();
        Ok(())
    }

    /// Packets beyond the limit are dropped, as far as they may leave now.
    fn drop_excess(&mut self) {
        let (qdisc, why) = (self.id(), "limit");
        while self.qlen > u64::from(self.config.plimit) {
            let Some(packet) = self.dequeue() else { break };
            emit(Event::Sched(Sched::Drop { qdisc, packet: packet.id, why }));
        }
    }

    /// `fq_dump`: all settings as attributes.
    pub fn dump(&self) -> Vec<u8> {
        let c = &self.config;
        let mut bytes = Vec::new();
        let in_usecs = |ns: u64| (ns / NSEC_PER_USEC) as u32;
        for (kind, value) in [
            (kind::PLIMIT, c.plimit),
            (kind::FLOW_PLIMIT, c.flow_plimit),
            (kind::QUANTUM, c.quantum),
            (kind::INITIAL_QUANTUM, c.initial_quantum),
            (kind::RATE_ENABLE, c.rate_enable.into()),
            (kind::FLOW_MAX_RATE, c.flow_max_rate.min(u32::MAX.into()) as u32),
            (kind::FLOW_REFILL_DELAY, in_usecs(c.flow_refill_delay_ns)),
            (kind::ORPHAN_MASK, c.orphan_mask),
            (kind::LOW_RATE_THRESHOLD, c.low_rate_threshold),
            (kind::CE_THRESHOLD, in_usecs(c.ce_threshold_ns)),
            (kind::BUCKETS_LOG, c.buckets_log),
            (kind::TIMER_SLACK, c.timer_slack_ns),
            (kind::HORIZON, in_usecs(c.horizon_ns)),
        ] {
            netlink::put_u32(&mut bytes, kind, value);
        }
        netlink::put(&mut bytes, kind::HORIZON_DROP, &[c.horizon_drop]);
        let mut map = (FQ_BANDS as u32).to_le_bytes().to_vec();
        map.extend(c.priomap);
        netlink::put(&mut bytes, kind::PRIOMAP, &map);
        let weights: Vec<_> = c.weights.iter().flat_map(|w| w.to_le_bytes()).collect();
        netlink::put(&mut bytes, kind::WEIGHTS, &weights);
        for attr in netlink::parse(&bytes).unwrap_or_default() {
            let (qdisc, kind, value) = (self.id(), attr.kind, attr.value());
            emit(Event::Sched(Sched::Dump { qdisc, kind, value }));
        }
        bytes
    }
}
