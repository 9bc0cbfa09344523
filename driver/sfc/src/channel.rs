//! A channel: `efx_process_channel`, `efx_poll` of `efx_channels.c`, `efx_ef10_ev_process` of
//! `ef10.c` (6.12).
//!
//! An entry of the queue is an event when neither of its halves is all ones: they may come to be
//! seen one after the other. What was read is made all ones again. Left out: events of MCDI, link
//! changes, flushes.

use crate::rx::{Rx, RxQueue};
use crate::{Moderation, SfcOptions, TxQueue};
use pollproof_events::{emit, Event, SkbStep};
use pollproof_kapi::{Below, Coherent};
use pollproof_netcore::{Napi, NapiPoll, Net, SkbList};
use pollproof_regs::ef10::{
    ev, BAR_VI, EVQ_RPTR, EVQ_TMR, EVQ_TMR_HOLDOFF, QWORD_BYTES, VI_STRIDE,
};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, dma_rmb, AtomicU32, Counter, PlainU32, Private};
use std::sync::{Arc, OnceLock};

/// `EFX_NAPI_MAX_TX`: sent descriptors after which a poll is as good as full.
const NAPI_MAX_TX: u32 = 512;

/// What a channel counts.
#[derive(Default)]
pub struct ChannelStats {
    /// Packets that were taken.
    pub rx_packets: Counter,
    /// Events that told of several packets.
    pub rx_merge_events: Counter,
    /// Packets that firmware gave up.
    pub rx_aborts: Counter,
    /// Packets whose prefix has no length, or one that cannot be (`n_rx_frm_trunc`).
    pub rx_trunc: Counter,
    /// Events that make no sense.
    pub rx_bad_events: Counter,
    /// Packets that were sent and told of.
    pub tx_packets: Counter,
    /// Polls, and those that used their whole weight.
    pub polls: Counter,
    /// See there.
    pub full_polls: Counter,
    /// Requests for an interrupt.
    pub arms: Counter,
}

/// A channel (`struct efx_channel`): event queue, rings, NAPI context, vector.
pub struct Channel {
    /// Its number, which its queues have, too.
    pub index: u32,
    /// Its vector.
    pub vector: u32,
    /// Counts.
    pub stats: ChannelStats,
    /// Receive ring.
    pub rx: RxQueue,
    /// Send ring.
    pub tx: TxQueue,
    pub(crate) evq: Coherent,
    pub(crate) evq_mask: u32,
    /// `eventq_read_ptr`: the owner's.
    pub(crate) read_ptr: PlainU32,
    /// The channel is open.
    pub(crate) enabled: AtomicU32,
    pub(crate) moderation: Private<Moderation>,
    /// All that was ever added to `irq_mod_score`.
    pub(crate) score: Counter,
    /// What a poll carries along; outside of one it is empty.
    pub(crate) lists: Private<Option<Box<Lists>>>,
    pub(crate) options: SfcOptions,
    pub(crate) below: Below,
    pub(crate) net: Arc<Net>,
    pub(crate) napi: OnceLock<Arc<Napi>>,
}

/// Lists of a poll (`channel->rx_list`, and `gro_list` of 2018).
#[derive(Default)]
pub(crate) struct Lists {
    pub rx: SkbList,
    pub gro: SkbList,
}

impl Channel {
    /// The NAPI context; `None` before the channel is open.
    pub fn napi(&self) -> Option<&Arc<Napi>> {
        self.napi.get()
    }

    /// Hold-off of interrupts, microseconds; only when nothing runs.
    pub fn irq_moderation_us(&self) -> u32 {
        self.moderation.with(|m| m.us()).unwrap_or(0)
    }

    fn register(&self, register: u64) -> u64 {
        u64::from(self.index) * VI_STRIDE + register
    }

    /// `efx_ef10_ev_read_ack`: tells how far the queue was read, and asks for the next interrupt.
    pub(crate) fn read_ack(&self, napi: &Napi, read_ptr: u32) {
        self.stats.arms.add(1);
        let (cq, consumer) = (self.index, read_ptr);
        emit(Event::ArmCq { cq, napi: napi.slot, consumer, sn: 0 });
        let value = read_ptr & self.evq_mask;
        self.below.mmio.write32(BAR_VI, self.register(EVQ_RPTR), value);
    }

    /// `efx_ef10_push_irq_moderation`.
    pub(crate) fn push_irq_moderation(&self, us: u32) {
        let quanta = us.saturating_mul(1000) / crate::TIMER_QUANTUM_NS;
        let value = if quanta == 0 { 0 } else { EVQ_TMR_HOLDOFF | quanta.min(0x3fff) };
        self.below.mmio.write32(BAR_VI, self.register(EVQ_TMR), value);
    }

