//! Everything below the kernel: device, function, memory, the bus between them, and the street.
//!
//! No input and output of its own but for shared memory: `serve` brings register accesses and the
//! time, and takes interrupts away. Time is the device's. It may run ahead of the kernel's for as
//! long as a CPU computes ([`Point::Cpu`]), never behind.
//!
//! Order on the bus (PCI Express 2.0, 2.4.1): requests of the device arrive in order; the answer to
//! a register read pushes writes of the device before it, and is behind register writes.

mod access;
mod street;
mod watch;

pub use street::{Act, Coming, Partner, Phase, SentFrame, Street, MARK_PORT};

use crate::memory::SharedMemory;
use crate::nic::Nic;
use crate::pci::Function;
use crate::timing::{Plan, Point, Timing};
use pollproof_events::{emit, set_time_ps, Event, Owner, What};
use pollproof_pcie::{Link, LinkParams, Outbound};
use std::collections::VecDeque;
use watch::Watch;

/// Steps without the kernel after which a device is held to be in a loop.
const STEPS_MAX: u64 = 10_000_000;

/// A register write under way.
#[derive(Clone, Copy, Debug)]
struct Posted {
    due_ps: u64,
    bar: u8,
    offset: u64,
    value: u64,
    bytes: u32,
}

/// The answer to a DMA read under way.
#[derive(Debug)]
struct Answer {
    due_ps: u64,
    tag: u32,
    bytes: Vec<u8>,
}

/// An interrupt for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it reaches the CPU.
    pub due_ps: u64,
    /// Address.
    pub address: u64,
    /// Data: the number of the interrupt.
    pub data: u32,
}

/// Something that went wrong below the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The device never comes to rest.
    #[error("the device takes more than {STEPS_MAX} steps while the kernel does nothing")]
    Endless,
}

/// What is below the kernel.
pub struct World<N> {
    /// Device model.
    pub nic: N,
    /// Its function.
    pub function: Function,
    /// The far side of the cable.
    pub street: Street,
    /// Delays.
    pub timing: Timing,
    /// The function leaves the bus at this access.
    pub remove_at: Option<u64>,
    now_ps: u64,
    link: Link,
    posted: VecDeque<Posted>,
    to_host: VecDeque<(u64, Outbound)>,
    answers: VecDeque<Answer>,
    messages: VecDeque<Message>,
    accesses: u64,
    watch: Watch,
}

/// What comes next, in the order in which things of one time happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Posted,
    Device,
    ToHost,
    Answer,
    Street,
    Act,
    Deadline,
}

impl<N: Nic> World<N> {
    /// A device after power on. In real time the link and its choices take no time of their own.
    pub fn new(nic: N, street: Street, plan: Plan, link: LinkParams) -> Self {
        let function = Function::new(nic.identity());
        let mut world = Self {
            nic,
            function,
            street,
            timing: Timing::new(plan),
            remove_at: None,
            now_ps: 0,
            link: Link::new(link),
            posted: VecDeque::new(),
            to_host: VecDeque::new(),
            answers: VecDeque::new(),
            messages: VecDeque::new(),
            accesses: 0,
            watch: Watch::default(),
        };
        // Configuration space says so.
        world.nic.set_msix_control(false, false);
        world
    }

    /// Time of the device.
    pub fn now_ps(&self) -> u64 {
        self.now_ps
    }

