//! Receive queue: `en_rx.c` (6.12): poll, completions to packets, interrupt, busy poll.

use crate::poll_end::{PollEnd, PollEndForm};
use crate::{ArmForm, Cq, CqLock, Mlx4Options, RxRing, FIRST_OOM_TIMER};
use pollproof_events::{emit, Event};
use pollproof_kapi::Below;
use pollproof_netcore::{Frag, Napi, NapiPoll, Net, SkBuff, LL_FLUSH_BUSY, LL_FLUSH_FAILED};
use pollproof_regs::mlx4::db;
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, cpu, smp_mb, AtomicU32};
use std::sync::{Arc, OnceLock};

/// Packets that a socket takes in one go (`mlx4_en_low_latency_recv`).
const LL_BUDGET: i32 = 4;

/// One receive queue: CQ, ring, NAPI context and vector.
pub struct RxQueue {
    /// Number of the queue.
    pub index: u32,
    /// Its CQ.
    pub cq: Cq,
    /// Its ring.
    pub ring: RxRing,
    /// MSI-X vector of the EQ that its CQ reports to.
    pub vector: u32,
    pub(crate) lock: CqLock,
    /// The queue is open (`priv->port_up` as this queue sees it).
    pub(crate) up: AtomicU32,
    pub(crate) options: Mlx4Options,
    pub(crate) below: Below,
    pub(crate) net: Arc<Net>,
    pub(crate) napi: OnceLock<Arc<Napi>>,
}

impl RxQueue {
    /// The NAPI context; `None` before the queue is open.
    pub fn napi(&self) -> Option<&Arc<Napi>> {
        self.napi.get()
    }

    /// Whether this CPU is in the vector's affinity mask.
    pub(crate) fn on_right_cpu(&self) -> bool {
        self.below.irq.affinity(self.vector) == cpu::smp_processor_id()
    }

    /// `napi_complete_done`.
    pub(crate) fn complete(&self, napi: &Arc<Napi>, done: i32) -> bool {
        self.net.napi_complete_done(napi, done)
    }

    /// `mlx4_en_arm_cq`: after the context was given up; the record tells how far we are.
    pub(crate) fn arm(&self, napi: &Arc<Napi>) {
        if self.options.mask_vector {
            self.below.irq.unmask(self.vector);
        }
        let ci = self.published_ci();
        self.cq.arm(&self.below, self.options.arm, napi.slot, ci);
        if self.options.arm == ArmForm::RecordAndRecheck {
            self.recheck(napi);
        }
    }

    /// The consumer index that was published last. The context may be polled elsewhere by now, so
    /// the private index is no longer ours to read.
    fn published_ci(&self) -> u32 {
        let at = self.cq.db + db::CQ_SET_CI;
        pollproof_regs::mlx4::be(self.below.dma.load32(at, Relaxed)) & db::INDEX_MASK
    }

    /// Arm by record: a completion that came before the device could see the record raises no
    /// event, so look again. The full barrier orders our store before our load.
    fn recheck(&self, napi: &Arc<Napi>) {
        if !bug("ARM-NO-MB") {
            smp_mb();
        }
        // Only an owner may look at the queue.
        if bug("ARM-NO-RECHECK") || !self.net.napi_schedule_prep(napi) {
            return;
        }
        if self.cq.has_work(&self.below) {
            self.net.__napi_schedule(napi);
        } else {
            self.net.napi_complete_done(napi, 0);
        }
    }

    /// `mlx4_en_process_rx_cq`: at most `budget` completions become packets. Gives how many.
    fn process_rx_cq(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        let mut polled = 0;
        while polled < budget {
            let Some(completion) = self.cq.peek(&self.below) else { break };
            let (cq, index) = (self.cq.cqn, completion.index);
            emit(Event::CqeConsume { cq, index, napi: napi.slot });
            self.receive(napi, completion);
            self.cq.consume();
            polled += 1;
        }
        if polled > 0 {
            self.cq.set_ci(&self.below);
            self.ring.set_cons(self.cq.cons_index());
        }
        self.refill();
        polled
    }

