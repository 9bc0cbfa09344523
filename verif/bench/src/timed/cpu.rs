//! CPUs and interrupts of a timed run: who is free when, and what waits for whom.

use super::bus::LANE_AHEAD_PS;
use super::host::LOADS_MAX;
use super::world::{Sparse, World};
use super::{Nic, Options};
use pollproof_events::set_time_ps;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// Least time of a round of busy polling. Assumed.
const BUSY_ROUND_PS: u64 = 50_000;

/// Handler of a vector.
pub type Handler = Arc<dyn Fn() + Send + Sync>;

/// A CPU.
#[derive(Default)]
pub struct Cpu {
    /// Vectors and timers that wait for it.
    irqs: VecDeque<u32>,
    timers: VecDeque<u32>,
    /// When it is free.
    pub free_ps: u64,
    /// It is in the queue of starts.
    queued: bool,
    /// A socket polls: the context that its last packet came from, and until when.
    busy: Option<(u32, u64)>,
}

/// A vector.
#[derive(Clone, Default)]
pub struct Vector {
    pub handler: Option<Handler>,
    pub affinity: u32,
    /// It waits for its CPU; a second message meanwhile changes nothing.
    pending: bool,
}

impl Vector {
    /// The vectors of a port, bound to CPUs in turn.
    pub fn bound<N: Nic>(options: &Options<N>) -> Vec<Self> {
        let shape = N::shape(&options.nic);
        let first = shape.first_vector;
        let affinity = |v: u32| v.saturating_sub(first) % options.net.cpus.max(1);
        let vector = |v| Self { affinity: affinity(v), ..Self::default() };
        (0..shape.vectors().min(2048)).map(vector).collect()
    }
}

/// What a CPU does next.
pub enum Task {
    /// The handler of a vector.
    Irq(u32, Option<Handler>),
    /// A timer.
    Timer(u32),
}

impl<N: Nic> World<N> {
    /// Moves the running CPU's time on, and lets the world come up to it.
    #[inline]
    pub fn charge(&mut self, ps: u64) {
        if self.running.is_some() {
            self.local_ps = self.local_ps.saturating_add(ps);
            self.catch_up();
        }
    }

    /// An MSI-X message reached the host.
    pub fn raise(&mut self, vector: u32) {
        let Some(entry) = self.vectors.get_mut(vector as usize) else { return };
        if std::mem::replace(&mut entry.pending, true) {
            return;
        }
        let cpu = entry.affinity;
        if let Some(to) = self.cpus.get_mut(cpu as usize) {
            to.irqs.push_back(vector);
        }
        self.wake(cpu);
    }

    /// What was on its way and what waits for its CPU was handled while process context slept, and
    /// changed nothing: whoever waits for handlers has turned their work away before.
    pub fn synchronize(&mut self, vector: u32) {
        let way_ps = self.link.params().latency_ps.saturating_add(LANE_AHEAD_PS);
        self.sleep(way_ps.div_ceil(1000));
        let Some(entry) = self.vectors.get_mut(vector as usize) else { return };
        if std::mem::take(&mut entry.pending) {
            if let Some(cpu) = self.cpus.get_mut(entry.affinity as usize) {
                cpu.irqs.retain(|v| *v != vector);
            }
        }
    }

    pub fn fire_timer(&mut self, timer: u32, cpu: u32) {
        if let Some(to) = self.cpus.get_mut(cpu as usize) {
            to.timers.push_back(timer);
        }
        self.wake(cpu);
    }

    /// The CPU has something to do: it starts when it is free. One that runs looks by itself.
    pub fn wake(&mut self, cpu: u32) {
        let Some(entry) = self.cpus.get_mut(cpu as usize) else { return };
        if self.running == Some(cpu) || std::mem::replace(&mut entry.queued, true) {
            return;
        }
        let at_ps = self.now_ps.max(entry.free_ps);
        self.changed();
        if let Err(full) = self.starts.push(at_ps, cpu, cpu) {
            self.error = Some(full.into());
        }
    }

