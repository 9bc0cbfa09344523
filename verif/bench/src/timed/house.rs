//! The house: device, driver and core on a timed host, and the event loop that moves them.

use super::cpu::Task;
use super::host::TimedHost;
use super::nic::Device as _;
use super::world::World;
use super::{Ixgbe, Mlx4, Nic, Options, Sfc, TimedError, TimedReport};
use pollproof_events::{emit, set_time_ps, Event};
use pollproof_ixgbe::Adapter;
use pollproof_kapi::Below;
use pollproof_mlx4::Mlx4Port;
use pollproof_netcore::{Net, LL_FLUSH_FAILED};
use pollproof_sim::Streams;
use pollproof_sync::{alone, cpu};
use pollproof_wire::{Arrivals, FaultCounts, Faults, Frame, Packet};
use std::sync::Arc;

/// The world is gone: it was asked for from another thread.
const ELSEWHERE: TimedError = TimedError::Options("a timed run belongs to the thread it began on");

/// A timed run of a NIC.
pub struct House<N: Nic> {
    host: Arc<TimedHost<N>>,
    net: Arc<Net>,
    nic: N,
    /// When the port was open: times of frames count from here.
    opened_ps: u64,
    busy_poll_us: u64,
    arrivals: Arrivals,
    faults: Faults,
    offered: u64,
    wire: FaultCounts,
}

/// A timed run of mlx4.
pub type TimedHouse = House<Mlx4>;
/// A timed run of ixgbe.
pub type IxgbeHouse = House<Ixgbe>;
/// A timed run of sfc.
pub type SfcHouse = House<Sfc>;

fn check<N: Nic>(options: &Options<N>) -> Result<(), TimedError> {
    if !(1..=128).contains(&options.net.cpus) {
        return Err(TimedError::Options("the number of CPUs must be 1 to 128"));
    }
    if N::shape(&options.nic).weight < 1 || options.net.netdev_budget < 1 {
        return Err(TimedError::Options("weight and netdev_budget must be 1 or more"));
    }
    N::check(options)
}

impl House<Mlx4> {
    /// The port.
    pub fn port(&self) -> &Arc<Mlx4Port> {
        &self.nic.port
    }
}

impl House<Sfc> {
    /// The port.
    pub fn efx(&self) -> &Arc<pollproof_sfc::Efx> {
        &self.nic.efx
    }
}

impl House<Ixgbe> {
    /// The port.
    pub fn adapter(&self) -> &Arc<Adapter> {
        &self.nic.adapter
    }
}

impl<N: Nic> House<N> {
    /// Builds the house and opens the port; frames may come when it returns.
    pub fn open(options: &Options<N>) -> Result<Self, TimedError> {
        check(options)?;
        let _alone = alone::enter();
        cpu::begin(0);
        set_time_ps(0);
        let host = TimedHost::new(World::new(options));
        let below = Below::of(host.clone());
        let net = Net::new(options.net.clone(), below.clone());
        let nic = N::open(options, &host, &net)?;
        let mut house = Self {
            host,
            net,
            nic,
            opened_ps: 0,
            busy_poll_us: options.busy_poll_us,
            arrivals: Arrivals::new(options.pacing),
            faults: Faults::new(options.faults, &Streams::new(options.seed)),
            offered: 0,
            wire: FaultCounts::default(),
        };
        house.wait_until_ready()?;
        let opened = |w: &mut World<N>| {
            w.mem.set_fail_allocs(after_opening(options, w.mem.counters().allocs));
            w.opened(options);
            w.now_ps
        };
        house.opened_ps = house.host.with(opened).ok_or(ELSEWHERE)?;
        Ok(house)
    }

    fn wait_until_ready(&mut self) -> Result<(), TimedError> {
        while !self.nic.is_ready() {
            if !self.step()? {
                return Err(TimedError::Options("the port never gets a link"));
            }
        }
        Ok(())
    }

    /// The network core.
    pub fn net(&self) -> &Arc<Net> {
        &self.net
    }

