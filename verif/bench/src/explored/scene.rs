//! A scene: one port on an explored host, its agents, and actors that a scenario adds.
//!
//! Agents are the doorbell agent (posted register writes), a CPU each (interrupts, softirqs,
//! timers), the timer agent, and a wire for each batch of frames. Actors are the scenario's own:
//! they end by themselves.

use super::device::ExploredDevice;
use super::host::{take_pending, timer_of, ExploredHost, STOP, TIMER_BIT, VECTORS};
use pollproof_connectx_3::{ArmSource, ConnectX3, Params};
use pollproof_events::{emit, Event, RestCq};
use pollproof_hostmem::{Config, FailPlan, SharedMem};
use pollproof_kapi::Below;
use pollproof_mlx4::{ArmForm, Mlx4Options, Mlx4Port, RingState, FIRST_OOM_TIMER};
use pollproof_netcore::{Era, Keep, Net, NetOptions};
use pollproof_regs::mlx4::{be, db};
use pollproof_sync::switch::fault;
use pollproof_sync::thread::{self, JoinHandle};
use pollproof_sync::{
    irq,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    RcuForm,
};
use pollproof_wire::Frame;
use std::rc::Rc;
use std::sync::Arc;

/// CPU number of agents that are not CPUs.
pub const DEVICE_CPU: u32 = 63;

/// What a scene is made of.
#[derive(Clone, Debug)]
pub struct SceneOptions {
    /// Network core.
    pub net: NetOptions,
    /// Port.
    pub mlx4: Mlx4Options,
    /// Packet buffers that exist.
    pub bufs: u32,
    /// Register writes that the device sees at most.
    pub posted_max: usize,
    /// Buffer allocations that fail, counted from the first.
    pub fail_allocs: Option<FailPlan>,
    /// The device takes a doorbell as a hint to read the arm word of the record.
    pub record_on_doorbell: bool,
}

impl SceneOptions {
    /// The smallest port: one ring of `1 << log_ring_size` entries, no moderation.
    pub fn small(cpus: u32, log_ring_size: u32) -> Self {
        Self {
            net: NetOptions {
                era: Era::V6_12,
                cpus,
                rcu: RcuForm::Locks,
                hash_buckets: 1,
                keep: Keep::Counts,
                ..NetOptions::default()
            },
            mlx4: Mlx4Options {
                log_ring_size,
                refill_min: 1,
                rx_frames: 0,
                rx_usecs: 0,
                weight: 2,
                first_vector: 1,
                ..Mlx4Options::default()
            },
            bufs: (2 << log_ring_size) + 4,
            posted_max: 24,
            fail_allocs: None,
            record_on_doorbell: false,
        }
    }
}

/// A running scene.
pub struct Scene {
    /// The host.
    pub host: Arc<ExploredHost>,
    /// The device.
    pub device: Arc<ExploredDevice>,
    /// The network core.
    pub net: Arc<Net>,
    /// The port.
    pub port: Arc<Mlx4Port>,
    agents: Vec<JoinHandle>,
    actors: Vec<JoinHandle>,
    cpus: u32,
}

/// Frame `number` of a flow: a UDP packet whose payload is its number.
pub fn frame(number: u64, flow: u8) -> Frame {
    let mut bytes = Vec::with_capacity(60);
    let builder = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, flow], [10, 0, 1, 1], 64)
        .udp(1000 + u16::from(flow), 9);
    // Writing to a Vec can not fail.
    let _ = builder.write(&mut bytes, &number.to_be_bytes());
    bytes.resize(bytes.len().max(60), 0);
    Frame::new(number, Arc::from(bytes))
}

/// `count` frames of one flow.
pub fn frames(count: u64, flow: u8) -> Vec<Frame> {
    (0..count).map(|n| frame(n, flow)).collect()
}

impl Scene {
    /// Builds the house and opens the port; nothing runs beside it yet.
    pub fn open(options: &SceneOptions) -> Self {
        let scene = Self::build(options);
        scene.start_port();
        scene.device.settle();
        scene.host.mem.set_fail_allocs(options.fail_allocs);
        scene
    }

    /// Opens the port.
    pub fn start_port(&self) {
        start_port(&self.port);
    }

    /// Builds the house with a port that is not open.
    pub fn build(options: &SceneOptions) -> Self {
        let config = Config { max_bufs: options.bufs, buf_bytes: 256, ..Config::default() };
        let host = ExploredHost::new(SharedMem::new(config), options.net.cpus, options.posted_max);
        let mut params = Params::zero();
        if options.mlx4.arm == ArmForm::RecordAndRecheck {
            params.arm = ArmSource::Record;
        }
        if options.record_on_doorbell {
            params.arm = ArmSource::RecordOnDoorbell;
        }
        let device = ExploredDevice::new(ConnectX3::new(params), host.clone());
        let below = Below::of(host.clone());
        let net = Net::new(options.net.clone(), below.clone());
        let port = Mlx4Port::new(options.mlx4.clone(), below, net.clone(), device.clone());
        Self { host, device, net, port, agents: vec![], actors: vec![], cpus: options.net.cpus }
    }

