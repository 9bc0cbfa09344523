//! A scene: one port on an explored host, its agents, and actors that a scenario adds.
//!
//! Agents are the doorbell agent (posted register writes), a CPU each (interrupts, softirqs,
//! timers), the timer agent, and a wire for each batch of frames. Actors are the scenario's own:
//! they end by themselves.

use super::device::ExploredDevice;
use super::host::{take_pending, timers_of, ExploredHost, STOP, VECTORS};
use super::nic::{Nic, Silicon};
use pollproof_hostmem::{Config, FailPlan, SharedMem};
use pollproof_kapi::Below;
use pollproof_netcore::{Era, Keep, Net, NetOptions};
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

/// What a scene with a port of `N` is made of.
#[derive(Clone, Debug)]
pub struct SceneOptions<N: Nic> {
    /// Network core.
    pub net: NetOptions,
    /// Port.
    pub nic: N::Options,
    /// Packet buffers that exist.
    pub bufs: u32,
    /// Bytes of each.
    pub buf_bytes: u32,
    /// Register writes that are posted and taken later, at most.
    pub posted_max: usize,
    /// Whether they are taken later; else at once, which saves an agent and most orders.
    pub delays: bool,
    /// Buffer allocations that fail, counted from the first.
    pub fail_allocs: Option<FailPlan>,
    /// Choices of the device that are no parameter of it.
    pub device: N::Choices,
}

impl<N: Nic> SceneOptions<N> {
    /// A core of `cpus` CPUs with one bucket, and `bufs` buffers.
    pub(crate) fn new(cpus: u32, nic: N::Options, bufs: u32, buf_bytes: u32) -> Self {
        let net = NetOptions {
            era: Era::V6_12,
            cpus,
            rcu: RcuForm::Locks,
            hash_buckets: 1,
            keep: Keep::Counts,
            ..NetOptions::default()
        };
        let device = N::Choices::default();
        Self { net, nic, bufs, buf_bytes, posted_max: 24, delays: true, fail_allocs: None, device }
    }
}

/// A running scene.
pub struct Scene<N: Nic> {
    /// The host.
    pub host: Arc<ExploredHost>,
    /// The device.
    pub device: Arc<ExploredDevice<N::Device>>,
    /// The network core.
    pub net: Arc<Net>,
    /// The port.
    pub port: Arc<N>,
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

impl<N: Nic> Scene<N> {
    /// Builds the house and opens the port; nothing runs beside it yet.
    pub fn open(options: &SceneOptions<N>) -> Self {
        let scene = Self::build(options);
        scene.host.set_quiet(true);
        start_port(&scene.port);
        scene.device.settle();
        scene.port.settle_open();
        scene.device.settle();
        while let Some(cpu) = (0..scene.cpus).find(|&cpu| scene.interrupt_pending(cpu)) {
            scene.take_interrupts(cpu);
            while scene.net.do_softirq() {}
            scene.device.settle();
        }
        scene.host.set_quiet(false);
        scene.host.mem.set_fail_allocs(options.fail_allocs);
        scene
    }

    /// Builds the house with a port that is not open.
    pub fn build(options: &SceneOptions<N>) -> Self {
        let (max_bufs, buf_bytes) = (options.bufs, options.buf_bytes);
        let config = Config { max_bufs, buf_bytes, ..Config::default() };
        let host = ExploredHost::new(SharedMem::new(config), options.net.cpus, options.posted_max);
        let device = ExploredDevice::new(N::device(options), host.clone());
        let below = Below::of(host.clone());
        let net = Net::new(options.net.clone(), below.clone());
        host.set_line(N::has_line(options));
        host.set_delays(options.delays);
        host.set_quiet(true);
        let port = N::attach(options, below, net.clone(), &device);
        host.set_quiet(false);
        Self { host, device, net, port, agents: vec![], actors: vec![], cpus: options.net.cpus }
    }

    /// Starts the doorbell agent and the CPUs in `cpus`.
    pub fn start(&mut self, cpus: impl IntoIterator<Item = u32>) {
        if self.host.delays() {
            let device = self.device.clone();
            self.agents.push(thread::spawn(DEVICE_CPU, move || device.run_doorbells()));
        }
        for cpu in cpus {
            let (host, net, port) = (self.host.clone(), self.net.clone(), self.port.clone());
            self.agents.push(thread::spawn(cpu, move || run_cpu(&host, &net, &port, cpu)));
        }
    }

    /// A CPU as one thread: runs `body` in process context, with its own interrupts taken in line
    /// and softirqs when they are left or BHs are enabled; then goes on as the CPUs of
    /// [`Scene::start`]. Nothing else may run on that CPU.
    pub fn process(&mut self, cpu: u32, body: impl FnOnce(&Arc<Net>, &Arc<N>) + Send + 'static) {
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
        self.start_some_timers(usize::MAX);
    }

