//! The host of explored runs: kapi on shared memory, posted writes, interrupts and timers as words
//! whose order an engine chooses.
//!
//! A register write is posted: counted in one step, taken by the doorbell agent in a later one.
//! Registers of which a device says so ([`Route`]) are written in one step with all posted before.
//! A read is a step too. An MSI-X message sets a bit in the pending word of the CPU that the vector
//! is bound to. A timer may fire whenever it is armed; work is done by whoever runs the queue. The
//! clock stands still, but for the thread that waits by looking at it.

use super::nic::Route;
use pollproof_events::{emit, Event, INTX};
use pollproof_hostmem::SharedMem;
use pollproof_pcie::MsixTable;
use pollproof_sync::switch::fault;
use pollproof_sync::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use pollproof_sync::{cpu, irq, AtomicU32, SpinLock};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Vectors of the function.
pub(crate) const VECTORS: u32 = 8;
/// First bit of the pending word that stands for a timer.
pub(crate) const TIMER_BIT: u32 = 16;
/// Timers by their first number, and how many: of NAPI contexts, retries of a refill of mlx4, the
/// service timer of ixgbe.
const TIMERS: [(u32, u32); 3] =
    [(0, 4), (pollproof_mlx4::FIRST_OOM_TIMER, 4), (pollproof_ixgbe::SERVICE_TIMER, 1)];
/// Work is queued.
pub(crate) const WORK: u32 = 1;
/// The CPU, or another agent, stops.
pub(crate) const STOP: u32 = 1 << 31;

/// What a round of a loop that looks at the clock takes.
pub(super) const SPIN_NS: u64 = 1_024;

/// One register write on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub bar: u8,
    pub offset: u64,
    pub value: u64,
    pub wide: bool,
}

/// The registers of the device that is plugged in.
pub(crate) trait Registers: Send + Sync {
    /// Takes what was posted, then this write.
    fn write(&self, bar: u8, offset: u64, value: u32);
    /// Takes what was posted, then reads.
    fn read(&self, bar: u8, offset: u64) -> u32;
    /// Masks or unmasks a vector of a table that the device has itself.
    fn mask(&self, vector: u32, masked: bool);
    /// Whether the device pulls the legacy line.
    fn line(&self) -> bool;
}

struct Plugged {
    registers: Weak<dyn Registers>,
    route: fn(u8, u64) -> Route,
    owns_msix: bool,
}

pub(super) struct Vector {
    pub(super) handler: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// Held while the handler runs; taken and dropped by `synchronize_irq`.
    pub(super) running: SpinLock<()>,
    pub(super) affinity: AtomicU32,
}

