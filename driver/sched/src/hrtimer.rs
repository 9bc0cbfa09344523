//! Timers with a soft and a hard expiry, after `kernel/time/hrtimer.c` of Linux 6.12.
//!
//! A base is a CPU's queue of timers, by hard expiry, and its one-shot hardware, which is always
//! programmed to the first hard expiry. An interrupt runs timers from the front of the queue for as
//! long as their soft expiry has passed: a timer alone fires at its hard expiry, and one behind it
//! may come along earlier, within its window.
//!
//! Left out: moving a timer to the CPU that starts it (a timer stays on the base it was made for),
//! callbacks that restart their timer by return value, soft and deferred modes, clocks other than
//! one monotonic clock, the hang detector, CPU hotplug.

use pollproof_events::{emit, Event, HrtimerId, Sched, NEVER};
use pollproof_kapi::Clock;
use pollproof_sync::Ordering::{Acquire, Relaxed, Release};
use pollproof_sync::{cpu, AtomicU32, AtomicU64, Counter, SpinLock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One-shot timer hardware of a CPU.
pub trait ClockEvent: Send + Sync {
    /// Interrupts at this time, at once if it is past; [`NEVER`] turns it off.
    fn program(&self, expires_ns: u64);
}

/// `HRTIMER_STATE_ENQUEUED`.
const ENQUEUED: u32 = 1;
/// No callback runs.
const IDLE: u32 = u32::MAX;

/// A timer.
pub struct Hrtimer {
    id: HrtimerId,
    state: AtomicU32,
    softexpires: AtomicU64,
    function: Box<dyn Fn() + Send + Sync>,
}

/// Where a timer stands in the queue: hard expiry, then who came first.
type Place = (u64, u64);

struct Queue {
    timers: BTreeMap<Place, (Arc<Hrtimer>, u64)>,
    places: BTreeMap<HrtimerId, Place>,
    started: u64,
    programmed: u64,
    /// The interrupt programs the hardware at its end.
    in_interrupt: bool,
}

/// How often things were done.
#[derive(Debug, Default)]
pub struct BaseCounts {
    /// Interrupts of the hardware.
    pub interrupts: Counter,
    /// Times that the hardware was programmed.
    pub programmed: Counter,
    /// Callbacks.
    pub fired: Counter,
}

/// The timers of a CPU.
pub struct HrtimerBase {
    cpu: u32,
    queue: SpinLock<Queue>,
    /// Timer whose callback runs, or [`IDLE`].
    running: AtomicU32,
    hardware: Arc<dyn ClockEvent>,
    clock: Arc<dyn Clock>,
    /// Counters.
    pub counts: BaseCounts,
}

impl Hrtimer {
    /// A timer that calls `function`, in hard interrupt context.
    pub fn new(id: HrtimerId, function: Box<dyn Fn() + Send + Sync>) -> Arc<Self> {
        let (state, softexpires) = (AtomicU32::new(0), AtomicU64::new(0));
        Arc::new(Self { id, state, softexpires, function })
    }

    /// Its number.
    pub fn id(&self) -> HrtimerId {
        self.id
    }

    /// `hrtimer_is_queued`: without the lock, so it may be over by now.
    #[track_caller]
    pub fn is_queued(&self) -> bool {
        self.state.load(Relaxed) & ENQUEUED != 0
    }

    /// `hrtimer_get_softexpires`: of the last start.
    pub fn softexpires_ns(&self) -> u64 {
        self.softexpires.load(Relaxed)
    }
}

impl Queue {
    fn first_ns(&self) -> u64 {
        self.timers.first_key_value().map_or(NEVER, |((hard, _), _)| *hard)
    }

    fn insert(&mut self, timer: &Arc<Hrtimer>, soft_ns: u64, hard_ns: u64) {
        self.started += 1;
        let place = (hard_ns, self.started);
        self.timers.insert(place, (timer.clone(), soft_ns));
        self.places.insert(timer.id, place);
        timer.softexpires.store(soft_ns, Relaxed);
        timer.state.store(ENQUEUED, Relaxed);
        emit(Event::Sched(Sched::TimerStart { timer: timer.id, soft_ns, hard_ns }));
    }

    fn remove(&mut self, timer: &Hrtimer) -> bool {
        let Some(place) = self.places.remove(&timer.id) else { return false };
        self.timers.remove(&place);
        true
    }

    /// Takes the first timer off whose soft expiry has passed. What stands behind one that is not
    /// due yet waits with it.
    fn take_due(&mut self, now_ns: u64) -> Option<Arc<Hrtimer>> {
        let (_, (timer, soft_ns)) = self.timers.first_key_value()?;
        if *soft_ns > now_ns {
            return None;
        }
        let timer = timer.clone();
        self.remove(&timer);
        Some(timer)
    }
}

impl HrtimerBase {
    /// The base of a CPU.
    pub fn new(cpu: u32, hardware: Arc<dyn ClockEvent>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let queue = SpinLock::new(Queue {
            timers: BTreeMap::new(),
            places: BTreeMap::new(),
            started: 0,
            programmed: NEVER,
            in_interrupt: false,
        });
        let (running, counts) = (AtomicU32::new(IDLE), BaseCounts::default());
        Arc::new(Self { cpu, queue, running, hardware, clock, counts })
    }

    /// The base locked with interrupts off.
    fn with<R>(&self, body: impl FnOnce(&mut Queue) -> R) -> R {
        cpu::local_irq_disable();
        let result = body(&mut self.queue.lock());
        cpu::local_irq_enable();
        result
    }

    /// Programs the hardware to the first timer, if that is another time than before.
    fn reprogram(&self, queue: &mut Queue) {
        let first_ns = queue.first_ns();
        if queue.in_interrupt || queue.programmed == first_ns {
            return;
        }
        queue.programmed = first_ns;
        self.counts.programmed.add(1);
        self.hardware.program(first_ns);
        let (cpu, expires_ns) = (self.cpu, first_ns);
        emit(Event::Sched(Sched::TimerProgram { cpu, expires_ns, first_ns }));
    }

    /// `hrtimer_start_range_ns(HRTIMER_MODE_ABS_PINNED)`: fires from `soft_ns` on, at most
    /// `delta_ns` later. A timer that was queued is moved; the hardware is programmed once at most.
    pub fn start_range_ns(&self, timer: &Arc<Hrtimer>, soft_ns: u64, delta_ns: u64) {
        self.with(|queue| {
            queue.remove(timer);
            queue.insert(timer, soft_ns, soft_ns.saturating_add(delta_ns));
            self.reprogram(queue);
        });
    }

    /// `hrtimer_cancel`: when it returns the timer is not queued and no callback of it runs. Gives
    /// whether it was queued.
    pub fn cancel(&self, timer: &Arc<Hrtimer>) -> bool {
        let mut was_queued = false;
        loop {
            was_queued |= self.with(|queue| {
                let was_queued = queue.remove(timer);
                if was_queued {
                    timer.state.store(0, Relaxed);
                    self.reprogram(queue);
                }
                was_queued
            });
            self.running.wait(Acquire, |running| running != timer.id);
            // Its callback may have started it again.
            if !timer.is_queued() {
                emit(Event::Sched(Sched::TimerCancel { timer: timer.id }));
                return was_queued;
            }
        }
    }

    /// `hrtimer_interrupt`: the hardware has interrupted. To be called in hard interrupt context.
    pub fn interrupt(&self) {
        self.counts.interrupts.add(1);
        self.with(|queue| {
            queue.programmed = NEVER;
            queue.in_interrupt = true;
        });
        let now_ns = self.clock.now_ns();
        while let Some(timer) = self.with(|queue| self.expire(queue, now_ns)) {
            (timer.function)();
            emit(Event::Sched(Sched::TimerDone { timer: timer.id }));
            self.running.store(IDLE, Release);
            self.counts.fired.add(1);
        }
        self.with(|queue| {
            queue.in_interrupt = false;
            self.reprogram(queue);
        });
    }

    /// A due timer, no longer queued, whose callback runs from here on.
    fn expire(&self, queue: &mut Queue, now_ns: u64) -> Option<Arc<Hrtimer>> {
        let timer = queue.take_due(now_ns)?;
        emit(Event::Sched(Sched::TimerExpire { timer: timer.id, now_ns }));
        // Under the lock, so that a cancel finds the timer queued or its callback running.
        self.running.store(timer.id, Relaxed);
        timer.state.store(0, Relaxed);
        Some(timer)
    }

    /// What the hardware is programmed to; [`NEVER`] is off.
    pub fn next_event_ns(&self) -> u64 {
        self.with(|queue| queue.programmed)
    }
}