    /// When the port was open, picoseconds.
    pub fn opened_ps(&self) -> u64 {
        self.opened_ps
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
            let bytes = N::on_wire(packet.bytes);
            self.faults.send(Frame::new(self.offered, bytes), &mut arrived);
            self.offered += 1;
            self.arrive(last_ps, &mut arrived);
        }
        self.faults.flush(&mut arrived);
        self.arrive(last_ps, &mut arrived);
        self.wire = self.faults.counts();
    }

    fn arrive(&self, at_ps: u64, arrived: &mut Vec<Frame>) {
        let at_ps = at_ps.saturating_add(self.opened_ps);
        self.host.with(|w| arrived.drain(..).for_each(|frame| w.send_frame(at_ps, frame)));
    }

    /// Frames that are on the street and have not arrived.
    pub fn on_street(&self) -> Vec<Frame> {
        let frames = |w: &mut World<N>| w.street.iter().cloned().collect();
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

    /// Runs for so long, timers that come again for ever included.
    pub fn run_for(&mut self, ps: u64) -> Result<(), TimedError> {
        let end_ps = self.now_ps().saturating_add(ps);
        self.host.with(|w| w.through_ps = end_ps);
        self.step_until(|house| house.now_ps() >= end_ps)?;
        Ok(())
    }

    /// Interrupts, then timers, then one pass of the softirq.
    fn run_cpu(&self, cpu: u32) {
        cpu::begin(cpu);
        let before = self.net.ledger.packets();
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
        if self.busy_poll_us != 0 {
            self.busy_poll(before);
        }
        // Process context comes last, and only when no softirq waits anywhere.
        if self.nic.has_work() && !self.net.any_softirq_pending() {
            self.host.with(World::wait_for_cpus);
            self.nic.run_work();
        }
        let more = self.net.softirq_pending();
        self.host.with(|w| w.leave(more));
    }

    /// A socket that got a packet on this CPU polls for the next, one round.
    fn busy_poll(&self, before: u64) {
        let is_idle = !self.net.softirq_pending();
        if let Some(Some(napi_id)) = self.host.with(|w| w.busy_poll_round().filter(|_| is_idle)) {
            if self.net.ll_poll_once(napi_id, 0) == LL_FLUSH_FAILED {
                self.host.with(World::end_busy_poll);
            }
        }
        if self.net.ledger.packets() != before {
            let napi_id = self.net.ledger.last_napi_id();
            self.host.with(|w| w.begin_busy_poll(napi_id, self.busy_poll_us));
        }
    }

    fn run_timer(&self, timer: u32) {
        if !self.nic.run_timer(timer) {
            self.net.napi_watchdog(timer);
        }
    }

    /// Runs code of the control path in process context, when no softirq waits.
    pub fn control<R>(&mut self, body: impl FnOnce(&N) -> R) -> Result<R, TimedError> {
        while self.net.any_softirq_pending() {
            self.step()?;
        }
        cpu::begin(0);
        self.host.with(World::wait_for_cpus);
        Ok(body(&self.nic))
    }

    /// Packet buffers that are not free, whosever they are.
    pub fn buffers_in_use(&self) -> Option<u64> {
        let count = |w: &mut World<N>| {
            let books = w.mem.counters();
            books.driver + books.device + books.stack
        };
        self.host.with(count)
    }

    /// The device leaves the bus.
    pub fn remove_device(&mut self) {
        self.host.with(World::remove);
    }

    /// Does something to the device by hand: a cable is pulled.
    pub fn with_device<R>(&mut self, body: impl FnOnce(&mut N::Device) -> R) -> Option<R> {
        let act = |w: &mut World<N>| {
            w.device.set_time(w.now_ps);
            let result = body(&mut w.device);
            w.drain();
            result
        };
        self.host.with(act)
    }

    /// Runs to the end and tells the rules how things stand.
    pub fn finish(&mut self) -> Result<TimedReport, TimedError> {
        let _alone = alone::enter();
        // The same as `while step`, with fewer ways in and out.
        loop {
            self.host.with(|w| while w.error.is_none() && w.step() {});
            if !self.step()? {
                break;
            }
        }
        self.host.with(|w| {
            w.take_all();
            self.net.emit_rest_gro(!w.is_quiet());
            self.nic.emit_rest(w);
        });
        let sent = (self.offered, self.wire);
        self.host.with(|w| TimedReport::new(w, &self.net, &self.nic, sent)).ok_or(ELSEWHERE)
    }
}

/// The fail plan counts from the run's first allocation; opening takes some before.
fn after_opening<N: Nic>(options: &Options<N>, allocs: u64) -> Option<pollproof_hostmem::FailPlan> {
    options.fail_allocs.map(|plan| pollproof_hostmem::FailPlan {
        first: plan.first.saturating_add(allocs),
        last: plan.last.saturating_add(allocs),
    })
}

/// Sends packets through a house of their own, to the end.
pub fn run_frames<N: Nic>(
    packets: impl IntoIterator<Item = Packet>,
    options: &Options<N>,
) -> Result<TimedReport, TimedError> {
    let mut house = House::open(options)?;
    house.send(packets);
    house.finish()
}
