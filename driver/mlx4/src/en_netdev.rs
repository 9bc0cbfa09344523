//! Opening and closing a port: `en_netdev.c`, `en_cq.c`, `cq.c` (6.12): `mlx4_en_start_port`,
//! `mlx4_en_stop_port`.

use crate::eq::CqTable;
use crate::{
    CommandPort, Cq, CqLock, Eq, Mlx4Options, Mlx4Port, RxQueue, RxRing, FIRST_CQN, FIRST_EQN,
    FIRST_OOM_TIMER, FIRST_RQN,
};
use pollproof_events::{emit, Event};
use pollproof_kapi::{Below, NoMemory};
use pollproof_netcore::Net;
use pollproof_regs::mlx4::{CmdStatus, CqContext, EqContext, RqContext, RssContext};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, cpu, AtomicU32};
use std::sync::{Arc, OnceLock};

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// No DMA memory.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The device refused a command.
    #[error("the device refused {command}: {status:?}")]
    Command {
        /// Name of the command.
        command: &'static str,
        /// Its answer.
        status: CmdStatus,
    },
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
}

fn command(name: &'static str, answer: Result<(), CmdStatus>) -> Result<(), OpenError> {
    answer.map_err(|status| OpenError::Command { command: name, status })
}

/// State of one ring, for the bench to look at when nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingState {
    /// CQ number.
    pub cqn: u32,
    /// NAPI slot.
    pub napi: u32,
    /// Consumer index.
    pub cons_index: u32,
    /// Posted buffers.
    pub posted: u32,
    /// Whether the queue is open.
    pub up: bool,
}

impl Mlx4Port {
    /// A port that is not open yet.
    pub fn new(
        options: Mlx4Options,
        below: Below,
        net: Arc<Net>,
        cmd: Arc<dyn CommandPort>,
    ) -> Arc<Self> {
        Arc::new(Self {
            cq_table: CqTable::new(options.rings),
            options,
            below,
            net,
            cmd,
            port_up: AtomicU32::new(0),
            queues: OnceLock::new(),
            eqs: OnceLock::new(),
        })
    }

    /// The receive queues; none before the port is open.
    pub fn queues(&self) -> &[Arc<RxQueue>] {
        self.queues.get().map_or(&[], Vec::as_slice)
    }

    /// `mlx4_en_start_port`. Call it once.
    pub fn start_port(self: &Arc<Self>) -> Result<(), OpenError> {
        let o = &self.options;
        if !o.rings.is_power_of_two() || o.rings > 128 {
            return Err(OpenError::Options("the number of rings must be a power of two up to 128"));
        }
        if o.log_ring_size > 13 || !matches!(o.cqe_stride_bytes, 32 | 64) {
            return Err(OpenError::Options("ring size at most 8192, CQE stride 32 or 64"));
        }
        let mut queues = Vec::new();
        let mut eqs = Vec::new();
        for index in 0..o.rings {
            eqs.push(self.create_eq(index)?);
            queues.push(self.create_rx_queue(index)?);
        }
        if self.queues.set(queues).is_err() || self.eqs.set(eqs).is_err() {
            return Err(OpenError::Options("the port was opened before"));
        }
        for queue in self.queues() {
            self.activate(queue)?;
        }
        self.port_up.store(1, Relaxed);
        self.config_rss_steer()
    }

    /// `mlx4_en_config_rss_steer`: with one ring there is no indirection QP.
    fn config_rss_steer(&self) -> Result<(), OpenError> {
        if self.options.rings == 1 {
            return command("SET_DEFAULT_QP", self.cmd.set_default_rqn(FIRST_RQN));
        }
        let log_queues = self.options.rings.trailing_zeros();
        let context = RssContext { base_rqn: FIRST_RQN, log_queues, key: TOEPLITZ_KEY };
        command("RST2INIT of the RSS QP", self.cmd.set_rss(context))
    }

    fn create_eq(self: &Arc<Self>, index: u32) -> Result<Arc<Eq>, OpenError> {
        let vector = self.options.first_vector + index;
        let log_size = self.options.log_ring_size.min(7);
        let eq = Arc::new(Eq::alloc(&self.below, FIRST_EQN + index, 1 << log_size, vector)?);
        let context = EqContext { buf: eq.buf, log_size, vector, period_us: 0, max_count: 0 };
        command("SW2HW_EQ", self.cmd.sw2hw_eq(eq.eqn, context))?;
        let port = Arc::downgrade(self);
        let handled = eq.clone();
        let handler = move || {
            if let Some(port) = port.upgrade() {
                port.eq_int(&handled);
            }
        };
        self.below.irq.request(vector, Arc::new(handler));
        eq.set_ci(&self.below, true);
        Ok(eq)
    }

    fn create_rx_queue(&self, index: u32) -> Result<Arc<RxQueue>, OpenError> {
        let o = &self.options;
        let size = 1 << o.log_ring_size;
        Ok(Arc::new(RxQueue {
            index,
            cq: Cq::alloc(&self.below, FIRST_CQN + index, size, o.cqe_stride_bytes)?,
            ring: RxRing::alloc(&self.below, FIRST_RQN + index, size)?,
            vector: o.first_vector + index,
            lock: CqLock::new(),
            up: AtomicU32::new(0),
            options: o.clone(),
            below: self.below.clone(),
            net: self.net.clone(),
            napi: OnceLock::new(),
        }))
    }

