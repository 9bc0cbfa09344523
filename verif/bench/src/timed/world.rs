//! Everything below the driver in a timed run: time, memory, device, bus, and what is under way.
//!
//! Sparse events (register writes, timers, starts of CPUs) are in event queues. What crosses the
//! bus is dense and in order anyway, so it is in plain queues (`bus.rs`). At the same time the
//! device comes first, then street, bus, answers, the sparse rest, and CPUs.
//!
//! A CPU that runs has a time of its own. Whenever it is charged for something it pulls the world
//! along to its time, but not past the start of another CPU: that one must not see the future.
//! Between CPUs that run at once a view may thus be as old as one pass of the softirq.

use super::bus::{Answer, Crossings, InOrder};
use super::counts::Counts;
use super::cpu::{Cpu, Vector};
use super::host::LOADS_MAX;
use super::{Device, Nic, Options, TimedError};
use pollproof_events::{emit, set_time_ps, Event};
use pollproof_hostmem::HostMem;
use pollproof_pcie::{Link, MsixTable, PostedQueue};
use pollproof_sim::{EventQueue, Handle};
use pollproof_wire::Frame;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Sparse events at once.
const SPARSE_MAX: usize = 1 << 20;
/// Background timers that may fire while frames wait in the device and nothing else happens.
const BACKGROUND_MAX: u32 = 2000;

/// What is rare.
#[derive(Clone, Copy, Debug)]
pub enum Sparse {
    /// A register write of a CPU reaches the device.
    Posted { cpu: u32 },
    /// A timer fires on the CPU that started it.
    Timer { timer: u32, cpu: u32 },
    /// The affinity of a vector changes.
    Affinity { vector: u32, cpu: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Device,
    Street,
    ToHost,
    Answers,
    Sparse,
    Lane,
}

pub struct World<N: Nic> {
    pub mem: HostMem,
    pub device: N::Device,
    pub msix: MsixTable,
    pub cpus: Vec<Cpu>,
    pub vectors: Vec<Vector>,
    pub counts: Counts,
    pub now_ps: u64,
    /// CPU that runs, and its own time.
    pub running: Option<u32>,
    pub local_ps: u64,
    /// Starts of CPUs.
    pub starts: EventQueue<u32>,
    pub timers: BTreeMap<u32, Handle>,
    pub street: InOrder<Frame>,
    pub steps: u64,
    /// Marked loads of host memory that a CPU may still make before the next starts.
    pub loads_left: Arc<AtomicU64>,
    pub error: Option<TimedError>,
    pub link: Link,
    sparse: EventQueue<Sparse>,
    pub posted: Vec<PostedQueue>,
    pub(super) to_host: Crossings,
    pub(super) answers: InOrder<Answer>,
    pub(super) spare: Vec<Vec<u8>>,
    /// The link takes no time.
    pub(super) is_instant: bool,
    /// When the device does something by itself, and when its lane has room again.
    pub(super) device_ps: u64,
    pub(super) lane_ps: u64,
    /// Nothing of the world comes before this, CPUs apart, unless something was added since.
    horizon_ps: u64,
    /// Something was added beside what the device does by itself.
    pub(super) is_changed: bool,
    /// The function left the bus.
    pub removed: bool,
    /// Timers that come again for ever, and how often they may while nothing else happens.
    pub background: usize,
    background_left: u32,
    /// They count up to here whatever else happens.
    pub through_ps: u64,
    max_steps: u64,
    /// When the port was open.
    pub opened_ps: u64,
    pub(super) stop_at_ps: u64,
}

impl<N: Nic> World<N> {
    pub fn new(options: &Options<N>) -> Self {
        let cpus = options.net.cpus;
        let vectors = N::shape(&options.nic).vectors();
        let posted = PostedQueue::new(options.link.latency_ps, options.posted_limit);
        Self {
            mem: HostMem::new(options.memory),
            device: N::device(options),
            msix: MsixTable::new(vectors),
            cpus: (0..cpus).map(|_| Cpu::default()).collect(),
            vectors: Vector::bound(options),
            counts: Counts::new(options),
            now_ps: 0,
            running: None,
            local_ps: 0,
            starts: EventQueue::new(cpus as usize),
            timers: BTreeMap::new(),
            street: InOrder::default(),
            steps: 0,
            loads_left: Arc::new(AtomicU64::new(LOADS_MAX)),
            error: None,
            link: Link::new(options.link),
            sparse: EventQueue::new(SPARSE_MAX),
            posted: vec![posted; cpus as usize],
            to_host: Crossings::default(),
            answers: InOrder::default(),
            spare: Vec::new(),
            is_instant: options.link.is_instant(),
            device_ps: u64::MAX,
            lane_ps: u64::MAX,
            horizon_ps: 0,
            is_changed: true,
            removed: false,
            background: 0,
            background_left: BACKGROUND_MAX,
            through_ps: u64::MAX,
            max_steps: u64::MAX,
            opened_ps: 0,
            stop_at_ps: u64::MAX,
        }
    }