    fn receive(&self, napi: &Arc<Napi>, completion: crate::cq::Completion) {
        let Some(buf) = self.ring.take_buf(completion.index) else { return };
        self.below.dma.unmap_buf(buf);
        self.below.dma.hand_up(buf);
        let len = completion.byte_cnt as usize;
        let number = u64::from(self.cq.cqn) << 32 | u64::from(completion.index);
        let told = (number, completion.rss_hash, napi.napi_id());
        let frag = Frag { buf, page: None, offset: 0, len };
        let skb = SkBuff::received(frag, told, completion.checksum_ok);
        emit(Event::SkbBuilt { skb: skb.number, flow: skb.hash, len: completion.byte_cnt });
        if completion.error {
            self.net.kfree_skb(skb, "rx_cqe_error");
        } else if skb.len > self.below.dma.buf_len() {
            // What a device says of a length is not to be believed.
            self.net.kfree_skb(skb, "rx_bad_length");
        } else {
            self.net.napi_gro_receive(napi, skb);
        }
    }

    /// Refills the ring. An empty ring brings no interrupt ever, so somebody must try again:
    /// `mlx4_en_recover_from_oom`, which Linux runs from its service task.
    pub(crate) fn refill(&self) {
        let complete = self.ring.refill(&self.below, self.options.refill_min);
        if !complete && self.ring.is_empty() && !bug("F-15") {
            const RETRY_NS: u64 = 250_000_000;
            self.below.timer.start(FIRST_OOM_TIMER + self.index, RETRY_NS);
        }
    }

    /// `mlx4_en_recover_from_oom`: the retry timer fired, or the service task looks after rings.
    pub fn recover_from_oom(&self) {
        let (1, Some(napi)) = (self.up.load(Relaxed), self.napi.get()) else { return };
        if bug("B-15") {
            self.net.napi_schedule(napi);
            return;
        }
        // A task may do this: the softirq that is raised runs when BHs are enabled.
        cpu::local_bh_disable();
        self.net.napi_schedule(napi);
        self.net.local_bh_enable();
    }

    /// `mlx4_en_rx_irq`: the CQ has a completion.
    pub(crate) fn rx_irq(&self) {
        let Some(napi) = self.napi.get() else { return };
        if self.up.load(Relaxed) == 0 {
            return;
        }
        if !self.options.mask_vector {
            self.net.napi_schedule(napi);
        } else if bug("C-18") {
            self.net.napi_schedule(napi);
            self.below.irq.mask(self.vector);
        } else if self.net.napi_schedule_prep(napi) {
            // Masked before the poll can run: the poll's end unmasks.
            self.below.irq.mask(self.vector);
            self.net.__napi_schedule(napi);
        }
    }

    pub(crate) fn set_up(&self, up: bool) {
        self.up.store(u32::from(up), Relaxed);
    }

    fn poll_end(&self) -> PollEndForm {
        if bug("C-1") {
            PollEndForm::FirstCompleteDone
        } else if bug("C-26") {
            PollEndForm::Restored
        } else {
            self.options.poll_end
        }
    }
}

impl NapiPoll for RxQueue {
    /// `mlx4_en_poll_rx_cq`.
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        if budget == 0 {
            if bug("C-5") {
                self.complete(napi, 0);
            }
            // netpoll reaps transmit completions only, and we have none. Saying "not clean" with a
            // number above the budget is what igb did.
            return i32::from(bug("C-2") && self.cq.has_work(&self.below));
        }
        if self.options.busy_poll_lock && !self.lock.lock_napi() {
            if bug("B-5") {
                self.complete(napi, 0);
                return 0;
            }
            return budget;
        }
        let done = self.process_rx_cq(napi, budget);
        if self.options.busy_poll_lock {
            self.lock.unlock_napi();
        }
        self.poll_end().end(self, napi, done, budget)
    }

    /// `mlx4_en_low_latency_recv`.
    fn ll_poll(&self, napi: &Arc<Napi>) -> i32 {
        if !self.options.busy_poll_lock || self.up.load(Relaxed) == 0 {
            return LL_FLUSH_FAILED;
        }
        if !self.lock.lock_poll() {
            return LL_FLUSH_BUSY;
        }
        let done = self.process_rx_cq(napi, LL_BUDGET);
        self.lock.unlock_poll();
        done
    }
}