    /// Starts the timer agent for so many timers: one that starts itself again would never end.
    pub fn start_some_timers(&mut self, count: usize) {
        let host = self.host.clone();
        self.agents.push(thread::spawn(DEVICE_CPU, move || run_timers(&host, count)));
    }

    /// Starts the kthread of a threaded context on `cpu`.
    pub fn start_kthread(&mut self, cpu: u32) {
        let (net, port) = (self.net.clone(), self.port.clone());
        self.agents.push(thread::spawn(cpu, move || {
            if let Some(napi) = port.contexts().first() {
                net.napi_threaded_poll(napi);
            }
        }));
    }

    /// Starts the worker: it does the driver's queued work in process context on `cpu`.
    pub fn start_worker(&mut self, cpu: u32) {
        let (host, port) = (self.host.clone(), self.port.clone());
        self.agents.push(thread::spawn(cpu, move || loop {
            let queued = host.work.wait(Acquire, |w| w != 0);
            if queued & STOP != 0 {
                return;
            }
            host.run_work(|| port.run_work());
        }));
    }

    /// Frames come in from the wire, beside everything else.
    pub fn wire(&mut self, frames: Vec<Frame>) {
        let device = self.device.clone();
        self.actors.push(thread::spawn(DEVICE_CPU, move || device.run_wire(frames)));
    }

    /// The moderation period of the device passes once, at any time.
    pub fn period_passes(&mut self) {
        let device = self.device.clone();
        self.actors.push(thread::spawn(DEVICE_CPU, move || {
            device.step(N::Device::expire_any);
        }));
    }

    /// Something else happens on `cpu`, beside everything else.
    pub fn actor(&mut self, cpu: u32, body: impl FnOnce(&Arc<Net>, &Arc<N>) + Send + 'static) {
        let (net, port) = (self.net.clone(), self.port.clone());
        self.actors.push(thread::spawn(cpu, move || body(&net, &port)));
    }

    /// Waits until nothing runs, tells the rules how things stand, and ends all agents.
    #[track_caller]
    pub fn finish(self) {
        thread::rest();
        // When nothing else happens, time passes: the device's moderation timers fire.
        while self.device.step(N::Device::expire_any) {
            thread::rest();
        }
        let coming = (0..self.cpus).any(|cpu| self.interrupt_pending(cpu));
        self.emit_rest(coming);
        for actor in self.actors {
            actor.join();
        }
        self.host.end_posted();
        self.host.armed.fetch_or(STOP, Release);
        self.host.work.fetch_or(STOP, Release);
        for cpu in 0..self.cpus {
            self.host.pending[cpu as usize].fetch_or(STOP, Release);
        }
        for napi in self.port.contexts() {
            self.net.stop_threaded(&napi);
        }
        for agent in self.agents {
            agent.join();
        }
    }

    /// Lets the time pass until the device does something by itself; false when it never will.
    pub fn let_time_pass(&self) -> bool {
        self.device.step(N::Device::expire_any)
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

    /// State of each queue, as events; `wakeup` says that somebody is still coming.
    #[track_caller]
    pub fn emit_rest(&self, wakeup: bool) {
        self.net.emit_rest_gro(wakeup);
        N::emit_rest(self, wakeup);
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
pub fn start_port<N: Nic>(port: &Arc<N>) {
    if let Err(error) = port.open_port() {
        let why = format!("the port does not open: {error}");
        fault("BENCH-BOUND", why, std::panic::Location::caller());
    }
}

/// A CPU: takes its interrupts, then its softirqs, until it is stopped.
fn run_cpu<N: Nic>(host: &ExploredHost, net: &Net, port: &Arc<N>, cpu: u32) {
    let Some(word) = host.pending.get(cpu as usize) else { return };
    loop {
        let pending = take_pending(word);
        for vector in (0..VECTORS).filter(|v| pending & 1 << v != 0) {
            host.run_handler(vector);
        }
        for timer in timers_of(pending) {
            host.run_timer(timer, || {
                if !port.run_timer(timer) {
                    net.napi_watchdog(timer);
                }
            });
        }
        // What ksoftirqd would do later happens at once; a softirq that never ends is cut.
        for _ in 0..SOFTIRQ_ROUNDS_MAX {
            if !net.do_softirq() {
                break;
            }
            port.wait_for_sockets();
        }
        if pending & STOP != 0 {
            return;
        }
    }
}

/// The timer agent: fires what is armed, at any time, the lowest first.
fn run_timers(host: &ExploredHost, count: usize) {
    for _ in 0..count {
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
