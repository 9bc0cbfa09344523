//! The host of explored runs: kapi on shared memory, posted writes, interrupts and timers as words
//! whose order an engine chooses.
//!
//! A register write is posted: counted in one step, taken by the doorbell agent in a later one.
//! An MSI-X message sets a bit in the pending word of the CPU that the vector is bound to. A
//! timer may fire whenever it is armed. The clock stands still, but for the thread that waits by
//! looking at it.

use pollproof_events::{emit, Event};
use pollproof_hostmem::{AreaLayout, SharedMem};
use pollproof_kapi::{self as kapi, DmaAddr, Layout, NoMemory};
use pollproof_pcie::MsixTable;
use pollproof_sync::engine::Loc;
use pollproof_sync::switch::fault;
use pollproof_sync::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use pollproof_sync::{cpu, irq, thread, AtomicU32, SpinLock};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// Vectors of the function.
pub(crate) const VECTORS: u32 = 8;
/// First bit of the pending word that stands for a timer.
pub(crate) const TIMER_BIT: u32 = 16;
/// Timers: four of NAPI contexts, then four retries of a refill.
const TIMERS: u32 = 8;
/// The CPU, or another agent, stops.
pub(crate) const STOP: u32 = 1 << 31;

/// What a round of a loop that looks at the clock takes.
const SPIN_NS: u64 = 1_024;

/// One register write on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub bar: u8,
    pub offset: u64,
    pub value: u64,
    pub wide: bool,
}

struct Vector {
    handler: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// Held while the handler runs; taken and dropped by `synchronize_irq`.
    running: SpinLock<()>,
    affinity: AtomicU32,
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
    msix: SpinLock<MsixTable>,
    vectors: Vec<Vector>,
    /// Pending interrupts and timers of each CPU.
    pub(crate) pending: Vec<AtomicU32>,
    /// Armed timers.
    pub(crate) armed: AtomicU32,
    /// Timers that were started and neither ran nor were cancelled.
    live: SpinLock<u32>,
    /// Held while a timer's callback runs.
    timer_running: SpinLock<()>,
    /// Time that each thread spent in loops that look at the clock: its own, so that nobody's
    /// depends on who ran first.
    spun: Mutex<BTreeMap<usize, u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
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
            msix: SpinLock::unwatched(MsixTable::new(VECTORS)),
            vectors: (0..VECTORS).map(|_| vector()).collect(),
            pending: (0..cpus).map(|_| AtomicU32::new(0)).collect(),
            armed: AtomicU32::new(0),
            live: SpinLock::unwatched(0),
            timer_running: SpinLock::unwatched(()),
            spun: Mutex::default(),
        })
    }

    fn post(&self, write: Posted, order: Ordering) {
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
        let delivered = self.msix.lock().send(vector);
        if delivered {
            self.raise(vector);
        }
    }

    fn raise(&self, vector: u32) {
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
        emit(Event::Irq { vector });
        cpu::in_hardirq(|| handler());
    }
}

/// Bit of a timer, if the scenario has room for it.
fn timer_bit(timer: u32) -> Option<u32> {
    let index = match timer.checked_sub(pollproof_mlx4::FIRST_OOM_TIMER) {
        Some(queue) => TIMERS / 2 + queue,
        None => timer,
    };
    (index < TIMERS).then_some(1 << (TIMER_BIT + index))
}

/// Number of the timer that a bit stands for.
pub(crate) fn timer_of(index: u32) -> u32 {
    match index.checked_sub(TIMERS / 2) {
        Some(queue) => pollproof_mlx4::FIRST_OOM_TIMER + queue,
        None => index,
    }
}

impl kapi::Mmio for ExploredHost {
    fn write32(&self, bar: u8, offset: u64, value: u32) {
        // As writel: ordered after all that the CPU did before.
        self.post(Posted { bar, offset, value: value.into(), wide: false }, Release);
    }

    fn write64(&self, bar: u8, offset: u64, value: u64) {
        self.post(Posted { bar, offset, value, wide: true }, Relaxed);
    }

    fn read32(&self, bar: u8, offset: u64) -> u32 {
        emit(Event::MmioRead { bar, offset, value: 0 });
        0
    }
}