    /// Starts the doorbell agent and the CPUs in `cpus`.
    pub fn start(&mut self, cpus: impl IntoIterator<Item = u32>) {
        let device = self.device.clone();
        self.agents.push(thread::spawn(DEVICE_CPU, move || device.run_doorbells()));
        for cpu in cpus {
            let (host, net, port) = (self.host.clone(), self.net.clone(), self.port.clone());
            self.agents.push(thread::spawn(cpu, move || run_cpu(&host, &net, &port, cpu)));
        }
    }

    /// A CPU as one thread: runs `body` in process context, with its own interrupts taken in line
    /// and softirqs when they are left or BHs are enabled; then goes on as the CPUs of
    /// [`Scene::start`]. Nothing else may run on that CPU.
    pub fn process(
        &mut self,
        cpu: u32,
        body: impl FnOnce(&Arc<Net>, &Arc<Mlx4Port>) + Send + 'static,
    ) {
        let (host, net, port) = (self.host.clone(), self.net.clone(), self.port.clone());
        self.agents.push(thread::spawn(cpu, move || {
            let (host_in, net_in) = (host.clone(), net.clone());
            irq::serve(Some(Rc::new(InLine { host: host_in, net: net_in, cpu })));
            body(&net, &port);
            irq::serve(None);
            net.do_softirq();
            run_cpu(&host, &net, &port, cpu);
        }));
    }

    /// Starts the timer agent; timers fire on CPU 0.
    pub fn start_timers(&mut self) {
        let host = self.host.clone();
        self.agents.push(thread::spawn(DEVICE_CPU, move || run_timers(&host)));
    }

    /// Starts the kthread of a threaded context on `cpu`.
    pub fn start_kthread(&mut self, cpu: u32) {
        let (net, port) = (self.net.clone(), self.port.clone());
        self.agents.push(thread::spawn(cpu, move || {
            if let Some(napi) = port.queues().first().and_then(|q| q.napi()) {
                net.napi_threaded_poll(napi);
            }
        }));
    }

    /// Frames come in from the wire, beside everything else.
    pub fn wire(&mut self, frames: Vec<Frame>) {
        let device = self.device.clone();
        self.actors.push(thread::spawn(DEVICE_CPU, move || device.run_wire(frames)));
    }

    /// The moderation period of a CQ passes once, at any time.
    pub fn period_passes(&mut self) {
        let device = self.device.clone();
        self.actors.push(thread::spawn(DEVICE_CPU, move || {
            device.step(ConnectX3::expire_any);
        }));
    }

    /// Something else happens on `cpu`, beside everything else.
    pub fn actor(
        &mut self,
        cpu: u32,
        body: impl FnOnce(&Arc<Net>, &Arc<Mlx4Port>) + Send + 'static,
    ) {
        let (net, port) = (self.net.clone(), self.port.clone());
        self.actors.push(thread::spawn(cpu, move || body(&net, &port)));
    }

    /// Waits until nothing runs, tells the rules how things stand, and ends all agents.
    #[track_caller]
    pub fn finish(self) {
        thread::rest();
        // When nothing else happens, time passes: the device's moderation timers fire.
        while self.device.step(ConnectX3::expire_any) {
            thread::rest();
        }
        let coming = (0..self.cpus).any(|cpu| self.interrupt_pending(cpu));
        self.emit_rest(coming);
        for actor in self.actors {
            actor.join();
        }
        self.host.end_posted();
        self.host.armed.fetch_or(STOP, Release);
        for cpu in 0..self.cpus {
            self.host.pending[cpu as usize].fetch_or(STOP, Release);
        }
        for queue in self.port.queues() {
            if let Some(napi) = queue.napi() {
                self.net.stop_threaded(napi);
            }
        }
        for agent in self.agents {
            agent.join();
        }
    }

    /// Takes the interrupts that are pending on a CPU now, as that CPU.
    pub fn take_interrupts(&self, cpu: u32) {
        let pending = self.host.pending[cpu as usize].swap(0, AcqRel);
        for vector in (0..VECTORS).filter(|v| pending & 1 << v != 0) {
            self.host.run_handler(vector);
        }
    }

    /// Whether an interrupt is pending on a CPU.
    pub fn interrupt_pending(&self, cpu: u32) -> bool {
        self.host.pending[cpu as usize].load(Acquire) != 0
    }

    /// Buffers that the device can use: what its record says, not what the driver believes.
    fn posted(&self, state: RingState) -> u32 {
        let queue = self.port.queues().iter().find(|q| q.cq.cqn == state.cqn);
        let Some(queue) = queue else { return 0 };
        let at = std::panic::Location::caller();
        let word = be(self.host.mem.load32(queue.ring.db + db::RQ_PRODUCER, Acquire, at));
        let head = self.device.step(|core| core.rq_view(queue.ring.rqn).map(|rq| rq.head));
        head.map_or(0, |head| u32::from((word as u16).wrapping_sub(head)))
    }

