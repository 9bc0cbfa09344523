//! sfc on an EF10 in the timed house.

use super::nic::{Device, Nic, Parts, Shape};
use super::world::World;
use super::{Options, QueueReport, TimedError, TimedHost};
use pollproof_events::{emit, Event, RestCq};
use pollproof_kapi::Below;
use pollproof_netcore::Net;
use pollproof_pcie::Outbound;
use pollproof_regs::ef10::{EvqContext, McdiError, RingContext};
use pollproof_sfc::{Efx, Mcdi, SfcOptions};
use pollproof_solarflare_ef10::{Ef10, Params};
use pollproof_wire::Frame;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An open port of sfc.
#[derive(Clone)]
pub struct Sfc {
    pub(super) efx: Arc<Efx>,
}

impl std::fmt::Debug for Sfc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sfc")
    }
}

impl Device for Ef10 {
    const OWNS_MSIX: bool = false;
    fn set_time(&mut self, now_ps: u64) {
        self.set_time(now_ps);
    }
    fn next_deadline(&self) -> Option<u64> {
        self.next_deadline()
    }
    fn expire(&mut self) {
        self.expire();
    }
    fn pop(&mut self) -> Option<Outbound> {
        self.pop()
    }
    fn has_output(&self) -> bool {
        self.has_output()
    }
    fn front(&self) -> Option<&Outbound> {
        self.front()
    }
    fn front_done(&mut self) {
        self.pop();
    }
    fn dma_complete(&mut self, tag: u32, bytes: &[u8]) {
        self.dma_complete(tag, bytes);
    }
    fn rx_frame(&mut self, frame: Frame) {
        self.rx_frame(frame);
    }
    fn mmio_write32(&mut self, bar: u8, offset: u64, value: u32) {
        self.mmio_write32(bar, offset, value);
    }
    fn mmio_write64(&mut self, bar: u8, offset: u64, value: u64) {
        self.mmio_write32(bar, offset, value as u32);
        self.mmio_write32(bar, offset + 4, (value >> 32) as u32);
    }
    fn mmio_read32(&mut self, bar: u8, offset: u64) -> u32 {
        self.mmio_read32(bar, offset)
    }
    fn held(&self) -> u64 {
        self.held()
    }
}

impl Nic for Sfc {
    type Device = Ef10;
    type Driver = SfcOptions;
    type Params = Params;

    fn shape(driver: &SfcOptions) -> Shape {
        Shape {
            first_vector: driver.first_vector,
            queue_vectors: driver.channels,
            other_vectors: 0,
            weight: driver.weight,
        }
    }

    fn check(options: &Options<Self>) -> Result<(), TimedError> {
        if options.nic.first_vector > 1024 {
            return Err(TimedError::Options("the first vector must be at most 1024"));
        }
        Ok(())
    }

    fn device(options: &Options<Self>) -> Ef10 {
        let mut params = options.device;
        if !options.nic.rx_merge {
            params.merge_max = 1;
        }
        Ef10::new(params)
    }

    fn open(
        options: &Options<Self>,
        host: &Arc<TimedHost<Self>>,
        net: &Arc<Net>,
    ) -> Result<Self, TimedError> {
        let below = Below::of(host.clone());
        let efx = Efx::new(options.nic.clone(), below, net.clone(), host.clone());
        efx.start_all()?;
        host.with(|w| w.counts.forget_opening());
        Ok(Self { efx })
    }

    fn run_timer(&self, timer: u32) -> bool {
        self.efx.slow_fill(timer)
    }

    fn emit_rest(&self, w: &mut World<Self>) {
        let wakeup = !w.is_quiet();
        let mut queued = 0;
        for state in self.efx.channel_states() {
            let (Some((written, armed)), Some((used, _))) =
                (w.device.evq_view(state.index), w.device.rxq_view(state.index))
            else {
                continue;
            };
            let left = used.wrapping_sub(state.removed);
            queued += u64::from(left);
            emit(Event::Rest(RestCq {
                cq: state.index,
                napi: state.napi,
                unconsumed: left.max(written.wrapping_sub(state.read_ptr)),
                posted: state.posted,
                enabled: state.up,
                armed,
                wakeup,
            }));
        }
        emit(Event::RestHeld { device: w.device.held(), queued });
    }

