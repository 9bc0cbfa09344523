//! mlx4 on a ConnectX-3 in the timed house.

use super::counts::QueueCounts;
use super::nic::{Device, Nic, Parts, Shape};
use super::world::World;
use super::{Options, QueueReport, TimedError, TimedHost};
use pollproof_connectx_3::{ArmSource, ConnectX3, CqView, Params};
use pollproof_events::{emit, Event, RestCq};
use pollproof_kapi::Below;
use pollproof_mlx4::{ArmForm, CommandPort, Mlx4Options, Mlx4Port, RxQueue, FIRST_OOM_TIMER};
use pollproof_netcore::Net;
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4::{be, db};
use pollproof_regs::mlx4::{CmdStatus, CqContext, EqContext, RqContext, RssContext};
use pollproof_sync::Ordering;
use pollproof_wire::Frame;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An index of a CQ has 24 bits.
const INDEX_MASK: u32 = 0x00ff_ffff;

/// An open port of mlx4.
#[derive(Clone)]
pub struct Mlx4 {
    pub(super) port: Arc<Mlx4Port>,
}

impl std::fmt::Debug for Mlx4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("mlx4")
    }
}

impl Device for ConnectX3 {
    const OWNS_MSIX: bool = false;
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
    fn pop(&mut self) -> Option<Outbound> {
        self.pop()
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
        self.mmio_write64(bar, offset, value);
    }
    fn mmio_read32(&mut self, bar: u8, offset: u64) -> u32 {
        self.mmio_read32(bar, offset)
    }
    fn held(&self) -> u64 {
        self.held()
    }
}

impl Nic for Mlx4 {
    type Device = ConnectX3;
    type Driver = Mlx4Options;
    type Params = Params;

    fn shape(driver: &Mlx4Options) -> Shape {
        Shape {
            first_vector: driver.first_vector,
            queue_vectors: driver.rings,
            other_vectors: 0,
            weight: driver.weight,
        }
    }

    fn check(options: &Options<Self>) -> Result<(), TimedError> {
        if options.nic.threaded {
            return Err(TimedError::Options("threaded NAPI needs an engine"));
        }
        if options.nic.first_vector > 1024 {
            return Err(TimedError::Options("the first vector must be at most 1024"));
        }
        Ok(())
    }

    fn device(options: &Options<Self>) -> ConnectX3 {
        let mut params = options.device;
        params.arm = match options.nic.arm {
            ArmForm::Doorbell => ArmSource::Doorbell,
            ArmForm::RecordAndRecheck => ArmSource::Record,
        };
        ConnectX3::new(params)
    }

    fn open(
        options: &Options<Self>,
        host: &Arc<TimedHost<Self>>,
        net: &Arc<Net>,
    ) -> Result<Self, TimedError> {
        let below = Below::of(host.clone());
        let port = Mlx4Port::new(options.nic.clone(), below, net.clone(), host.clone());
        port.start_port()?;
        Ok(Self { port })
    }

    fn run_timer(&self, timer: u32) -> bool {
        let Some(queue) = timer.checked_sub(FIRST_OOM_TIMER) else { return false };
        if let Some(queue) = self.port.queues().get(queue as usize) {
            queue.recover_from_oom();
        }
        true
    }

    fn emit_rest(&self, w: &mut World<Self>) {
        let wakeup = !w.is_quiet();
        let mut queued = 0;
        for (state, queue) in self.port.ring_states().iter().zip(self.port.queues()) {
            let Some(cq) = w.device.cq_view(state.cqn) else { continue };
            let unconsumed = cq.producer.wrapping_sub(state.cons_index) & INDEX_MASK;
            queued += u64::from(unconsumed);
            emit(Event::Rest(RestCq {
                cq: state.cqn,
                napi: state.napi,
                unconsumed,
                posted: w.posted_buffers(queue),
                enabled: state.up,
                armed: w.is_armed(&cq, queue.cq.db),
                wakeup,
            }));
        }
        emit(Event::RestHeld { device: w.device.held(), queued });
    }