    /// `mlx4_en_activate_cq`, `mlx4_en_activate_rx_rings`: CQ, NAPI, arm, then buffers and QP.
    fn activate(&self, queue: &Arc<RxQueue>) -> Result<(), OpenError> {
        let o = &self.options;
        let cq = &queue.cq;
        cq.init_ownership(&self.below);
        let context = CqContext {
            buf: cq.buf,
            log_size: o.log_ring_size,
            stride_bytes: o.cqe_stride_bytes,
            eqn: FIRST_EQN + queue.index,
            period_us: o.rx_usecs,
            max_count: o.rx_frames,
            db_record: cq.db,
            sw_init: true,
        };
        command("SW2HW_CQ", self.cmd.sw2hw_cq(cq.cqn, context))?;
        self.cq_table.insert(queue);
        let (ring, rq) = (queue.ring.rqn, &queue.ring);
        emit(Event::RingStarted { ring, cq: cq.cqn });
        // Filled before anybody may poll: refilling is the poller's from then on.
        queue.refill();
        let napi = self.net.netif_napi_add(queue.clone(), o.weight);
        let _ = queue.napi.set(napi.clone());
        if o.threaded {
            self.net.set_threaded(&napi);
        }
        self.net.napi_hash_add(&napi);
        queue.set_up(true);
        if o.busy_poll_lock {
            queue.lock.enable();
        }
        self.net.napi_enable(&napi);
        let rq_context = RqContext {
            buf: rq.buf,
            log_size: o.log_ring_size,
            stride_bytes: pollproof_regs::mlx4::wqe::DATA_SEG_BYTES,
            db_record: rq.db,
            cqn: cq.cqn,
        };
        command("RST2INIT", self.cmd.start_rq(ring, rq_context))?;
        queue.cq.arm(&self.below, o.arm, napi.slot, 0);
        Ok(())
    }

    /// `mlx4_en_stop_port`: the device stops first, then whoever works on it, then memory goes.
    pub fn stop_port(&self) {
        cpu::might_sleep("mlx4_en_stop_port");
        let was_up = self.port_up.swap(0, Relaxed) == 1;
        if !was_up && !bug("A-10") {
            return;
        }
        for queue in self.queues() {
            let _ = self.cmd.stop_rq(queue.ring.rqn);
        }
        for (queue, eq) in self.queues().iter().zip(self.eqs.get().into_iter().flatten()) {
            self.deactivate(queue);
            self.cq_free(queue);
            // The handler writes the EQ's doorbell to the last.
            self.below.irq.free(eq.vector);
            let _ = self.cmd.hw2sw_eq(eq.eqn);
            eq.release(&self.below);
        }
    }

    /// `mlx4_en_deactivate_cq`: nobody polls the queue from here on.
    fn deactivate(&self, queue: &RxQueue) {
        let Some(napi) = queue.napi.get() else { return };
        queue.set_up(false);
        if bug("B-1") {
            cpu::local_bh_disable();
        }
        self.net.napi_disable(napi);
        if self.options.busy_poll_lock {
            queue.lock.disable();
        }
        if bug("B-1") {
            cpu::local_bh_enable();
        }
        self.below.timer.cancel(FIRST_OOM_TIMER + queue.index);
        if bug("A-5") {
            cpu::local_bh_disable();
        }
        self.net.netif_napi_del(napi);
        if bug("A-5") {
            cpu::local_bh_enable();
        }
        if self.options.threaded {
            self.net.stop_threaded(napi);
        }
        emit(Event::RingStopped { ring: queue.ring.rqn, cq: queue.cq.cqn });
    }

    /// `mlx4_cq_free`: out of the hardware, out of the table, and the handler has returned.
    fn cq_free(&self, queue: &RxQueue) {
        let cqn = queue.cq.cqn;
        let _ = self.cmd.hw2sw_cq(cqn);
        self.cq_table.delete(cqn);
        if !bug("F-1") {
            self.below.irq.synchronize(queue.vector);
        }
        queue.cq.lifetime.free();
        // The context is part of the CQ's memory: a handler may schedule it to the last.
        if let Some(napi) = queue.napi.get() {
            self.net.napi_free(napi);
        }
        queue.ring.free_bufs(&self.below);
        queue.ring.release(&self.below);
        queue.cq.release(&self.below);
    }

    /// State of each ring; only when nothing runs.
    pub fn ring_states(&self) -> Vec<RingState> {
        let state = |q: &Arc<RxQueue>| RingState {
            cqn: q.cq.cqn,
            napi: q.napi().map_or(u32::MAX, |n| n.slot),
            cons_index: q.cq.cons_index(),
            posted: q.ring.posted(),
            up: q.up.load(Relaxed) == 1,
        };
        self.queues().iter().map(state).collect()
    }
}

/// Key of the published RSS verification vectors, so that results can be checked by hand.
const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];
