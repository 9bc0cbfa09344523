//! ixgbe on an 82599 in explored scenes.
//!
//! The port was probed before: what probe does to the device is looked at in timed runs. Filter
//! tables, statistics and queues that a scene does not have are plain memory, since resets walk
//! over all of them.

use super::nic::{Nic, Route, Silicon};
use super::{ExploredDevice, Scene, SceneOptions};
use crate::ixgbe_rest;
use pollproof_events::{emit, Event, RestCq};
use pollproof_intel_82599::{Intel82599, Params};
use pollproof_ixgbe::{Adapter, Interrupts, ItrSetting, IxgbeOptions, SERVICE_TIMER};
use pollproof_kapi::Below;
use pollproof_netcore::{Napi, Net};
use pollproof_pcie::Outbound;
use pollproof_regs::ixgbe::pci::BAR_CSR;
use pollproof_regs::ixgbe::CSR_BYTES;
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use std::sync::{Arc, LazyLock};

/// Queues that a scene can have.
const QUEUES_MAX: u32 = 2;

/// Choices of an 82599.
#[derive(Clone, Copy, Debug)]
pub struct IxgbeChoices {
    /// Its parameters.
    pub params: Params,
}

impl Default for IxgbeChoices {
    fn default() -> Self {
        // The address that frames of scenes are sent to.
        Self { params: Params { mac: [2, 0, 0, 0, 0, 2], ..Params::zero() } }
    }
}

/// The queue of a register whose copies begin at `first`, each 0x40 after the one before.
fn queue_of(offset: u32, first: u32) -> Option<u32> {
    let count = if first == map::TXDCTL { 128 } else { 64 };
    let at = offset.checked_sub(first)?;
    (at.is_multiple_of(0x40) && at < count * 0x40).then_some(at / 0x40)
}

fn is_in(offset: u32, first: u32, words: u32) -> bool {
    (first..first + 4 * words).contains(&offset)
}

/// Ways of all registers, by dword.
static ROUTES: LazyLock<Vec<Route>> =
    LazyLock::new(|| (0..CSR_BYTES).step_by(4).map(route_of).collect());

fn route_of(offset: u32) -> Route {
    let posted = [map::RDT, map::TDT].into_iter().any(|r| queue_of(offset, r).is_some())
        || [map::EIMS_EX, map::EIMC_EX, map::EICS_EX].iter().any(|&r| is_in(offset, r, 2))
        || is_in(offset, map::EITR, 24)
        || [map::EIMS, map::EIMC, map::EICS].contains(&offset);
    let of_queues = [map::RXDCTL, map::RXDCTL_HI, map::TXDCTL];
    let mut queues = of_queues.into_iter().filter_map(|r| Some((r, queue_of(offset, r)?)));
    let kept = [map::MTA, map::VFTA].iter().any(|&r| is_in(offset, r, 128))
        || is_in(offset, map::RAL + 8, 2 * 127)
        || [map::RTTDQSEL, map::RTTBCNRC].contains(&offset)
        || queues.any(|(r, n)| r == map::RXDCTL_HI || n >= QUEUES_MAX)
        || stat::MAP.iter().any(|r| {
            let mut all = (0..r.count).map(|n| r.offset + n * r.stride);
            // The watchdog asks for one of them.
            r.access != map::Access::Rw && offset != stat::LXOFFRXCNT && all.any(|at| at == offset)
        });
    let setup = is_in(offset, map::RETA, 32) || is_in(offset, map::RSSRK, 10);
    match () {
        () if posted => Route::Posted,
        () if setup => Route::Setup,
        () if kept => Route::Kept,
        () => Route::AtOnce,
    }
}

impl Silicon for Intel82599 {
    fn route(bar: u8, offset: u64) -> Route {
        let route = ROUTES.get((offset / 4) as usize).filter(|_| bar == BAR_CSR);
        route.copied().unwrap_or(Route::AtOnce)
    }

    fn take(&mut self) -> Option<Outbound> {
        // Nobody is at the other end of the wire.
        while self.pop_frame().is_some() {}
        self.pop()
    }

    fn settle(&mut self) {
        while self.next_deadline().is_some_and(|ps| ps == 0) {
            self.expire();
        }
    }

