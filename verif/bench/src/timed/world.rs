//! Everything below the driver in a timed run: time, memory, device, bus, and what is under way.
//!
//! Sparse events (register writes, timers, starts of CPUs) are in event queues. What crosses the
//! bus is dense and in order anyway, so it is in plain queues. At the same time the device comes
//! first, then street, bus, answers, the sparse rest, and CPUs.
//!
//! A CPU that runs has a time of its own. Whenever it is charged for something it pulls the world
//! along to its time, but not past the start of another CPU: that one must not see the future.
//! Between CPUs that run at once a view may thus be as old as one pass of the softirq.

use super::counts::Counts;
use super::cpu::{Cpu, Vector};
use super::{Device, Nic, Options, TimedError};
use pollproof_events::{emit, set_time_ps, Event};
use pollproof_hostmem::HostMem;
use pollproof_pcie::{Link, MsixTable, Outbound, PostedQueue};
use pollproof_sim::{EventQueue, Handle};
use pollproof_wire::Frame;
use std::collections::{BTreeMap, VecDeque};

/// Requests of the device are taken while its lane is taken for less than this, so that a full
/// lane holds the device back. Assumed; stands for posted credits.
const LANE_AHEAD_PS: u64 = 1_000_000;
/// Sparse events at once.
const SPARSE_MAX: usize = 1 << 20;
/// Bytes of an MSI-X message.
const MSIX_BYTES: u32 = 4;
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

/// A request of the device that reaches memory at `at_ps`.
struct Crossing {
    at_ps: u64,
    /// When the answer to a read is back.
    back_ps: u64,
    request: Outbound,
}

struct Answer {
    at_ps: u64,
    tag: u32,
    bytes: Vec<u8>,
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
    pub street: VecDeque<(u64, Frame)>,
    pub steps: u64,
    /// Marked loads of host memory since a CPU last started.
    pub loads: u64,
    pub error: Option<TimedError>,
    pub link: Link,
    sparse: EventQueue<Sparse>,
    pub posted: Vec<PostedQueue>,
    to_host: VecDeque<Crossing>,
    answers: VecDeque<Answer>,
    spare: Vec<Vec<u8>>,
    /// When the device does something by itself, and when its lane has room again.
    device_ps: u64,
    lane_ps: u64,
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
    stop_at_ps: u64,
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
            street: VecDeque::new(),
            steps: 0,
            loads: 0,
            error: None,
            link: Link::new(options.link),
            sparse: EventQueue::new(SPARSE_MAX),
            posted: vec![posted; cpus as usize],
            to_host: VecDeque::new(),
            answers: VecDeque::new(),
            spare: Vec::new(),
            device_ps: u64::MAX,
            lane_ps: u64::MAX,
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
        match self.sparse.push(at_ps, 0, event) {
            Ok(handle) => Some(handle),
            Err(full) => {
                self.error = Some(full.into());
                None
            }
        }
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
        offer(self.street.front().map_or(u64::MAX, |f| f.0), Source::Street);
        offer(self.to_host.front().map_or(u64::MAX, |c| c.at_ps), Source::ToHost);
        offer(self.answers.front().map_or(u64::MAX, |a| a.at_ps), Source::Answers);
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
            || self.only_background_counts()
        {
            return false;
        }
        self.handle(at_ps, source);
        true
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
    #[inline]
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
        let limit_ps = self.local_ps.min(self.stop_at_ps);
        loop {
            let (at_ps, source) = self.next();
            let starts_ps = self.starts.peek_time().unwrap_or(u64::MAX);
            if at_ps > limit_ps.min(starts_ps) || self.error.is_some() {
                break;
            }
            self.handle(at_ps, source);
        }
        set_time_ps(self.local_ps);
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

    /// One more step; notes when there were too many.
    pub fn count_step(&mut self) {
        self.steps += 1;
        if self.steps > self.max_steps {
            self.error = Some(TimedError::TooManyEvents(self.max_steps));
        }
    }