    /// The CPU that starts next begins to run.
    pub fn enter(&mut self) -> Option<u32> {
        let (at_ps, _, cpu) = self.starts.pop()?;
        self.count_step();
        self.loads_left.store(LOADS_MAX, Relaxed);
        self.now_ps = self.now_ps.max(at_ps);
        self.local_ps = self.now_ps;
        self.running = Some(cpu);
        self.cpus.get_mut(cpu as usize)?.queued = false;
        set_time_ps(self.local_ps);
        Some(cpu)
    }

    /// The next task of the CPU that runs.
    pub fn next_task(&mut self) -> Option<Task> {
        let cpu = self.cpus.get_mut(self.running? as usize)?;
        if let Some(vector) = cpu.irqs.pop_front() {
            let entry = self.vectors.get_mut(vector as usize)?;
            entry.pending = false;
            let handler = entry.handler.clone();
            self.counts.interrupt(vector);
            self.charge(self.counts.costs_ps.irq);
            return Some(Task::Irq(vector, handler));
        }
        let timer = cpu.timers.pop_front()?;
        self.counts.timers_fired += 1;
        self.charge(self.counts.costs_ps.irq);
        Some(Task::Timer(timer))
    }

    /// The CPU that runs is done for now; `more` says that a softirq is left.
    pub fn leave(&mut self, more: bool) {
        self.counts.poll_ends();
        let Some(running) = self.running.take() else { return };
        let Some(cpu) = self.cpus.get_mut(running as usize) else { return };
        cpu.free_ps = self.local_ps;
        let busy = cpu.busy.is_some_and(|(_, until_ps)| until_ps > self.local_ps);
        if more || busy || !cpu.irqs.is_empty() || !cpu.timers.is_empty() {
            self.wake(running);
        }
    }

    /// The running CPU's socket got a packet through context `napi_id` and will poll for the next.
    pub fn begin_busy_poll(&mut self, napi_id: u32, us: u64) {
        let until_ps = self.local_ps.saturating_add(us.saturating_mul(1_000_000));
        if let Some(cpu) = self.running.and_then(|c| self.cpus.get_mut(c as usize)) {
            cpu.busy = (napi_id != 0).then_some((napi_id, until_ps));
        }
    }

    /// The context that the running CPU polls now, if its time is not up and nobody wants the CPU.
    /// A round takes time even if driver code does not.
    pub fn busy_poll_round(&mut self) -> Option<u32> {
        let cpu = self.cpus.get_mut(self.running? as usize)?;
        let (napi_id, until_ps) = cpu.busy?;
        if until_ps <= self.local_ps {
            cpu.busy = None;
            return None;
        }
        self.charge(self.counts.costs_ps.poll.max(BUSY_ROUND_PS));
        Some(napi_id)
    }

    /// The socket gives up.
    pub fn end_busy_poll(&mut self) {
        if let Some(cpu) = self.running.and_then(|c| self.cpus.get_mut(c as usize)) {
            cpu.busy = None;
        }
    }

    pub fn set_affinity(&mut self, vector: u32, cpu: u32) {
        if let Some(entry) = self.vectors.get_mut(vector as usize) {
            entry.affinity = cpu.min(self.cpus.len().saturating_sub(1) as u32);
        }
    }

    pub fn start_timer(&mut self, timer: u32, delay_ns: u64) {
        self.cancel_timer(timer);
        let cpu = self.running.unwrap_or(0);
        let delay_ps = delay_ns.saturating_mul(1000);
        let at_ps = self.local_ps.max(self.now_ps).saturating_add(delay_ps);
        if let Some(handle) = self.push(at_ps, Sparse::Timer { timer, cpu }) {
            self.timers.insert(timer, handle);
            self.background += usize::from(N::is_background(timer));
        }
    }

    /// True when the timer was pending, or had fired and waited for its CPU.
    pub fn cancel_timer(&mut self, timer: u32) -> bool {
        if let Some(handle) = self.timers.remove(&timer) {
            self.background -= usize::from(N::is_background(timer));
            return self.cancel(handle);
        }
        let mut waited = false;
        for cpu in &mut self.cpus {
            let before = cpu.timers.len();
            cpu.timers.retain(|t| *t != timer);
            waited |= cpu.timers.len() != before;
        }
        waited
    }
}
