//! The house: device, driver and core on a timed host, and the event loop that moves them.

use super::cpu::Task;
use super::host::TimedHost;
use super::world::World;
use super::{TimedError, TimedOptions, TimedReport};
use pollproof_events::{emit, set_time_ps, Event, RestCq};
use pollproof_kapi::Below;
use pollproof_mlx4::{Mlx4Port, FIRST_OOM_TIMER};
use pollproof_netcore::Net;
use pollproof_sim::Streams;
use pollproof_sync::cpu;
use pollproof_wire::{Arrivals, FaultCounts, Faults, Frame, Packet};
use std::sync::Arc;

/// An index of a CQ has 24 bits.
const INDEX_MASK: u32 = 0x00ff_ffff;

/// The world is gone: it was asked for from another thread.
const ELSEWHERE: TimedError = TimedError::Options("a timed run belongs to the thread it began on");

/// A timed run.
pub struct TimedHouse {
    host: Arc<TimedHost>,
    net: Arc<Net>,
    port: Arc<Mlx4Port>,
    arrivals: Arrivals,
    faults: Faults,
    offered: u64,
    wire: FaultCounts,
}

fn check(options: &TimedOptions) -> Result<(), TimedError> {
    if !(1..=128).contains(&options.net.cpus) {
        return Err(TimedError::Options("the number of CPUs must be 1 to 128"));
    }
    if options.mlx4.threaded {
        return Err(TimedError::Options("threaded NAPI needs an engine"));
    }
    if options.mlx4.weight < 1 || options.net.netdev_budget < 1 {
        return Err(TimedError::Options("weight and netdev_budget must be 1 or more"));
    }
    if options.mlx4.first_vector > 1024 {
        return Err(TimedError::Options("the first vector must be at most 1024"));
    }
    Ok(())
}

impl TimedHouse {
    /// Builds the house and opens the port.
    pub fn open(options: &TimedOptions) -> Result<Self, TimedError> {
        check(options)?;
        cpu::begin(0);
        set_time_ps(0);
        let host = TimedHost::new(World::new(options));
        let below = Below::of(host.clone());
        let net = Net::new(options.net.clone(), below.clone());
        let port = Mlx4Port::new(options.mlx4.clone(), below, net.clone(), host.clone());
        port.start_port()?;
        host.with(|w| w.mem.set_fail_allocs(after_opening(options, w.mem.counters().allocs)));
        Ok(Self {
            host,
            net,
            port,
            arrivals: Arrivals::new(options.pacing),
            faults: Faults::new(options.faults, &Streams::new(options.seed)),
            offered: 0,
            wire: FaultCounts::default(),
        })
    }

    /// The network core.
    pub fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// The port.
    pub fn port(&self) -> &Arc<Mlx4Port> {
        &self.port
    }

    /// Simulated time, picoseconds.
    pub fn now_ps(&self) -> u64 {
        self.host.with(|w| w.now_ps).unwrap_or(0)
    }

    /// Sends packets behind those that were sent before: gives them their times and faults.
    pub fn send(&mut self, packets: impl IntoIterator<Item = Packet>) {
        let mut arrived = Vec::new();
        let mut last_ps = 0;
        for packet in packets {
            last_ps = self.arrivals.next_ps(&packet);
            self.faults.send(Frame::new(self.offered, packet.bytes), &mut arrived);
            self.offered += 1;
            self.arrive(last_ps, &mut arrived);
        }
        self.faults.flush(&mut arrived);
        self.arrive(last_ps, &mut arrived);
        self.wire = self.faults.counts();
    }

    fn arrive(&self, at_ps: u64, arrived: &mut Vec<Frame>) {
        self.host.with(|w| w.street.extend(arrived.drain(..).map(|frame| (at_ps, frame))));
    }

    /// Frames that are on the street and have not arrived.
    pub fn on_street(&self) -> Vec<Frame> {
        let frames = |w: &mut World| w.street.iter().map(|(_, frame)| frame.clone()).collect();
        self.host.with(frames).unwrap_or_default()
    }