    fn parts(&self, world: &World<Self>, net: &Net) -> Parts {
        let stats = world.device.stats();
        let queues = self.queues(world);
        let packets: u64 = queues.iter().map(|q| q.packets).sum();
        let sum = |of: fn(&pollproof_sfc::ChannelStats) -> u64| {
            self.efx.channels().iter().map(|c| of(&c.stats)).sum::<u64>()
        };
        let taken = net.ledger.packets() + net.gro_held_all();
        let queued = stats.rx_packets.saturating_sub(packets);
        let all = [
            ("rx_bad_length", stats.rx_bad_length),
            ("rx_no_queue", stats.rx_no_queue),
            ("rx_overflow", stats.rx_overflow),
            ("rx_nodesc", stats.rx_nodesc),
            ("rx_evq_full", stats.rx_evq_full),
            ("rx_trunc", packets.saturating_sub(taken)),
        ];
        let drops: BTreeMap<_, _> = all.into_iter().filter(|(_, count)| *count != 0).collect();
        Parts {
            port_frames: stats.port_frames,
            queued,
            msix: stats.msix,
            cq_events: stats.msix,
            arms: (sum(|s| s.arms.get()), 0),
            drops,
            polls: (sum(|s| s.polls.get()), sum(|s| s.full_polls.get())),
            queues,
        }
    }
}

impl Sfc {
    /// The driver's port.
    pub fn efx(&self) -> &Arc<Efx> {
        &self.efx
    }

    fn queues(&self, world: &World<Self>) -> Vec<QueueReport> {
        let queue = |channel: &Arc<pollproof_sfc::Channel>| {
            let counts = world.counts.queues.get(channel.index as usize);
            QueueReport {
                cqes: world.device.rxq_view(channel.index).map_or(0, |(used, _)| used.into()),
                packets: channel.stats.rx_packets.get(),
                polls: channel.stats.polls.get(),
                full_polls: channel.stats.full_polls.get(),
                interrupts: counts.map_or(0, |c| c.interrupts),
                ..QueueReport::default()
            }
        };
        self.efx.channels().iter().map(queue).collect()
    }
}

impl TimedHost<Sfc> {
    fn mcdi(
        &self,
        command: impl FnOnce(&mut Ef10) -> Result<(), McdiError>,
    ) -> Result<(), McdiError> {
        self.with(|w| w.command(command)).unwrap_or(Err(McdiError::NoQueue))
    }
}

impl Mcdi for TimedHost<Sfc> {
    fn init_evq(&self, evq: u32, context: EvqContext) -> Result<(), McdiError> {
        self.mcdi(|d| d.init_evq(evq, context))
    }

    fn fini_evq(&self, evq: u32) -> Result<(), McdiError> {
        self.mcdi(|d| d.fini_evq(evq))
    }

    fn init_rxq(&self, rxq: u32, context: RingContext) -> Result<(), McdiError> {
        self.mcdi(|d| d.init_rxq(rxq, context))
    }

    fn fini_rxq(&self, rxq: u32) -> Result<(), McdiError> {
        self.mcdi(|d| d.fini_rxq(rxq))
    }

    fn init_txq(&self, txq: u32, context: RingContext) -> Result<(), McdiError> {
        self.mcdi(|d| d.init_txq(txq, context))
    }

    fn fini_txq(&self, txq: u32) -> Result<(), McdiError> {
        self.mcdi(|d| d.fini_txq(txq))
    }

    fn set_rss(&self, key: [u8; 40], queues: u32) -> Result<(), McdiError> {
        self.mcdi(|d| {
            d.set_rss(&key, queues);
            Ok(())
        })
    }
}
