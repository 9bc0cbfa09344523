//! sfc on an EF10 in explored scenes.

use super::nic::{Nic, Silicon};
use super::{ExploredDevice, Scene, SceneOptions};
use pollproof_events::{emit, Event, RestCq};
use pollproof_kapi::Below;
use pollproof_netcore::{Napi, Net};
use pollproof_pcie::Outbound;
use pollproof_regs::ef10::{EvqContext, McdiError, RingContext};
use pollproof_sfc::{Efx, Mcdi, SfcOptions};
use pollproof_solarflare_ef10::{Ef10, Params};
use std::sync::Arc;

/// Choices of an EF10.
#[derive(Clone, Debug)]
pub struct SfcChoices {
    /// Packets that an event may tell of; it waits for them until time passes.
    pub merge_max: u32,
    /// Interrupts are held off: a time that passes when the scene says so.
    pub holds_off: bool,
}

impl Default for SfcChoices {
    fn default() -> Self {
        Self { merge_max: 1, holds_off: false }
    }
}

impl Silicon for Ef10 {
    fn take(&mut self) -> Option<Outbound> {
        // Nobody is at the other end of the wire.
        while self.pop_frame().is_some() {}
        self.pop()
    }

    fn expire_any(&mut self) -> bool {
        self.expire_any()
    }
}

impl SceneOptions<Efx> {
    /// The smallest port: rings of 16 descriptors, eight of them posted, no hold-off, an event a
    /// packet.
    pub fn eight(cpus: u32) -> Self {
        let sfc = SfcOptions {
            rxq_entries: 16,
            txq_entries: 16,
            rx_irq_mod_us: 0,
            adaptive: false,
            weight: 2,
            ..SfcOptions::default()
        };
        Self::new(cpus, sfc, 24, 256)
    }
}

impl Nic for Efx {
    type Device = Ef10;
    type Options = SfcOptions;
    type Choices = SfcChoices;

    fn device(options: &SceneOptions<Self>) -> Ef10 {
        let mut params = Params::zero();
        params.merge_max = options.device.merge_max;
        params.merge_ps = u64::from(options.device.merge_max > 1);
        params.quantum_ps = u64::from(options.device.holds_off);
        Ef10::new(params)
    }

    fn attach(
        options: &SceneOptions<Self>,
        below: Below,
        net: Arc<Net>,
        device: &Arc<ExploredDevice<Ef10>>,
    ) -> Arc<Self> {
        Self::new(options.nic.clone(), below, net, device.clone())
    }

    fn open_port(self: &Arc<Self>) -> Result<(), String> {
        self.start_all().map_err(|e| e.to_string())
    }

    fn contexts(&self) -> Vec<Arc<Napi>> {
        self.channels().iter().filter_map(|c| c.napi().cloned()).collect()
    }

    fn run_timer(self: &Arc<Self>, timer: u32) -> bool {
        self.slow_fill(timer)
    }

    fn emit_rest(scene: &Scene<Self>, wakeup: bool) {
        let mut queued = 0;
        let held = scene.device.step(|core| core.held());
        for state in scene.port.channel_states() {
            let view = |core: &mut Ef10| (core.evq_view(state.index), core.rxq_view(state.index));
            let (Some((written, armed)), Some((used, _))) = scene.device.step(view) else {
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
        emit(Event::RestHeld { device: held, queued });
    }
}

impl Mcdi for ExploredDevice<Ef10> {
    fn init_evq(&self, evq: u32, context: EvqContext) -> Result<(), McdiError> {
        self.command(|core| core.init_evq(evq, context))
    }

    fn fini_evq(&self, evq: u32) -> Result<(), McdiError> {
        self.command(|core| core.fini_evq(evq))
    }

    fn init_rxq(&self, rxq: u32, context: RingContext) -> Result<(), McdiError> {
        self.command(|core| core.init_rxq(rxq, context))
    }

    fn fini_rxq(&self, rxq: u32) -> Result<(), McdiError> {
        self.command(|core| core.fini_rxq(rxq))
    }

    fn init_txq(&self, txq: u32, context: RingContext) -> Result<(), McdiError> {
        self.command(|core| core.init_txq(txq, context))
    }

    fn fini_txq(&self, txq: u32) -> Result<(), McdiError> {
        self.command(|core| core.fini_txq(txq))
    }

    fn set_rss(&self, key: [u8; 40], queues: u32) -> Result<(), McdiError> {
        self.command(|core| {
            core.set_rss(&key, queues);
            Ok(())
        })
    }
}
