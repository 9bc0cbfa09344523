//! Opening and closing a port: `efx_start_all`, `efx_start_channels`, `efx_stop_all` and what they
//! call (6.12), as far as channels go.

use crate::channel::{Channel, ChannelStats};
use crate::rx::RxQueue;
use crate::tx::{TxQueue, TxState};
use crate::{Efx, Mcdi, Moderation, SfcOptions, FIRST_SLOW_FILL_TIMER};
use pollproof_events::{emit, Event};
use pollproof_kapi::{Below, Coherent, Layout, NoMemory};
use pollproof_netcore::Net;
use pollproof_regs::ef10::{EvqContext, McdiError, RingContext, QWORD_BYTES};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{cpu, AtomicU32, Counter, PlainU32, Private, What};
use std::sync::{Arc, OnceLock};

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// No DMA memory.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// Firmware refused a command.
    #[error("firmware refused {0}: {1:?}")]
    Command(&'static str, McdiError),
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
}

/// State of a channel, for the bench to look at when nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelState {
    /// Number of its queues.
    pub index: u32,
    /// NAPI slot.
    pub napi: u32,
    /// Events that were read.
    pub read_ptr: u32,
    /// Descriptors that were taken.
    pub removed: u32,
    /// Descriptors that are posted.
    pub posted: u32,
    /// Whether the channel is open.
    pub up: bool,
}

fn command(name: &'static str, answer: Result<(), McdiError>) -> Result<(), OpenError> {
    answer.map_err(|error| OpenError::Command(name, error))
}

fn owned(name: &'static str) -> PlainU32 {
    PlainU32::new(0, What { rule: "SINGLE-CONSUMER", name })
}

impl Efx {
    /// A port that is not open yet.
    pub fn new(options: SfcOptions, below: Below, net: Arc<Net>, mcdi: Arc<dyn Mcdi>) -> Arc<Self> {
        Arc::new(Self { options, below, net, mcdi, channels: OnceLock::new() })
    }

    /// The channels; none before the port is open.
    pub fn channels(&self) -> &[Arc<Channel>] {
        self.channels.get().map_or(&[], Vec::as_slice)
    }

    /// `efx_start_all`. Call it once.
    pub fn start_all(self: &Arc<Self>) -> Result<(), OpenError> {
        let o = &self.options;
        let fits = |entries: u32| entries.is_power_of_two() && (16..=4096).contains(&entries);
        if !fits(o.rxq_entries) || !fits(o.txq_entries) || !(1..=32).contains(&o.channels) {
            return Err(OpenError::Options(
                "rings of 16 to 4096 descriptors, a power of two; 1 to 32 channels",
            ));
        }
        if !(1..=8).contains(&o.scatter_max) {
            return Err(OpenError::Options("a frame has 1 to 8 descriptors"));
        }
        let channels: Result<Vec<_>, _> = (0..o.channels).map(|n| self.probe_channel(n)).collect();
        if self.channels.set(channels?).is_err() {
            return Err(OpenError::Options("the port was opened before"));
        }
        command("RSS_CONTEXT_SET_KEY", self.mcdi.set_rss(TOEPLITZ_KEY, o.channels))?;
        self.channels().iter().try_for_each(|channel| self.start_channel(channel))
    }

    /// `efx_probe_channel`: memory of a channel.
    fn probe_channel(&self, index: u32) -> Result<Arc<Channel>, NoMemory> {
        let (o, dma) = (self.options.clone(), &self.below.dma);
        // Each descriptor may have an event of its own.
        let events = (o.rxq_entries + o.txq_entries).next_power_of_two().max(8);
        let area = |name, rule, marked, entries: u32| {
            let layout = Layout { name, rule, stride_bytes: QWORD_BYTES, marked };
            Coherent::alloc(dma, (entries * QWORD_BYTES) as usize, layout)
        };
        let rx = RxQueue {
            ring: area("rxq", "POST-BEFORE-DOORBELL", 0, o.rxq_entries)?,
            entries: o.rxq_entries,
            added: owned("added_count"),
            removed: owned("removed_count"),
            scatter: owned("scatter_n"),
            bufs: Private::new(vec![0; o.rxq_entries as usize]),
        };
        let state = TxState { inserted: 0, read: 0, bufs: vec![0; o.txq_entries as usize] };
        let tx = TxQueue {
            ring: area("txq", "POST-BEFORE-DOORBELL", 0, o.txq_entries)?,
            entries: o.txq_entries,
            state: Private::new(state),
        };
        Ok(Arc::new(Channel {
            index,
            vector: o.first_vector + index,
            stats: ChannelStats::default(),
            rx,
            tx,
            evq: area("evq", "VALID-BEFORE-USE", 0b11, events)?,
            evq_mask: events - 1,
            read_ptr: owned("eventq_read_ptr"),
            enabled: AtomicU32::new(0),
            moderation: Private::new(Moderation::new(o.rx_irq_mod_us)),
            score: Counter::default(),
            lists: Private::new(None),
            options: o,
            below: self.below.clone(),
            net: self.net.clone(),
            napi: OnceLock::new(),
        }))
    }