    /// The port is open: what the options say of times and steps counts from here.
    pub fn opened(&mut self, options: &Options<N>) {
        self.steps = 0;
        self.through_ps = 0;
        self.max_steps = options.max_events;
        let now_ps = self.now_ps;
        self.opened_ps = now_ps;
        self.stop_at_ps = options.stop_at_ps.map_or(u64::MAX, |ps| ps.saturating_add(now_ps));
        for &super::AffinityMove { at_ps, vector, cpu } in &options.affinity_moves {
            self.push(now_ps.saturating_add(at_ps), Sparse::Affinity { vector, cpu });
        }
    }

    pub fn push(&mut self, at_ps: u64, event: Sparse) -> Option<Handle> {
        self.changed();
        match self.sparse.push(at_ps, 0, event) {
            Ok(handle) => Some(handle),
            Err(full) => {
                self.error = Some(full.into());
                None
            }
        }
    }

    /// Something was added to what comes.
    #[inline]
    pub fn changed(&mut self) {
        self.horizon_ps = 0;
        self.is_changed = true;
    }

    /// The device may do something earlier than it said.
    #[inline]
    pub fn device_moved(&mut self) {
        self.horizon_ps = 0;
    }

    /// A frame is on its way to the port.
    pub fn send_frame(&mut self, at_ps: u64, frame: Frame) {
        self.changed();
        self.street.push(at_ps, frame);
    }

    pub fn cancel(&mut self, handle: Handle) -> bool {
        self.sparse.cancel(handle).is_some()
    }

    /// What comes next, CPUs apart.
    #[inline]
    fn next(&self) -> (u64, Source) {
        let mut next = (self.device_ps, Source::Device);
        let mut offer = |at_ps: u64, source| {
            if at_ps < next.0 {
                next = (at_ps, source);
            }
        };
        offer(self.street.first_ps(), Source::Street);
        offer(self.to_host.first_ps(), Source::ToHost);
        offer(self.answers.first_ps(), Source::Answers);
        offer(self.sparse.peek_time().unwrap_or(u64::MAX), Source::Sparse);
        offer(self.lane_ps, Source::Lane);
        next
    }

    /// One event of the world, if it comes before a CPU starts and before the end.
    #[inline]
    pub fn step(&mut self) -> bool {
        let starts_ps = self.starts.peek_time().unwrap_or(u64::MAX);
        let (at_ps, source) = self.next();
        if at_ps > starts_ps
            || at_ps > self.stop_at_ps
            || at_ps == u64::MAX
            || (source == Source::Sparse && self.only_background_counts())
        {
            return false;
        }
        self.is_changed = false;
        self.handle(at_ps, source);
        if source == Source::Street && self.is_instant {
            self.more_frames(starts_ps.min(self.stop_at_ps));
        }
        true
    }

    /// The frames behind the last one, as long as nothing else comes between.
    #[inline]
    fn more_frames(&mut self, limit_ps: u64) {
        let sparse_ps = self.sparse.peek_time().unwrap_or(u64::MAX);
        let limit_ps = limit_ps
            .min(self.to_host.first_ps())
            .min(self.answers.first_ps())
            .min(sparse_ps)
            .min(self.lane_ps);
        while !self.is_changed && self.error.is_none() {
            let at_ps = self.street.first_ps();
            if at_ps >= self.device_ps || at_ps > limit_ps || at_ps == u64::MAX {
                break;
            }
            self.handle(at_ps, Source::Street);
        }
    }

    /// Whether anything, now or later, is to come before the end.
    pub fn is_over(&self) -> bool {
        let at_ps = self.next().0.min(self.starts.peek_time().unwrap_or(u64::MAX));
        at_ps == u64::MAX || at_ps > self.stop_at_ps || self.only_background_counts()
    }

    /// Whether background timers are all that is to come.
    fn only_background(&self) -> bool {
        self.background != 0
            && self.sparse.len() == self.background
            && self.next().1 == Source::Sparse
            && self.starts.is_empty()
            && (self.device_ps, self.lane_ps) == (u64::MAX, u64::MAX)
            && self.street.is_empty()
            && self.to_host.is_empty()
            && self.answers.is_empty()
    }

    /// The same, and nothing waits for them either.
    #[inline(never)]
    fn only_background_counts(&self) -> bool {
        self.only_background()
            && self.next().0 > self.through_ps
            && (self.removed || self.device.held() == 0 || self.background_left == 0)
    }

    /// Whether somebody is still coming.
    pub fn is_quiet(&self) -> bool {
        (self.next().0 == u64::MAX && self.starts.is_empty()) || self.only_background()
    }