    /// One step: an event of the world, or the start of a CPU that then runs until it is done.
    /// False when nothing is left before the end.
    pub fn step(&mut self) -> Result<bool, TimedError> {
        enum Next {
            Over,
            World,
            Cpu(u32),
        }
        let next = self.host.with(|w| {
            if w.is_over() {
                return Next::Over;
            }
            if w.step() {
                return Next::World;
            }
            w.enter().map_or(Next::Over, Next::Cpu)
        });
        let next = next.ok_or(ELSEWHERE)?;
        if let Next::Cpu(cpu) = next {
            self.run_cpu(cpu);
        }
        match self.host.with(|w| w.error.take()).ok_or(ELSEWHERE)? {
            Some(error) => Err(error),
            None => Ok(!matches!(next, Next::Over)),
        }
    }

    /// Steps until the predicate holds; false when the run ended before.
    pub fn step_until(&mut self, mut holds: impl FnMut(&Self) -> bool) -> Result<bool, TimedError> {
        while !holds(self) {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Interrupts, then timers, then one pass of the softirq.
    fn run_cpu(&self, cpu: u32) {
        cpu::begin(cpu);
        while let Some(Some(task)) = self.host.with(World::next_task) {
            match task {
                Task::Irq(vector, handler) => {
                    emit(Event::Irq { vector });
                    if let Some(handler) = handler {
                        cpu::in_hardirq(|| handler());
                    }
                }
                Task::Timer(timer) => cpu::in_softirq(|| self.run_timer(timer)),
            }
        }
        if self.net.softirq_pending() {
            self.host.with(|w| w.charge(w.counts.costs_ps.softirq));
            cpu::in_softirq(|| self.net.net_rx_action());
        }
        let more = self.net.softirq_pending();
        self.host.with(|w| w.leave(more));
    }

    fn run_timer(&self, timer: u32) {
        match timer.checked_sub(FIRST_OOM_TIMER) {
            Some(queue) => {
                if let Some(queue) = self.port.queues().get(queue as usize) {
                    queue.recover_from_oom();
                }
            }
            None => self.net.napi_watchdog(timer),
        }
    }

    /// Runs to the end and tells the rules how things stand.
    pub fn finish(&mut self) -> Result<TimedReport, TimedError> {
        // The same as `while step`, with fewer ways in and out.
        loop {
            self.host.with(|w| while w.error.is_none() && w.step() {});
            if !self.step()? {
                break;
            }
        }
        self.emit_rest();
        let sent = (self.offered, self.wire);
        self.host.with(|w| TimedReport::new(w, &self.net, &self.port, sent)).ok_or(ELSEWHERE)
    }

    /// State of each queue, as events.
    fn emit_rest(&self) {
        let states = self.port.ring_states();
        self.host.with(|w| {
            w.take_all();
            let wakeup = !w.is_quiet();
            let mut queued = 0;
            for (state, queue) in states.iter().zip(self.port.queues()) {
                let Some(cq) = w.device.cq_view(state.cqn) else { continue };
                let unconsumed = cq.producer.wrapping_sub(state.cons_index) & INDEX_MASK;
                queued += u64::from(unconsumed);
                emit(Event::Rest(RestCq {
                    cq: state.cqn,
                    napi: state.napi,
                    unconsumed,
                    posted: w.posted(queue),
                    enabled: state.up,
                    armed: w.is_armed(&cq, queue.cq.db),
                    wakeup,
                }));
            }
            emit(Event::RestHeld { device: w.device.held(), queued });
        });
    }
}

/// The fail plan counts from the run's first allocation; opening takes some before.
fn after_opening(options: &TimedOptions, allocs: u64) -> Option<pollproof_hostmem::FailPlan> {
    options.fail_allocs.map(|plan| pollproof_hostmem::FailPlan {
        first: plan.first.saturating_add(allocs),
        last: plan.last.saturating_add(allocs),
    })
}

/// Sends packets through a house of their own, to the end.
pub fn run_frames(
    packets: impl IntoIterator<Item = Packet>,
    options: &TimedOptions,
) -> Result<TimedReport, TimedError> {
    let mut house = TimedHouse::open(options)?;
    house.send(packets);
    house.finish()
}