    /// The event at the read pointer, if it is whole; its place is free from here on.
    fn next_event(&self) -> Option<u64> {
        let at = (self.read_ptr.get() & self.evq_mask) * QWORD_BYTES;
        let low = self.evq.load32(at, Relaxed);
        let high = self.evq.load32(at + 4, Relaxed);
        if low == u32::MAX || high == u32::MAX {
            return None;
        }
        // What the event tells of may be read only after it was seen whole.
        dma_rmb();
        self.evq.store32(at, u32::MAX, Relaxed);
        self.evq.store32(at + 4, u32::MAX, Relaxed);
        self.read_ptr.set(self.read_ptr.get().wrapping_add(1));
        Some(u64::from(high) << 32 | u64::from(low))
    }

    /// `efx_ef10_ev_process`: events until the quota is used or none is left. Gives what was used.
    fn ev_process(&self, rx: &mut Rx<'_>, quota: i32) -> i32 {
        let (mut spent, mut tx_done) = (0, 0);
        while spent < quota {
            let Some(event) = self.next_event() else { break };
            match event >> ev::CODE_SHIFT {
                ev::CODE_RX => spent = (spent + rx.handle_event(event)).min(quota),
                ev::CODE_TX => {
                    tx_done += self.tx.completed(self, event);
                    if tx_done >= NAPI_MAX_TX {
                        spent = quota;
                    }
                }
                _ => {}
            }
        }
        spent
    }

    /// `efx_process_channel`: gives what was used of the budget.
    fn process_channel(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        if self.enabled.load(Relaxed) == 0 {
            return 0;
        }
        let Some(mut lists) = self.open_lists(napi) else { return 0 };
        let mut rx = Rx::new(self, napi, &mut lists);
        let spent = self.ev_process(&mut rx, budget);
        // The last packet is one behind, so that its bytes come into the cache meanwhile.
        rx.flush_packet();
        let consumer = rx.finish();
        emit(Event::CqSetCi { cq: self.index, consumer: consumer & 0x00ff_ffff });
        self.rx.fast_push_descriptors(self);
        if bug("G-5") && spent >= budget {
            // Out of budget: come back soon.
            self.lists.with(|kept| *kept = Some(lists));
            return spent;
        }
        self.close_lists(napi, &mut lists);
        spent
    }

    /// The lists of this poll; there must be none yet.
    fn open_lists(&self, napi: &Napi) -> Option<Box<Lists>> {
        emit(Event::Skb(SkbStep::ListScope { napi: napi.slot, open: true }));
        Some(self.lists.with(Option::take).flatten().unwrap_or_default())
    }

    /// What was gathered goes up.
    fn close_lists(&self, napi: &Napi, lists: &mut Lists) {
        self.net.netif_receive_skb_list(&mut lists.rx);
        self.net.napi_gro_receive_list(napi, &mut lists.gro);
        emit(Event::Skb(SkbStep::ListScope { napi: napi.slot, open: false }));
    }

    /// `efx_update_irq_mod`: every so many polls the hold-off follows the score.
    fn update_irq_mod(&self) {
        let score = self.score.get();
        let change = self.moderation.with(|m| m.poll(score)).flatten();
        if let Some(us) = change {
            self.push_irq_moderation(us);
        }
    }

    /// Adds to the score what so many packets are worth.
    pub(crate) fn score(&self, packets: u64) {
        self.score.add(2 * packets);
    }

    /// `efx_ef10_msi_interrupt`.
    pub(crate) fn interrupt(&self) {
        if let Some(napi) = self.napi.get().filter(|_| self.enabled.load(Relaxed) == 1) {
            self.net.napi_schedule(napi);
        }
    }
}

impl NapiPoll for Channel {
    /// `efx_poll`.
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        if budget == 0 {
            // netpoll reaps what was sent and nothing else; its events are among the others.
            return 0;
        }
        let spent = self.process_channel(napi, budget);
        self.stats.polls.add(1);
        emit(Event::Skb(SkbStep::Score { cq: self.index, total: self.score.get() }));
        if spent >= budget {
            self.stats.full_polls.add(1);
            return spent;
        }
        if self.options.adaptive {
            self.update_irq_mod();
        }
        // Read while it is still ours.
        let read_ptr = self.read_ptr.get();
        if self.net.napi_complete_done(napi, spent) {
            self.read_ack(napi, read_ptr);
        }
        spent
    }
}
