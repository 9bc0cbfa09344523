//! ixgbe on an 82599 in the timed house.

use super::nic::{Device, Nic, Parts, Shape};
use super::world::World;
use super::{Options, QueueReport, TimedError, TimedHost};
use crate::ixgbe_rest;
use pollproof_events::{emit, Event, RestCq};
use pollproof_intel_82599::{Intel82599, Params};
use pollproof_ixgbe::{Adapter, IxgbeOptions, QVector, RxRing, SERVICE_TIMER, SERVICE_WORK};
use pollproof_kapi::Below;
use pollproof_netcore::Net;
use pollproof_pcie::Outbound;
use pollproof_regs::ixgbe::pci::BAR_MSIX;
use pollproof_regs::ixgbe_map as map;
use pollproof_wire::Frame;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

/// An entry of the MSI-X table, and its control word.
const ENTRY_BYTES: u32 = 16;
const CONTROL: u32 = 12;
/// Shortest frame on a wire, without FCS.
const SHORTEST: usize = 60;

/// An open port of ixgbe.
#[derive(Clone)]
pub struct Ixgbe {
    pub(super) adapter: Arc<Adapter>,
    /// The service task is queued.
    work: Arc<AtomicBool>,
}

impl Ixgbe {
    /// The driver's port.
    pub fn adapter(&self) -> &Arc<Adapter> {
        &self.adapter
    }
}

impl std::fmt::Debug for Ixgbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ixgbe")
    }
}

impl Device for Intel82599 {
    const OWNS_MSIX: bool = true;
    const KEEPS_REQUESTS: bool = true;
    #[inline]
    fn set_time(&mut self, now_ps: u64) {
        self.set_time(now_ps);
    }
    #[inline]
    fn next_deadline(&self) -> Option<u64> {
        self.next_deadline()
    }
    fn expire(&mut self) {
        self.expire();
    }
    #[inline]
    fn depart(&mut self) -> Option<&Outbound> {
        // Nobody is at the other end of the wire.
        while self.pop_frame().is_some() {}
        self.depart()
    }
    #[inline]
    fn on_bus(&self) -> Option<&Outbound> {
        self.on_bus()
    }
    #[inline]
    fn arrived(&mut self) {
        self.arrived();
    }
    #[inline]
    fn has_output(&self) -> bool {
        self.has_output()
    }
    #[inline]
    fn front(&self) -> Option<&Outbound> {
        self.front()
    }
    #[inline]
    fn front_done(&mut self) {
        self.front_done();
    }
    #[inline]
    fn is_settled(&self) -> bool {
        self.is_settled()
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
        self.mmio_write(bar, offset, value, 8);
    }
    fn mmio_read32(&mut self, bar: u8, offset: u64) -> u32 {
        self.mmio_read32(bar, offset)
    }
    fn held(&self) -> u64 {
        self.held()
    }
    fn mask_vector(&mut self, vector: u32, masked: bool) {
        let at = u64::from(vector.saturating_mul(ENTRY_BYTES).saturating_add(CONTROL));
        self.mmio_write32(BAR_MSIX, at, u32::from(masked));
    }
}

impl Nic for Ixgbe {
    type Device = Intel82599;
    type Driver = IxgbeOptions;
    type Params = Params;

    fn shape(driver: &IxgbeOptions) -> Shape {
        Shape {
            first_vector: 0,
            queue_vectors: driver.vectors.min(driver.queues),
            other_vectors: 1,
            weight: driver.weight,
        }
    }

    fn check(options: &Options<Self>) -> Result<(), TimedError> {
        if options.device.msix_masked_at_reset {
            return Err(TimedError::Options("there is no configuration space to unmask MSI-X by"));
        }
        let kb = options.memory.buf_bytes >> 10;
        if !(1..=16).contains(&kb) {
            return Err(TimedError::Options("buffers must be 1 to 16 KB"));
        }
        Ok(())
    }

    fn device(options: &Options<Self>) -> Intel82599 {
        Intel82599::new(options.device)
    }

    fn open(
        options: &Options<Self>,
        host: &Arc<TimedHost<Self>>,
        net: &Arc<Net>,
    ) -> Result<Self, TimedError> {
        let below = Below::of(host.clone());
        let adapter = Adapter::probe(options.nic.clone(), below, net.clone())?;
        adapter.open()?;
        host.with(|w| w.counts.forget_opening());
        Ok(Self { adapter, work: Arc::new(AtomicBool::new(false)) })
    }

    /// A MAC pads what is too short; captures made at the sender hold it unpadded.
    fn on_wire(bytes: Arc<[u8]>) -> Arc<[u8]> {
        if bytes.len() >= SHORTEST || bytes.len() < 14 {
            return bytes;
        }
        let mut padded = bytes.to_vec();
        padded.resize(SHORTEST, 0);
        padded.into()
    }

    fn is_ready(&self) -> bool {
        self.adapter.carrier_ok()
    }

    fn run_timer(&self, timer: u32) -> bool {
        match timer {
            SERVICE_TIMER => self.adapter.service_timer(),
            SERVICE_WORK => self.work.store(true, Relaxed),
            _ => return false,
        }
        true
    }

    fn is_background(timer: u32) -> bool {
        timer == SERVICE_TIMER
    }