    fn handle(&mut self, at_ps: u64, source: Source) {
        self.count_step();
        self.now_ps = self.now_ps.max(at_ps);
        set_time_ps(self.now_ps);
        match source {
            Source::Device => {
                self.device.set_time(self.now_ps);
                self.device.expire();
                self.drain();
            }
            Source::Street => {
                let frame = self.street.pop_front().filter(|_| !self.removed);
                if let Some((_, frame)) = frame {
                    self.device.set_time(self.now_ps);
                    self.device.rx_frame(frame);
                    self.drain();
                }
            }
            Source::ToHost => {
                if let Some(crossing) = self.to_host.pop_front() {
                    self.arrive(crossing);
                }
            }
            Source::Answers => {
                if let Some(answer) = self.answers.pop_front() {
                    self.answer(answer);
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

    /// Puts what the device asks for onto the bus, as far as its lane has room.
    pub fn drain(&mut self) {
        self.lane_ps = u64::MAX;
        if self.removed {
            self.device_ps = u64::MAX;
            return;
        }
        loop {
            let free_ps = self.link.to_host_free_ps();
            if free_ps > self.now_ps.saturating_add(LANE_AHEAD_PS) && self.device.has_output() {
                self.lane_ps = free_ps - LANE_AHEAD_PS;
                break;
            }
            let Some(request) = self.device.pop() else { break };
            self.send(request);
        }
        self.device_ps = self.device.next_deadline().map_or(u64::MAX, |ps| ps.max(self.now_ps));
    }

    fn send(&mut self, request: Outbound) {
        let (at_ps, back_ps) = match &request {
            Outbound::DmaWrite { payload, .. } => {
                self.counts.dma_write(payload.len());
                (self.link.write_ps(self.now_ps, payload.len() as u32), 0)
            }
            Outbound::DmaRead { len, .. } => {
                self.counts.dma_read(*len as usize);
                self.link.read_ps(self.now_ps, *len)
            }
            Outbound::Msix { vector } => {
                if !N::Device::OWNS_MSIX && !self.msix.send(*vector) {
                    return;
                }
                (self.link.write_ps(self.now_ps, MSIX_BYTES), 0)
            }
        };
        self.to_host.push_back(Crossing { at_ps, back_ps, request });
    }

    fn arrive(&mut self, crossing: Crossing) {
        match crossing.request {
            Outbound::DmaWrite { addr, payload, what } => {
                self.mem.dma_write(addr, &payload, what);
            }
            Outbound::DmaRead { tag, addr, len, what } => {
                let mut bytes = self.spare.pop().unwrap_or_default();
                bytes.resize(len as usize, 0);
                self.mem.dma_read(addr, &mut bytes, what);
                self.answers.push_back(Answer { at_ps: crossing.back_ps, tag, bytes });
            }
            Outbound::Msix { vector } => self.raise(vector),
        }
    }

    fn answer(&mut self, answer: Answer) {
        self.device.set_time(self.now_ps);
        self.device.dma_complete(answer.tag, &answer.bytes);
        self.spare.push(answer.bytes);
        self.drain();
    }

    /// Performs all that the device asked for, in no time.
    pub fn settle(&mut self) {
        loop {
            self.lane_ps = u64::MAX;
            while let Some(request) = self.device.pop() {
                self.send(request);
            }
            let Some(crossing) = self.to_host.pop_front() else { break };
            self.arrive(crossing);
            while let Some(answer) = self.answers.pop_front() {
                self.answer(answer);
            }
        }
        self.link = Link::new(*self.link.params());
        self.drain();
    }

    /// Takes what the device wants to send, whatever its lane says: for a look at the end.
    pub fn take_all(&mut self) {
        while !self.removed {
            let Some(request) = self.device.pop() else { break };
            self.send(request);
        }
    }
}