    /// Lets the world come up to the time of the CPU that runs.
    #[inline]
    pub fn catch_up(&mut self) {
        if self.running.is_none() {
            return;
        }
        // Most of the time nothing has come up since the last look.
        if self.local_ps >= self.horizon_ps {
            self.catch_up_to(self.local_ps.min(self.stop_at_ps));
        }
        set_time_ps(self.local_ps);
    }

    fn catch_up_to(&mut self, limit_ps: u64) {
        loop {
            let (at_ps, source) = self.next();
            let starts_ps = self.starts.peek_time().unwrap_or(u64::MAX);
            if at_ps > limit_ps.min(starts_ps) || self.error.is_some() {
                self.horizon_ps = at_ps;
                break;
            }
            self.handle(at_ps, source);
        }
    }

    /// Process context sleeps: the world goes on, but for other CPUs, which start when they may.
    pub fn sleep(&mut self, ns: u64) {
        let from_ps = if self.running.is_some() { self.local_ps } else { self.now_ps };
        let until_ps = from_ps.saturating_add(ns.saturating_mul(1000));
        loop {
            let (at_ps, source) = self.next();
            if at_ps > until_ps || at_ps == u64::MAX || self.error.is_some() {
                break;
            }
            self.handle(at_ps, source);
        }
        self.now_ps = self.now_ps.max(until_ps);
        self.local_ps = self.local_ps.max(until_ps);
        set_time_ps(self.now_ps);
    }

    /// Process context begins when all CPUs have done what they are at, and what they wrote to
    /// registers has arrived: between CPUs a view may be older than that.
    pub fn wait_for_cpus(&mut self) {
        let at_ps = if self.running.is_some() { self.local_ps } else { self.now_ps };
        let free_ps = self.cpus.iter().map(|c| c.free_ps).max().unwrap_or(0);
        let wait_ps = free_ps.saturating_sub(at_ps).saturating_add(self.link.params().latency_ps);
        self.sleep(wait_ps.div_ceil(1000));
    }

    /// The function leaves the bus: it does nothing any more, and its registers read all ones.
    pub fn remove(&mut self) {
        emit(Event::FunctionRemoved);
        self.removed = true;
        self.drain();
    }

    /// Masks a vector in the MSI-X table, whosever it is.
    pub fn mask_vector(&mut self, vector: u32) {
        if N::Device::OWNS_MSIX {
            self.device.mask_vector(vector, true);
        } else {
            self.msix.mask(vector);
        }
    }

    /// Unmasks it; a message that waits is sent.
    pub fn unmask_vector(&mut self, vector: u32) {
        if N::Device::OWNS_MSIX {
            self.device.mask_vector(vector, false);
            self.drain();
        } else if self.msix.unmask(vector) {
            self.raise(vector);
        }
    }

    /// One more marked load; false when there were too many since a CPU last started.
    pub fn may_load(&self) -> bool {
        let left = self.loads_left.load(Relaxed);
        self.loads_left.store(left.saturating_sub(1), Relaxed);
        left != 0
    }

    /// One more step; notes when there were too many.
    #[inline]
    pub fn count_step(&mut self) {
        self.steps += 1;
        if self.steps > self.max_steps {
            self.error = Some(TimedError::TooManyEvents(self.max_steps));
        }
    }

    #[inline]
    fn handle(&mut self, at_ps: u64, source: Source) {
        self.count_step();
        self.now_ps = self.now_ps.max(at_ps);
        set_time_ps(self.now_ps);
        match source {
            Source::Device => {
                self.device.set_time(self.now_ps);
                self.device.expire();
                self.pass_on();
            }
            Source::Street => {
                let frame = self.street.pop().filter(|_| !self.removed);
                if let Some(frame) = frame {
                    self.device.set_time(self.now_ps);
                    self.device.rx_frame(frame);
                    self.pass_on();
                }
            }
            Source::ToHost => self.arrive(),
            Source::Answers => {
                if let Some(answer) = self.answers.pop() {
                    self.answer(answer);
                    self.pass_on();
                }
            }
            Source::Sparse => {
                if let Some((_, _, event)) = self.sparse.pop() {
                    self.sparse(event);
                }
            }
            Source::Lane => self.drain(),
        }
    }

    fn sparse(&mut self, event: Sparse) {
        match event {
            Sparse::Posted { cpu } => {
                let now_ps = self.now_ps;
                while let Some(write) =
                    self.posted.get_mut(cpu as usize).and_then(|p| p.pop_due(now_ps))
                {
                    self.deliver(write);
                }
            }
            Sparse::Timer { timer, cpu } => {
                if self.only_background() {
                    self.background_left = self.background_left.saturating_sub(1);
                }
                self.timers.remove(&timer);
                self.background -= usize::from(N::is_background(timer));
                self.fire_timer(timer, cpu);
            }
            Sparse::Affinity { vector, cpu } => self.set_affinity(vector, cpu),
        }
    }
}
