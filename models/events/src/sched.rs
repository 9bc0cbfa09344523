//! What a packet scheduler, its watchdog and its timers do. Times are nanoseconds of one clock.

/// Number of a queueing discipline.
pub type QdiscId = u32;
/// Number of a high-resolution timer.
pub type HrtimerId = u32;

/// A time that is never, and a rate without limit.
pub const NEVER: u64 = u64::MAX;

/// A packet as it is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QdiscPacket {
    /// Queueing discipline.
    pub qdisc: QdiscId,
    /// Identity of the packet.
    pub packet: u64,
    /// Flow that it belongs to.
    pub flow: u64,
    /// Length in bytes.
    pub len: u32,
    /// Time from which on it may leave: what its sender wants, or the time of its arrival.
    pub departs_ns: u64,
    /// Bytes a second at which its flow may send, where the scheduler is to see to that.
    pub rate: u64,
    /// Time of arrival.
    pub now_ns: u64,
}

/// What a queueing discipline promises, from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QdiscPromise {
    /// Queueing discipline.
    pub qdisc: QdiscId,
    /// Timer of its watchdog.
    pub timer: HrtimerId,
    /// `timer_slack`.
    pub slack_ns: u64,
    /// So many slacks may a timer be late.
    pub slacks: u64,
    /// What may come on top until the packet leaves; [`NEVER`] where nothing is said of that.
    pub latency_ns: u64,
    /// Bytes that a flow may send at once: when it is new, and after each idle time.
    pub burst: u64,
    /// `quantum`: bytes of a turn.
    pub quantum: u64,
    /// Idle time after which a flow may send a burst again.
    pub refill_ns: u64,
}

/// Counters as they are kept, or as they are found by a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscCounts {
    /// Packets.
    pub qlen: u64,
    /// Bytes.
    pub backlog: u64,
    /// Flows.
    pub flows: u64,
    /// Flows without a packet.
    pub inactive: u64,
    /// Flows that wait for their time.
    pub throttled: u64,
    /// Packets in the bands.
    pub bands: [u64; 3],
    /// When the first of the flows that wait is due; [`NEVER`] if none.
    pub next_ns: u64,
}

/// One thing that a scheduler did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sched {
    /// A queueing discipline makes a promise.
    Promise(QdiscPromise),
    /// A packet was queued.
    Enqueue(QdiscPacket),
    /// A packet that came was refused, or one that was queued was dropped.
    Drop {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Packet.
        packet: u64,
        /// Name of the counter.
        why: &'static str,
    },
    /// A packet left towards the device.
    Dequeue {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Packet.
        packet: u64,
        /// Time.
        now_ns: u64,
    },
    /// A flow waits until this time.
    Throttle {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Flow.
        flow: u64,
        /// Time.
        until_ns: u64,
    },
    /// A flow waits no more.
    Unthrottle {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Flow.
        flow: u64,
    },
    /// Asked for a packet, the queueing discipline had none to give.
    Nothing {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Time.
        now_ns: u64,
    },
    /// It looked for a packet for too many rounds and gave up.
    Stuck {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Rounds.
        rounds: u64,
    },
    /// All packets and flows were thrown away.
    Reset {
        /// Queueing discipline.
        qdisc: QdiscId,
    },
    /// The queueing discipline is (not) in use from here on.
    Active {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Whether it is.
        active: bool,
    },
    /// The softirq that somebody scheduled runs the queueing discipline.
    Run {
        /// Queueing discipline.
        qdisc: QdiscId,
    },
    /// A watchdog was asked to fire in this window.
    Watchdog {
        /// Its timer.
        timer: HrtimerId,
        /// Not before.
        expires_ns: u64,
        /// Slack.
        slack_ns: u64,
        /// It left the timer as it was; else it starts it next.
        kept: bool,
    },
    /// A timer was started.
    TimerStart {
        /// Timer.
        timer: HrtimerId,
        /// Not before.
        soft_ns: u64,
        /// Not after.
        hard_ns: u64,
    },
    /// A timer expired: its callback comes next.
    TimerExpire {
        /// Timer.
        timer: HrtimerId,
        /// Time.
        now_ns: u64,
    },
    /// The callback of a timer returned.
    TimerDone {
        /// Timer.
        timer: HrtimerId,
    },
    /// A timer was cancelled.
    TimerCancel {
        /// Timer.
        timer: HrtimerId,
    },
    /// The hardware of a timer base was programmed.
    TimerProgram {
        /// CPU.
        cpu: u32,
        /// When it interrupts; [`NEVER`] is off.
        expires_ns: u64,
        /// Hard expiry of the first timer that is queued.
        first_ns: u64,
    },
    /// Counters as they are kept.
    Counts {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// As they are kept.
        kept: QdiscCounts,
        /// As a walk over everything finds them.
        walked: QdiscCounts,
    },
    /// An attribute of a change took effect.
    Attr {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Type of the attribute.
        kind: u16,
        /// Length of its payload.
        len: u32,
        /// Its value: the number, or a digest of the bytes.
        value: u64,
    },
    /// A dump told an attribute.
    Dump {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Type of the attribute.
        kind: u16,
        /// Its value, as in a change.
        value: u64,
    },
    /// Statistics told how long it is until the next flow is due.
    NextDelayed {
        /// Queueing discipline.
        qdisc: QdiscId,
        /// Time.
        now_ns: u64,
        /// What was told.
        told_ns: i64,
    },
    /// Nothing runs any more and no timer is left to fire.
    Rest {
        /// Queueing discipline.
        qdisc: QdiscId,
    },
}

/// What statistics tell as the time until the next flow is due when none waits.
pub const NO_FLOW_WAITS: i64 = i64::MIN;