    /// A device that arms by record looks at it after its next completion.
    fn armed_by_record(&self, state: RingState) -> bool {
        let queue = self.port.queues().iter().find(|q| q.cq.cqn == state.cqn);
        let (ArmForm::RecordAndRecheck, Some(queue)) = (self.port.options.arm, queue) else {
            return false;
        };
        let at = std::panic::Location::caller();
        let word = self.host.mem.load32(queue.cq.db + db::CQ_ARM, Acquire, at);
        be(word) & db::CMD_MASK != 0 && be(word) & db::INDEX_MASK == state.cons_index
    }

    /// State of each queue, as events; `wakeup` says that somebody is still coming.
    #[track_caller]
    pub fn emit_rest(&self, wakeup: bool) {
        let mut queued = 0;
        let held = self.device.step(|core| core.held());
        for state in self.port.ring_states() {
            let Some(cq) = self.device.step(|core| core.cq_view(state.cqn)) else { continue };
            let unconsumed = cq.producer.wrapping_sub(state.cons_index) & 0x00ff_ffff;
            queued += u64::from(unconsumed);
            emit(Event::Rest(RestCq {
                cq: state.cqn,
                napi: state.napi,
                unconsumed,
                posted: self.posted(state),
                enabled: state.up,
                armed: cq.armed || self.armed_by_record(state),
                wakeup,
            }));
        }
        emit(Event::RestHeld { device: held, queued });
    }
}

/// The interrupts of a CPU, for the thread that stands for it.
struct InLine {
    host: Arc<ExploredHost>,
    net: Arc<Net>,
    cpu: u32,
}

impl irq::Interrupts for InLine {
    fn pending(&self) -> bool {
        let word = &self.host.pending[self.cpu as usize];
        word.load(Relaxed) & ((1 << VECTORS) - 1) != 0
    }

    fn take(&self) {
        let word = &self.host.pending[self.cpu as usize];
        let pending = word.fetch_and(!((1 << VECTORS) - 1), AcqRel);
        for vector in (0..VECTORS).filter(|v| pending & 1 << v != 0) {
            self.host.run_handler(vector);
        }
    }

    fn softirq(&self) {
        self.net.do_softirq();
    }
}

/// Rounds of softirq processing after which an explored CPU gives up: a poll list that is never
/// empty shows by then.
const SOFTIRQ_ROUNDS_MAX: u32 = 3;

/// Opens a port; that it does not open is a fault of the scenario.
pub fn start_port(port: &Arc<Mlx4Port>) {
    if let Err(error) = port.start_port() {
        let why = format!("the port does not open: {error}");
        fault("BENCH-BOUND", why, std::panic::Location::caller());
    }
}

/// A CPU: takes its interrupts, then its softirqs, until it is stopped.
fn run_cpu(host: &ExploredHost, net: &Net, port: &Mlx4Port, cpu: u32) {
    let Some(word) = host.pending.get(cpu as usize) else { return };
    loop {
        let pending = take_pending(word);
        for vector in (0..VECTORS).filter(|v| pending & 1 << v != 0) {
            host.run_handler(vector);
        }
        for timer in (0..8).filter(|t| pending & 1 << (TIMER_BIT + t) != 0) {
            let timer = timer_of(timer);
            host.run_timer(timer, || run_timer(net, port, timer));
        }
        // What ksoftirqd would do later happens at once; a softirq that never ends is cut.
        for _ in 0..SOFTIRQ_ROUNDS_MAX {
            if !net.do_softirq() {
                break;
            }
        }
        if pending & STOP != 0 {
            return;
        }
    }
}

fn run_timer(net: &Net, port: &Mlx4Port, timer: u32) {
    match timer.checked_sub(FIRST_OOM_TIMER) {
        Some(queue) => {
            if let Some(queue) = port.queues().get(queue as usize) {
                queue.recover_from_oom();
            }
        }
        None => net.napi_watchdog(timer),
    }
}

/// The timer agent: fires what is armed, at any time, the lowest first.
fn run_timers(host: &ExploredHost) {
    loop {
        let armed = take_armed(host);
        if armed & STOP != 0 {
            return;
        }
        host.pending[0].fetch_or(armed, Release);
    }
}

fn take_armed(host: &ExploredHost) -> u32 {
    loop {
        host.armed.wait(Acquire, |a| a != 0);
        let lowest = |a: u32| a & a.wrapping_neg();
        let fire = |a: u32| (a != 0).then_some(if a & STOP != 0 { a } else { a & !lowest(a) });
        if let Ok(before) = host.armed.update(AcqRel, fire) {
            return if before & STOP != 0 { STOP } else { lowest(before) };
        }
    }
}
