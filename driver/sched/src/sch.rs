//! A queueing discipline at the root of a device's queue: its lock, its state, and who runs it,
//! after `net/sched/sch_generic.c` and `net/core/dev.c` of Linux 6.12, for disciplines with a lock.
//!
//! Left out: lockless disciplines, `TCQ_F_CAN_BYPASS`, requeueing (the device always has room),
//! quotas of a run, classes.

use crate::fq::Fq;
use crate::netlink::ChangeError;
use crate::packet::Packet;
use crate::watchdog::QdiscWatchdog;
use pollproof_events::{emit, Event, QdiscId, Sched};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{AtomicU32, SpinLock};
use std::sync::Arc;

/// `__QDISC_STATE_SCHED`: a softirq will run it.
const SCHED: u32 = 1;
/// `__QDISC_STATE_DEACTIVATED`.
const DEACTIVATED: u32 = 2;

/// `qdisc->state`. What must be seen in order is so by the discipline's lock.
pub struct QdiscState {
    bits: AtomicU32,
}

impl QdiscState {
    /// The state of a discipline that is in use.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { bits: AtomicU32::new(0) })
    }

    /// `__netif_schedule`: NET_TX_SOFTIRQ will run it on this CPU.
    pub fn netif_schedule(&self) {
        self.bits.fetch_or(SCHED, Relaxed);
    }

    /// Whether the softirq is to run it.
    pub fn is_scheduled(&self) -> bool {
        self.bits.load(Relaxed) & SCHED != 0
    }

    pub(crate) fn is_deactivated(&self) -> bool {
        self.bits.load(Relaxed) & DEACTIVATED != 0
    }

    fn clear(&self, bits: u32) {
        self.bits.fetch_and(!bits, Relaxed);
    }
}

/// `sch_fq` as the root of a queue.
pub struct Qdisc {
    id: QdiscId,
    state: Arc<QdiscState>,
    watchdog: Arc<QdiscWatchdog>,
    lock: SpinLock<Fq>,
}

/// Where packets go: `(packet, more)`, more as in `xmit_more`.
pub type Xmit<'a> = &'a mut dyn FnMut(Packet, bool);

impl Qdisc {
    /// A root.
    pub fn new(state: Arc<QdiscState>, watchdog: Arc<QdiscWatchdog>, fq: Fq) -> Arc<Self> {
        Arc::new(Self { id: fq.id(), state, watchdog, lock: SpinLock::new(fq) })
    }

    /// Its state.
    pub fn state(&self) -> &QdiscState {
        &self.state
    }

    /// The discipline under its lock.
    pub fn with<R>(&self, body: impl FnOnce(&mut Fq) -> R) -> R {
        body(&mut self.lock.lock_bh())
    }

    /// `__dev_xmit_skb`: queues a packet and runs the queue. A discipline that is not in use drops
    /// it.
    pub fn xmit(&self, packet: Packet, xmit: Xmit) {
        self.with(|fq| {
            if self.state.is_deactivated() {
                return;
            }
            let _ = fq.enqueue(packet);
            run(fq, xmit);
        });
    }

    /// `net_tx_action` for this queue: in softirq context.
    pub fn net_tx_action(&self, xmit: Xmit) {
        let mut fq = self.lock.lock();
        // Before it runs: what comes meanwhile schedules it again.
        self.state.clear(SCHED);
        emit(Event::Sched(Sched::Run { qdisc: self.id }));
        run(&mut fq, xmit);
    }

    /// `fq_change` by a netlink message.
    pub fn change(&self, options: &[u8]) -> Result<(), ChangeError> {
        self.with(|fq| fq.change(options))
    }

    /// `dev_deactivate`: no packet leaves any more, and no timer is left that would make one.
    pub fn deactivate(&self) {
        self.with(|_| {
            self.state.bits.fetch_or(DEACTIVATED, Relaxed);
            emit(Event::Sched(Sched::Active { qdisc: self.id, active: false }));
        });
        self.watchdog.cancel();
        self.with(Fq::reset);
    }

    /// `dev_activate`.
    pub fn activate(&self) {
        self.with(|_| {
            self.state.clear(DEACTIVATED);
            emit(Event::Sched(Sched::Active { qdisc: self.id, active: true }));
        });
    }
}

/// `__qdisc_run`: packets leave while there are any that may. The next one is fetched before one is
/// sent, so that the device knows whether more comes.
fn run(fq: &mut Fq, xmit: Xmit) {
    let mut next = fq.dequeue();
    while let Some(packet) = next {
        next = fq.dequeue();
        xmit(packet, next.is_some());
    }
}