impl kapi::Dma for ExploredHost {
    fn alloc_coherent(&self, len: usize, layout: Layout) -> Result<DmaAddr, NoMemory> {
        let layout = AreaLayout {
            name: layout.name,
            rule: layout.rule,
            stride_bytes: layout.stride_bytes,
            marked: layout.marked,
        };
        self.mem.alloc_coherent(len, layout).map_err(|_| NoMemory)
    }

    fn free_coherent(&self, addr: DmaAddr) {
        self.mem.free_coherent(addr);
    }

    fn load32_at(&self, addr: DmaAddr, order: Ordering, at: Loc) -> u32 {
        self.mem.load32(addr, order, at)
    }

    fn store32_at(&self, addr: DmaAddr, value: u32, order: Ordering, at: Loc) {
        self.mem.store32(addr, value, order, at);
    }

    fn read32_at(&self, addr: DmaAddr, at: Loc) -> u32 {
        self.mem.read32(addr, at)
    }

    fn write32_at(&self, addr: DmaAddr, value: u32, at: Loc) {
        self.mem.write32(addr, value, at);
    }

    fn alloc_buf(&self) -> Result<DmaAddr, NoMemory> {
        self.mem.alloc_buf().map_err(|_| NoMemory)
    }

    fn free_buf(&self, buf: DmaAddr) {
        self.mem.free_buf(buf);
    }

    fn map_buf(&self, buf: DmaAddr) {
        self.mem.map_buf(buf);
    }

    fn unmap_buf(&self, buf: DmaAddr) {
        self.mem.unmap_buf(buf);
    }

    fn hand_up(&self, buf: DmaAddr) {
        self.mem.hand_up(buf);
    }

    fn read_buf(&self, buf: DmaAddr, offset: usize, into: &mut [u8]) {
        self.mem.read_buf(buf, offset, into);
    }

    fn buf_len(&self) -> usize {
        self.mem.buf_len()
    }
}

impl kapi::Irq for ExploredHost {
    fn request(&self, vector: u32, handler: Arc<dyn Fn() + Send + Sync>) {
        if let Some(entry) = self.vectors.get(vector as usize) {
            *lock(&entry.handler) = Some(handler);
        }
    }

    fn free(&self, vector: u32) {
        self.synchronize(vector);
        if let Some(entry) = self.vectors.get(vector as usize) {
            *lock(&entry.handler) = None;
        }
    }

    fn mask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: true });
        let _step = irq::hold();
        self.msix.lock().mask(vector);
    }

    fn unmask(&self, vector: u32) {
        emit(Event::IrqMask { vector, masked: false });
        let _step = irq::hold();
        let sent = self.msix.lock().unmask(vector);
        if sent {
            self.raise(vector);
        }
    }

    fn affinity(&self, vector: u32) -> u32 {
        self.vectors.get(vector as usize).map_or(0, |v| v.affinity.load(Relaxed))
    }

    fn synchronize(&self, vector: u32) {
        cpu::might_sleep("synchronize_irq");
        if let Some(entry) = self.vectors.get(vector as usize) {
            let _step = irq::hold();
            drop(entry.running.lock());
        }
    }
}

impl kapi::Clock for ExploredHost {
    fn now_ns(&self) -> u64 {
        lock(&self.spun).get(&thread::current()).copied().unwrap_or(0)
    }

    fn spin_round(&self) {
        *lock(&self.spun).entry(thread::current()).or_default() += SPIN_NS;
    }
}

impl kapi::Timer for ExploredHost {
    fn start(&self, timer: u32, _delay_ns: u64) {
        match timer_bit(timer) {
            Some(bit) => {
                let _step = irq::hold();
                *self.live.lock() |= bit;
                self.armed.fetch_or(bit, Release);
            }
            None => {
                fault("BENCH-BOUND", format!("timer {timer} is unknown"), Location::caller());
            }
        }
    }

    fn cancel(&self, timer: u32) -> bool {
        let Some(bit) = timer_bit(timer) else { return false };
        let _step = irq::hold();
        let mut live = self.live.lock();
        let was = *live & bit != 0;
        *live &= !bit;
        drop(live);
        if was {
            self.armed.fetch_and(!bit, AcqRel);
        }
        // No callback runs when this returns.
        drop(self.timer_running.lock());
        was
    }
}

/// Loads a word of the pending set, for agents.
pub(crate) fn take_pending(word: &AtomicU32) -> u32 {
    word.wait(Acquire, |p| p != 0);
    word.swap(0, AcqRel)
}