    #[inline]
    fn has_work(&self) -> bool {
        self.work.load(Relaxed)
    }

    fn run_work(&self) {
        self.work.store(false, Relaxed);
        self.adapter.service_task();
    }

    fn emit_rest(&self, w: &mut World<Self>) {
        let is_quiet = w.is_quiet();
        let mut queued = 0;
        for (q_vector, ring) in rings(&self.adapter) {
            let state = ring.state();
            let view = w.device.rx_view(ring.index);
            let unconsumed = view.written.wrapping_sub(state.consumed);
            // A device that is gone wakes nobody, and nobody can be blamed for it.
            let enabled = self.adapter.is_up() && !w.removed;
            if self.adapter.is_up() {
                queued += u64::from(unconsumed);
            }
            let (half, bit) = (q_vector.v_idx / 32, q_vector.v_idx % 32);
            let mask = w.device.mmio_read32(0, u64::from(map::EIMS_EX + 4 * half));
            emit(Event::Rest(RestCq {
                cq: ring.index,
                napi: q_vector.napi().map_or(u32::MAX, |n| n.slot),
                unconsumed,
                posted: state.posted,
                enabled,
                armed: mask >> bit & 1 != 0,
                // The watchdog comes for an empty ring, and for nothing else by right.
                wakeup: !is_quiet || (state.posted == 0 && w.background != 0),
            }));
        }
        emit(Event::RestHeld { device: w.device.held(), queued });
        for ring in self.adapter.tx_rings() {
            let head = ixgbe_rest::tx_head(&mut w.device, ring.index);
            let enabled = self.adapter.is_up() && !w.removed;
            emit(Event::RestTx(ixgbe_rest::tx_ring(ring, head, enabled, !is_quiet)));
        }
        // A run that was cut has its interrupts still before it.
        emit(Event::RestDevice(ixgbe_rest::device(&w.device, w.removed || !is_quiet)));
    }

    fn parts(&self, world: &World<Self>, net: &Net) -> Parts {
        let stats = world.device.stats();
        let queues = self.queues(world);
        let packets: u64 = queues.iter().map(|q| q.packets).sum();
        let is_up = self.adapter.is_up();
        let waiting = |ring: &RxRing| {
            world.device.rx_view(ring.index).frames.saturating_sub(ring.state().frames)
        };
        let queued: u64 = if is_up { self.adapter.rx_rings().map(|r| waiting(r)).sum() } else { 0 };
        let lost = stats.rx_packets.saturating_sub(packets + queued);
        let taken = net.ledger.packets() + net.gro_held_all();
        let sum = |of: fn(&QVector) -> u64| self.adapter.q_vectors().iter().map(|q| of(q)).sum();
        Parts {
            port_frames: stats.port_frames,
            queued,
            msix: stats.msix,
            cq_events: stats.msix,
            arms: (sum(|q| q.stats.arms.load(Relaxed)), 0),
            drops: drops(world, packets.saturating_sub(taken), lost),
            polls: (
                sum(|q| q.stats.polls.load(Relaxed)),
                sum(|q| q.stats.full_polls.load(Relaxed)),
            ),
            queues,
        }
    }
}

/// Receive rings with their vectors, by queue.
fn rings(adapter: &Adapter) -> Vec<(&Arc<QVector>, &Arc<RxRing>)> {
    let all = adapter.q_vectors().iter().flat_map(|q| q.rx.iter().map(move |r| (q, r)));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(_, ring)| ring.index);
    all
}

impl Ixgbe {
    /// Polls and interrupts are those of a queue's vector, which others may share.
    fn queues(&self, world: &World<Self>) -> Vec<QueueReport> {
        let queue = |(q_vector, ring): (&Arc<QVector>, &Arc<RxRing>)| {
            let counts = world.counts.queues.get(q_vector.v_idx as usize);
            QueueReport {
                cqes: u64::from(world.device.rx_view(ring.index).written),
                packets: ring.stats.packets.load(Relaxed),
                polls: q_vector.stats.polls.load(Relaxed),
                full_polls: q_vector.stats.full_polls.load(Relaxed),
                interrupts: counts.map_or(0, |c| c.interrupts),
                cleaned: ring.stats.cleaned.load(Relaxed),
                misses: ring.stats.misses.load(Relaxed),
                yields: ring.stats.yields.load(Relaxed),
            }
        };
        rings(&self.adapter).into_iter().map(queue).collect()
    }
}

/// Drops of the device by counter, of the driver, and what a stop or reset threw away.
fn drops(world: &World<Ixgbe>, driver: u64, stopped: u64) -> BTreeMap<&'static str, u64> {
    let stats = world.device.stats();
    let all = [
        ("rx_bad", stats.rx_bad),
        ("rx_off", stats.rx_off),
        ("rx_pause", stats.rx_pause),
        ("rx_filtered", stats.rx_filtered),
        ("rx_missed", stats.rx_missed),
        ("rx_queue_off", stats.rx_queue_off),
        ("rx_no_descriptor", stats.rx_no_descriptor),
        ("rx_lost", stats.rx_lost),
        ("rx_error", driver),
        ("rx_ring_stopped", stopped),
    ];
    all.into_iter().filter(|(_, count)| *count != 0).collect()
}