    /// `efx_init_eventq`, `efx_start_eventq`, `efx_init_rx_queue`: the queue is all ones before the
    /// device has it, the ring is full before anybody polls.
    fn start_channel(&self, channel: &Arc<Channel>) -> Result<(), OpenError> {
        let (index, entries) = (channel.index, channel.evq_mask + 1);
        for word in 0..2 * entries {
            channel.evq.store32(4 * word, u32::MAX, Relaxed);
        }
        let vector = channel.vector;
        let weak = Arc::downgrade(channel);
        let handler = move || {
            if let Some(channel) = weak.upgrade() {
                channel.interrupt();
            }
        };
        self.below.irq.request(vector, Arc::new(handler));
        let context = EvqContext { buf: channel.evq.addr(), entries, vector };
        command("INIT_EVQ", self.mcdi.init_evq(index, context))?;
        let ring = |buf, entries| RingContext { buf, entries, evq: index, label: index };
        let rx = ring(channel.rx.ring.addr(), channel.rx.entries);
        command("INIT_RXQ", self.mcdi.init_rxq(index, rx))?;
        let tx = ring(channel.tx.ring.addr(), channel.tx.entries);
        command("INIT_TXQ", self.mcdi.init_txq(index, tx))?;
        emit(Event::RingStarted { ring: index, cq: index });
        channel.rx.fast_push_descriptors(channel);
        channel.push_irq_moderation(self.options.rx_irq_mod_us);
        let napi = self.net.netif_napi_add(channel.clone(), self.options.weight);
        let _ = channel.napi.set(napi.clone());
        self.net.napi_hash_add(&napi);
        channel.enabled.store(1, Relaxed);
        self.net.napi_enable(&napi);
        channel.read_ack(&napi, 0);
        Ok(())
    }

    /// `efx_slow_fill`: the timer of a dry ring fired, in a softirq; the poll fills it.
    pub fn slow_fill(&self, timer: u32) -> bool {
        let Some(index) = timer.checked_sub(FIRST_SLOW_FILL_TIMER) else { return false };
        let channel = self.channels().get(index as usize);
        if let Some(napi) = channel.and_then(|c| c.napi()) {
            self.net.napi_schedule(napi);
        }
        true
    }

    /// `efx_stop_all`: the device stops first, then whoever works on it, then memory goes.
    pub fn stop_all(&self) {
        cpu::might_sleep("efx_stop_all");
        for channel in self.channels() {
            let Some(napi) = channel.napi() else { continue };
            if channel.enabled.load(Relaxed) == 0 {
                continue;
            }
            let _ = self.mcdi.fini_rxq(channel.index);
            let _ = self.mcdi.fini_txq(channel.index);
            self.net.napi_disable(napi);
            channel.enabled.store(0, Relaxed);
            self.below.timer.cancel(FIRST_SLOW_FILL_TIMER + channel.index);
            self.net.netif_napi_del(napi);
            emit(Event::RingStopped { ring: channel.index, cq: channel.index });
            let _ = self.mcdi.fini_evq(channel.index);
            self.below.irq.free(channel.vector);
            self.net.napi_free(napi);
            self.free(channel);
        }
    }

    fn free(&self, channel: &Channel) {
        let dma = &self.below.dma;
        let rx = channel.rx.bufs.with(std::mem::take).unwrap_or_default();
        let tx = channel.tx.state.with(|state| std::mem::take(&mut state.bufs)).unwrap_or_default();
        for buf in rx.into_iter().chain(tx).filter(|buf| *buf != 0) {
            dma.unmap_buf(buf);
            dma.free_buf(buf);
        }
        for area in [&channel.evq, &channel.rx.ring, &channel.tx.ring] {
            area.free();
        }
    }

    /// State of each channel; only when nothing runs.
    pub fn channel_states(&self) -> Vec<ChannelState> {
        let state = |c: &Arc<Channel>| ChannelState {
            index: c.index,
            napi: c.napi().map_or(u32::MAX, |n| n.slot),
            read_ptr: c.read_ptr.get(),
            removed: c.rx.removed.get(),
            posted: c.rx.posted(),
            up: c.enabled.load(Relaxed) == 1,
        };
        self.channels().iter().map(state).collect()
    }
}

/// Key of the published RSS verification vectors, so that results can be checked by hand.
const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];
