//! mlx4 on a ConnectX-3 in explored scenes.

use super::nic::{Nic, Silicon};
use super::{ExploredDevice, Scene, SceneOptions};
use pollproof_connectx_3::{ArmSource, ConnectX3, Params};
use pollproof_events::{emit, Event, RestCq};
use pollproof_kapi::Below;
use pollproof_mlx4::{ArmForm, CommandPort, Mlx4Options, Mlx4Port, RingState, FIRST_OOM_TIMER};
use pollproof_netcore::{Napi, Net};
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, db, CmdStatus, CqContext, EqContext, RqContext, RssContext};
use pollproof_sync::Ordering::Acquire;
use std::sync::Arc;

/// Choices of a ConnectX-3.
#[derive(Clone, Debug, Default)]
pub struct Mlx4Choices {
    /// The device takes a doorbell as a hint to read the arm word of the record.
    pub record_on_doorbell: bool,
}

impl Silicon for ConnectX3 {
    fn take(&mut self) -> Option<Outbound> {
        self.pop()
    }

    fn expire_any(&mut self) -> bool {
        self.expire_any()
    }
}

impl SceneOptions<Mlx4Port> {
    /// The smallest port: one ring of `1 << log_ring_size` entries, no moderation.
    pub fn small(cpus: u32, log_ring_size: u32) -> Self {
        let mlx4 = Mlx4Options {
            log_ring_size,
            refill_min: 1,
            rx_frames: 0,
            rx_usecs: 0,
            weight: 2,
            first_vector: 1,
            ..Mlx4Options::default()
        };
        Self::new(cpus, mlx4, (2 << log_ring_size) + 4, 256)
    }
}

impl Nic for Mlx4Port {
    type Device = ConnectX3;
    type Options = Mlx4Options;
    type Choices = Mlx4Choices;

    fn device(options: &SceneOptions<Self>) -> ConnectX3 {
        let mut params = Params::zero();
        if options.nic.arm == ArmForm::RecordAndRecheck {
            params.arm = ArmSource::Record;
        }
        if options.device.record_on_doorbell {
            params.arm = ArmSource::RecordOnDoorbell;
        }
        ConnectX3::new(params)
    }

    fn attach(
        options: &SceneOptions<Self>,
        below: Below,
        net: Arc<Net>,
        device: &Arc<ExploredDevice<ConnectX3>>,
    ) -> Arc<Self> {
        Mlx4Port::new(options.nic.clone(), below, net, device.clone())
    }

    fn open_port(self: &Arc<Self>) -> Result<(), String> {
        self.start_port().map_err(|e| e.to_string())
    }

    fn contexts(&self) -> Vec<Arc<Napi>> {
        self.queues().iter().filter_map(|q| q.napi().cloned()).collect()
    }

    fn run_timer(self: &Arc<Self>, timer: u32) -> bool {
        let Some(queue) = timer.checked_sub(FIRST_OOM_TIMER) else { return false };
        if let Some(queue) = self.queues().get(queue as usize) {
            queue.recover_from_oom();
        }
        true
    }

    fn emit_rest(scene: &Scene<Self>, wakeup: bool) {
        let mut queued = 0;
        let held = scene.device.step(|core| core.held());
        for state in scene.port.ring_states() {
            let Some(cq) = scene.device.step(|core| core.cq_view(state.cqn)) else { continue };
            let unconsumed = cq.producer.wrapping_sub(state.cons_index) & 0x00ff_ffff;
            queued += u64::from(unconsumed);
            emit(Event::Rest(RestCq {
                cq: state.cqn,
                napi: state.napi,
                unconsumed,
                posted: posted(scene, state),
                enabled: state.up,
                armed: cq.armed || armed_by_record(scene, state),
                wakeup,
            }));
        }
        emit(Event::RestHeld { device: held, queued });
    }
}

/// Buffers that the device can use: what its record says, not what the driver believes.
fn posted(scene: &Scene<Mlx4Port>, state: RingState) -> u32 {
    let queue = scene.port.queues().iter().find(|q| q.cq.cqn == state.cqn);
    let Some(queue) = queue else { return 0 };
    let at = std::panic::Location::caller();
    let word = be(scene.host.mem.load32(queue.ring.db + db::RQ_PRODUCER, Acquire, at));
    let head = scene.device.step(|core| core.rq_view(queue.ring.rqn).map(|rq| rq.head));
    head.map_or(0, |head| u32::from((word as u16).wrapping_sub(head)))
}

/// A device that arms by record looks at it after its next completion.
fn armed_by_record(scene: &Scene<Mlx4Port>, state: RingState) -> bool {
    let queue = scene.port.queues().iter().find(|q| q.cq.cqn == state.cqn);
    let (ArmForm::RecordAndRecheck, Some(queue)) = (scene.port.options.arm, queue) else {
        return false;
    };
    let at = std::panic::Location::caller();
    let word = scene.host.mem.load32(queue.cq.db + db::CQ_ARM, Acquire, at);
    be(word) & db::CMD_MASK != 0 && be(word) & db::INDEX_MASK == state.cons_index
}

impl CommandPort for ExploredDevice<ConnectX3> {
    fn sw2hw_eq(&self, eqn: u32, context: EqContext) -> Result<(), CmdStatus> {
        self.command(|core| core.sw2hw_eq(eqn, context))
    }

    fn hw2sw_eq(&self, eqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.hw2sw_eq(eqn))
    }

    fn sw2hw_cq(&self, cqn: u32, context: CqContext) -> Result<(), CmdStatus> {
        self.command(|core| core.sw2hw_cq(cqn, context))
    }

    fn hw2sw_cq(&self, cqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.hw2sw_cq(cqn))
    }

    fn start_rq(&self, rqn: u32, context: RqContext) -> Result<(), CmdStatus> {
        self.command(|core| core.start_rq(rqn, context))
    }

    fn stop_rq(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.stop_rq(rqn))
    }

    fn set_rss(&self, context: RssContext) -> Result<(), CmdStatus> {
        self.command(|core| core.set_rss(Some(context)))
    }

    fn set_default_rqn(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|core| core.set_default_rqn(Some(rqn)))
    }
}