    fn intx(&self) -> bool {
        self.intx()
    }

    fn expire_any(&mut self) -> bool {
        if self.pending_vectors().first().is_some_and(|&v| self.expire_vector(v)) {
            return true;
        }
        let next = self.next_deadline();
        if let Some(ps) = next {
            self.set_time(ps);
            self.expire();
        }
        next.is_some()
    }
}

impl SceneOptions<Adapter> {
    /// The smallest port: one queue whose rings have 8 and 48 descriptors, refilled one by one, no
    /// moderation.
    pub fn tiny(cpus: u32) -> Self {
        let ixgbe = IxgbeOptions {
            vectors: QUEUES_MAX,
            rx_ring_count: 8,
            rx_buffer_write: 1,
            tx_ring_count: 48,
            itr: ItrSetting::Usecs(0),
            weight: 2,
            ..IxgbeOptions::default()
        };
        Self::new(cpus, ixgbe, 24, 1024)
    }
}

impl Nic for Adapter {
    type Device = Intel82599;
    type Options = IxgbeOptions;
    type Choices = IxgbeChoices;

    fn device(options: &SceneOptions<Self>) -> Intel82599 {
        Intel82599::new(options.device.params)
    }

    fn attach(
        options: &SceneOptions<Self>,
        below: Below,
        net: Arc<Net>,
        _device: &Arc<ExploredDevice<Intel82599>>,
    ) -> Arc<Self> {
        match Adapter::attach(options.nic.clone(), below, net, options.device.params.mac) {
            Ok(adapter) => adapter,
            Err(error) => panic!("the scene is wrong: {error}"),
        }
    }

    fn has_line(options: &SceneOptions<Self>) -> bool {
        options.nic.interrupts == Interrupts::Legacy
    }

    fn open_port(self: &Arc<Self>) -> Result<(), String> {
        self.open().map_err(|e| e.to_string())
    }

    fn contexts(&self) -> Vec<Arc<Napi>> {
        self.q_vectors().iter().filter_map(|q| q.napi().cloned()).collect()
    }

    fn run_timer(self: &Arc<Self>, timer: u32) -> bool {
        if timer == SERVICE_TIMER {
            self.service_timer();
        }
        timer == SERVICE_TIMER
    }

    fn run_work(self: &Arc<Self>) {
        self.service_task();
    }

    fn settle_open(self: &Arc<Self>) {
        self.service_task();
    }

    fn wait_for_sockets(&self) {
        self.q_vectors().iter().for_each(|q| q.wait_for_sockets());
    }

    fn emit_rest(scene: &Scene<Self>, wakeup: bool) {
        let mut queued = 0;
        let held = scene.device.step(|core| core.held());
        let gone = scene.device.is_gone();
        let is_up = scene.port.is_up();
        for q_vector in scene.port.q_vectors() {
            for ring in &q_vector.rx {
                let state = ring.state();
                let (half, bit) = (q_vector.v_idx / 32, q_vector.v_idx % 32);
                let mask = u64::from(map::EIMS_EX + 4 * half);
                let (view, mask) = scene
                    .device
                    .step(|core| (core.rx_view(ring.index), core.mmio_read32(BAR_CSR, mask)));
                let unconsumed = view.written.wrapping_sub(state.consumed);
                if is_up {
                    queued += u64::from(unconsumed);
                }
                emit(Event::Rest(RestCq {
                    cq: ring.index,
                    napi: q_vector.napi().map_or(u32::MAX, |n| n.slot),
                    unconsumed,
                    posted: state.posted,
                    enabled: is_up && !gone,
                    armed: mask >> bit & 1 != 0,
                    wakeup,
                }));
            }
        }
        emit(Event::RestHeld { device: held, queued });
        for ring in scene.port.tx_rings() {
            let head = scene.device.step(|core| ixgbe_rest::tx_head(core, ring.index));
            let rest = ixgbe_rest::tx_ring(ring, head, is_up && !gone, wakeup);
            emit(Event::RestTx(rest));
        }
        let device = scene.device.step(|core| ixgbe_rest::device(core, gone));
        emit(Event::RestDevice(device));
    }
}