    /// Register accesses so far.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    fn next(&self) -> Option<(u64, Source)> {
        let device_ps = self.nic.next_deadline().filter(|_| !self.function.is_removed());
        let all = [
            (self.posted.front().map(|p| p.due_ps), Source::Posted),
            // A deadline may lie in the past when what held the device up is over.
            (device_ps.map(|ps| ps.max(self.now_ps)), Source::Device),
            (self.to_host.front().map(|c| c.0), Source::ToHost),
            (self.answers.front().map(|a| a.due_ps), Source::Answer),
            (self.street.frame_ps(), Source::Street),
            (self.street.act_ps(), Source::Act),
            (self.street.deadline_ps(), Source::Deadline),
        ];
        all.into_iter().filter_map(|(ps, source)| Some((ps?, source))).min()
    }

    /// When something happens that the kernel has no part in.
    pub fn next_ps(&self) -> Option<u64> {
        let inside = self.next().map(|(ps, _)| ps);
        let message = self.messages.front().map(|m| m.due_ps);
        [inside, message].into_iter().flatten().min()
    }

    /// The next interrupt that has reached the CPU by then.
    pub fn take_message(&mut self, by_ps: u64) -> Option<Message> {
        let is_due = self.messages.front().is_some_and(|m| m.due_ps <= by_ps);
        is_due.then(|| self.messages.pop_front()).flatten()
    }

    /// Whether an interrupt is on its way to the CPU.
    pub fn next_message_ps(&self) -> Option<u64> {
        self.messages.front().map(|m| m.due_ps)
    }

    /// Everything up to this time happens.
    pub fn advance(&mut self, memory: &SharedMemory, to_ps: u64) -> Result<(), WorldError> {
        let mut steps = 0;
        while let Some((at_ps, source)) = self.next().filter(|(ps, _)| *ps <= to_ps) {
            self.set_time(at_ps);
            self.handle(memory, source);
            steps += 1;
            if steps > STEPS_MAX {
                return Err(WorldError::Endless);
            }
        }
        self.set_time(to_ps);
        Ok(())
    }

    fn set_time(&mut self, ps: u64) {
        self.now_ps = self.now_ps.max(ps);
        set_time_ps(self.now_ps);
        self.nic.set_time(self.now_ps);
    }

    fn handle(&mut self, memory: &SharedMemory, source: Source) {
        match source {
            Source::Posted => {
                if let Some(write) = self.posted.pop_front() {
                    self.deliver(write);
                }
            }
            Source::Device => self.nic.expire(),
            Source::ToHost => {
                if let Some((_, request)) = self.to_host.pop_front() {
                    self.arrive(memory, request);
                }
            }
            Source::Answer => {
                if let Some(answer) = self.answers.pop_front() {
                    self.nic.dma_complete(answer.tag, &answer.bytes);
                }
            }
            Source::Street => {
                let frame = self.street.pop_frame(self.now_ps);
                if let Some(frame) = frame.filter(|_| !self.function.is_removed()) {
                    self.nic.rx_frame(frame);
                }
            }
            Source::Act => match self.street.pop_act() {
                Some(Act::Cable(present)) => self.nic.set_cable(present),
                Some(Act::HoldTransmit) => self.nic.hold_transmit(),
                Some(Act::Fail) => self.nic.fail(),
                Some(Act::LoseAnswer) => self.nic.lose_answer(),
                Some(Act::Remove) => self.remove(),
                None => {}
            },
            Source::Deadline => self.street.expire(self.now_ps, &mut self.timing),
        }
        self.pull();
    }

    /// What the device wants goes on its way.
    fn pull(&mut self) {
        while let Some(bytes) = self.nic.pop_frame() {
            self.street.take(self.now_ps, bytes, &mut self.timing);
        }
        while self.function.may_master() {
            let Some(request) = self.nic.pop() else { break };
            let (at_ps, point) = match &request {
                Outbound::DmaWrite { payload, .. } => {
                    (self.link.write_ps(self.now_ps, payload.len() as u32), Some(Point::DmaWrite))
                }
                Outbound::DmaRead { .. } => (self.link.write_ps(self.now_ps, 0), None),
                Outbound::Msix { .. } => (self.link.write_ps(self.now_ps, 4), None),
            };
            // Whatever is due earlier waits for what left before it.
            let extra_ps = point.map_or(0, |point| self.timing.extra_ps(point));
            self.to_host.push_back((at_ps.saturating_add(extra_ps), request));
        }
        self.function.set_pending(self.nic.transactions_pending() || !self.to_host.is_empty());
    }

    /// A request of the device reaches the host.
    fn arrive(&mut self, memory: &SharedMemory, request: Outbound) {
        match request {
            Outbound::DmaWrite { addr, payload, what } => {
                emit(Event::DmaWrite { addr, len: payload.len() as u32, what });
                if what == What::Cqe {
                    self.watch.before_write_back(addr);
                }
                if memory.write(addr, &payload).is_err() {
                    outside(addr, "DMA write outside of memory");
                }
            }
            Outbound::DmaRead { tag, addr, len, what } => {
                emit(Event::DmaRead { addr, len, what });
                let mut bytes = vec![0; len as usize];
                if memory.read(addr, &mut bytes).is_err() {
                    outside(addr, "DMA read outside of memory");
                    bytes.fill(0);
                }
                let extra_ps = self.timing.extra_ps(Point::DmaRead);
                let lane_ps = self.link.params().to_device_ps(len);
                let latency_ps = self.link.params().latency_ps;
                let due_ps = self.now_ps + lane_ps + latency_ps + extra_ps;
                self.answers.push_back(Answer { due_ps, tag, bytes });
            }
            Outbound::Msix { vector } => {
                let Some((address, data)) = self.nic.msix_message(vector) else { return };
                let extra_ps = self.timing.extra_ps(Point::Msix);
                let due_ps = self.now_ps.saturating_add(extra_ps);
                self.messages.push_back(Message { due_ps, address, data });
            }
        }
    }

    /// The function leaves the bus: nothing of it reaches the host any more.
    fn remove(&mut self) {
        if self.function.is_removed() {
            return;
        }
        self.watch.end_all();
        emit(Event::FunctionRemoved);
        self.function.remove();
        self.posted.clear();
        self.to_host.clear();
        self.answers.clear();
        self.messages.clear();
    }
}

/// The device was told an address that is no memory of the kernel's.
fn outside(addr: u64, why: &'static str) {
    emit(Event::IllegalAccess { addr, by: Owner::Device, owner: Owner::Free, why });
}