/// Everything below the driver in an explored run.
pub struct ExploredHost {
    /// Memory.
    pub mem: SharedMem,
    /// Register writes that were posted, counted; `STOP` ends the queue.
    pub(crate) posted: AtomicU32,
    /// Their values, in order. A value is there once it is counted.
    writes: Mutex<BTreeMap<usize, Posted>>,
    posted_max: usize,
    device: OnceLock<Plugged>,
    /// Registers that are plain memory here.
    pub(super) kept: Mutex<BTreeMap<u64, u32>>,
    /// Registers that are not posted are accessed without an event.
    quiet: AtomicBool,
    /// Posted writes are taken in later steps; else at once.
    delays: AtomicBool,
    /// The device interrupts by the legacy line, which is vector 0 here.
    line: AtomicBool,
    pub(super) msix: SpinLock<MsixTable>,
    pub(super) vectors: Vec<Vector>,
    /// Pending interrupts and timers of each CPU.
    pub(crate) pending: Vec<AtomicU32>,
    /// Armed timers.
    pub(crate) armed: AtomicU32,
    /// Timers that were started and neither ran nor were cancelled.
    pub(super) live: SpinLock<u32>,
    /// Held while a timer's callback runs.
    pub(super) timer_running: SpinLock<()>,
    /// Time that each thread spent in loops that look at the clock: its own, so that nobody's
    /// depends on who ran first.
    pub(super) spun: Mutex<BTreeMap<usize, u64>>,
    /// Work is queued.
    pub(crate) work: AtomicU32,
    /// 1 while it is done.
    pub(super) work_running: AtomicU32,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ExploredHost {
    /// A host of `cpus` CPUs whose device sees at most `posted_max` register writes.
    pub fn new(mem: SharedMem, cpus: u32, posted_max: usize) -> Arc<Self> {
        let vector = || Vector {
            handler: Mutex::new(None),
            running: SpinLock::unwatched(()),
            affinity: AtomicU32::new(0),
        };
        Arc::new(Self {
            mem,
            posted: AtomicU32::new(0),
            writes: Mutex::default(),
            posted_max,
            device: OnceLock::new(),
            kept: Mutex::default(),
            quiet: AtomicBool::new(false),
            delays: AtomicBool::new(true),
            line: AtomicBool::new(false),
            msix: SpinLock::unwatched(MsixTable::new(VECTORS)),
            vectors: (0..VECTORS).map(|_| vector()).collect(),
            pending: (0..cpus).map(|_| AtomicU32::new(0)).collect(),
            armed: AtomicU32::new(0),
            live: SpinLock::unwatched(0),
            timer_running: SpinLock::unwatched(()),
            spun: Mutex::default(),
            work: AtomicU32::new(0),
            work_running: AtomicU32::new(0),
        })
    }

    pub(crate) fn plug(
        &self,
        registers: Weak<dyn Registers>,
        route: fn(u8, u64) -> Route,
        owns_msix: bool,
    ) {
        let _ = self.device.set(Plugged { registers, route, owns_msix });
    }

    pub(super) fn route(&self, bar: u8, offset: u64) -> Route {
        match self.device.get().map_or(Route::Posted, |d| (d.route)(bar, offset)) {
            Route::Setup if self.is_quiet() => Route::AtOnce,
            Route::Setup => Route::Kept,
            route => route,
        }
    }

    pub(crate) fn delays(&self) -> bool {
        self.delays.load(Relaxed)
    }

    pub(crate) fn set_delays(&self, delays: bool) {
        self.delays.store(delays, Relaxed);
    }

    pub(super) fn registers(&self) -> Option<Arc<dyn Registers>> {
        self.device.get().and_then(|d| d.registers.upgrade())
    }

    pub(super) fn owns_msix(&self) -> bool {
        self.device.get().is_some_and(|d| d.owns_msix)
    }

    pub(crate) fn set_line(&self, line: bool) {
        self.line.store(line, Relaxed);
    }

    pub(super) fn has_line(&self) -> bool {
        self.line.load(Relaxed)
    }

    /// Another device on the legacy line interrupts.
    pub fn neighbour_interrupts(&self) {
        self.raise(0);
    }

    /// While a port is opened before the agents start, hundreds of registers are set that no rule
    /// asks for.
    pub(crate) fn set_quiet(&self, quiet: bool) {
        self.quiet.store(quiet, Relaxed);
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.load(Relaxed)
    }

    /// Does queued work, unless it was cancelled meanwhile.
    pub(crate) fn run_work(&self, body: impl FnOnce()) {
        self.work_running.store(1, Relaxed);
        let queued = |w: u32| (w & WORK != 0).then_some(w & !WORK);
        if self.work.update(AcqRel, queued).is_ok() {
            body();
        }
        self.work_running.store(0, Release);
    }

    pub(super) fn post(&self, write: Posted, order: Ordering) {
        let value = write.value;
        emit(Event::MmioWrite { bar: write.bar, offset: write.offset, value });
        // Part of the same step: nobody can run between.
        let number = (self.posted.fetch_add(1, order) & !STOP) as usize;
        if number >= self.posted_max {
            let why = "more register writes than the scenario allows";
            fault("BENCH-BOUND", why.into(), Location::caller());
        }
        lock(&self.writes).insert(number, write);
    }

    /// The posted write with a number, if it is there.
    pub(crate) fn posted_write(&self, number: usize) -> Option<Posted> {
        let counted = (self.posted.load(Acquire) & !STOP) as usize;
        if number >= counted {
            return None;
        }
        lock(&self.writes).get(&number).copied()
    }

    /// Ends the posted queue: the doorbell agent stops there.
    pub(crate) fn end_posted(&self) {
        self.posted.fetch_or(STOP, Release);
    }

    /// The device sends an MSI-X message.
    pub(crate) fn send_msix(&self, vector: u32) {
        let _step = irq::hold();
        // A device that has a table itself sends what that lets through.
        let delivered = self.owns_msix() || self.msix.lock().send(vector);
        if delivered {
            self.raise(vector);
        }
    }

    pub(super) fn raise(&self, vector: u32) {
        let Some(to) = self.vectors.get(vector as usize) else { return };
        let cpu = to.affinity.load(Relaxed) as usize;
        if let Some(pending) = self.pending.get(cpu) {
            pending.fetch_or(1 << vector, Release);
        }
    }

    /// Binds a vector to a CPU.
    pub fn set_affinity(&self, vector: u32, cpu: u32) {
        if let Some(vector) = self.vectors.get(vector as usize) {
            vector.affinity.store(cpu, Relaxed);
        }
    }

    /// Runs a timer that fired, unless it was cancelled meanwhile.
    pub(crate) fn run_timer(&self, timer: u32, callback: impl FnOnce()) {
        let Some(bit) = timer_bit(timer) else { return };
        let _running = self.timer_running.lock();
        let step = irq::hold();
        let mut live = self.live.lock();
        let wanted = *live & bit != 0;
        *live &= !bit;
        drop(live);
        drop(step);
        if wanted {
            cpu::in_softirq(callback);
        }
    }

    /// Runs the handler of a vector on this CPU.
    pub(crate) fn run_handler(&self, vector: u32) {
        let Some(entry) = self.vectors.get(vector as usize) else { return };
        let _running = entry.running.lock();
        let handler = lock(&entry.handler).clone();
        let Some(handler) = handler else { return };
        let is_line = self.has_line();
        emit(Event::Irq { vector: if is_line { INTX } else { vector } });
        cpu::in_hardirq(|| handler());
        // A level that stays interrupts again.
        if is_line && self.registers().is_some_and(|device| device.line()) {
            self.raise(vector);
        }
    }
}

/// Bit of a timer, if there is room for it.
pub(super) fn timer_bit(timer: u32) -> Option<u32> {
    let mut index = TIMER_BIT;
    for (first, count) in TIMERS {
        match timer.checked_sub(first) {
            Some(nth) if nth < count => return Some(1 << (index + nth)),
            _ => index += count,
        }
    }
    None
}

/// Timers whose bits are set, lowest bit first.
pub(crate) fn timers_of(bits: u32) -> impl Iterator<Item = u32> {
    let all = TIMERS.into_iter().flat_map(|(first, count)| first..first + count);
    all.enumerate().filter(move |(n, _)| bits >> (TIMER_BIT + *n as u32) & 1 != 0).map(|(_, t)| t)
}

/// Loads a word of the pending set, for agents.
pub(crate) fn take_pending(word: &AtomicU32) -> u32 {
    word.wait(Acquire, |p| p != 0);
    word.swap(0, AcqRel)
}