    fn parts(&self, world: &World<Self>, net: &Net) -> Parts {
        let stats = world.device.stats();
        let queues = self.queues(world);
        let sum = |of: fn(&QueueReport) -> u64| queues.iter().map(of).sum::<u64>();
        let packets = sum(|q| q.packets);
        let failed = packets.saturating_sub(net.ledger.packets() + net.gro_held_all());
        Parts {
            port_frames: stats.port_frames,
            queued: sum(|q| q.cqes).saturating_sub(packets),
            msix: stats.msix,
            cq_events: stats.fired,
            arms: (stats.arms, stats.stale_arms),
            drops: drops(world, failed),
            polls: (sum(|q| q.polls), sum(|q| q.full_polls)),
            queues,
        }
    }
}

impl Mlx4 {
    fn queues(&self, world: &World<Self>) -> Vec<QueueReport> {
        let states = self.port.ring_states();
        let queue = |(state, counts): (&pollproof_mlx4::RingState, &QueueCounts)| {
            let cq = world.device.cq_view(state.cqn);
            QueueReport {
                cqes: cq.map_or(0, |cq| u64::from(cq.producer)),
                packets: counts.packets,
                polls: counts.polls,
                full_polls: counts.full_polls,
                interrupts: counts.interrupts,
                ..QueueReport::default()
            }
        };
        states.iter().zip(&world.counts.queues).map(queue).collect()
    }
}

/// Drops of the device by counter, and of the driver, which drops what completed with an error.
fn drops(world: &World<Mlx4>, driver: u64) -> BTreeMap<&'static str, u64> {
    let stats = world.device.stats();
    let all = [
        ("rx_fifo_overflow", stats.rx_fifo_overflow),
        ("rx_runt", stats.rx_runt),
        ("rx_jabber", stats.rx_jabber),
        ("rx_no_ring", stats.rx_no_ring),
        ("rx_out_of_buffer", stats.rx_out_of_buffer),
        ("rx_cq_overrun", stats.rx_cq_overrun),
        ("rx_cq_error", stats.rx_cq_error),
        ("rx_cqe_error", driver),
    ];
    all.into_iter().filter(|(_, count)| *count != 0).collect()
}

impl World<Mlx4> {
    /// Buffers that the device can use: what its record says, not what the driver believes.
    fn posted_buffers(&mut self, queue: &RxQueue) -> u32 {
        let word = be(self.mem.load32(queue.ring.db + db::RQ_PRODUCER, Ordering::Relaxed));
        let head = self.device.rq_view(queue.ring.rqn).map(|rq| rq.head);
        head.map_or(0, |head| u32::from((word as u16).wrapping_sub(head)))
    }

    /// Whether the next completion of a CQ is signalled: the device knows, or it will find out by
    /// the record that it reads after that completion.
    fn is_armed(&mut self, cq: &CqView, record: u64) -> bool {
        if cq.armed || self.device.params().arm == ArmSource::Doorbell {
            return cq.armed;
        }
        let word = be(self.mem.load32(record + db::CQ_ARM, Ordering::Relaxed));
        let fresh = cq.next_sn.is_none_or(|sn| word >> db::SN_SHIFT & 3 == sn);
        !cq.stopped && fresh && word & db::CMD_MASK != 0
    }
}

impl TimedHost<Mlx4> {
    fn command(
        &self,
        command: impl FnOnce(&mut ConnectX3) -> Result<(), CmdStatus>,
    ) -> Result<(), CmdStatus> {
        self.with(|w| w.command(command)).unwrap_or(Err(CmdStatus::ResourceBusy))
    }
}

impl CommandPort for TimedHost<Mlx4> {
    fn sw2hw_eq(&self, eqn: u32, context: EqContext) -> Result<(), CmdStatus> {
        self.command(|d| d.sw2hw_eq(eqn, context))
    }

    fn hw2sw_eq(&self, eqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.hw2sw_eq(eqn))
    }

    fn sw2hw_cq(&self, cqn: u32, context: CqContext) -> Result<(), CmdStatus> {
        self.command(|d| d.sw2hw_cq(cqn, context))
    }

    fn hw2sw_cq(&self, cqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.hw2sw_cq(cqn))
    }

    fn start_rq(&self, rqn: u32, context: RqContext) -> Result<(), CmdStatus> {
        self.command(|d| d.start_rq(rqn, context))
    }

    fn stop_rq(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.stop_rq(rqn))
    }

    fn set_default_rqn(&self, rqn: u32) -> Result<(), CmdStatus> {
        self.command(|d| d.set_default_rqn(Some(rqn)))
    }

    fn set_rss(&self, context: RssContext) -> Result<(), CmdStatus> {
        self.command(|d| d.set_rss(Some(context)))
    }
}
