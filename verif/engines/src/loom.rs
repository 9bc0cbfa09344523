//! loom behind the types of sync.

use crate::cell::atomic_cell;
use crate::outcome::{AtEnd, Config, Outcome, Verdict};
use crate::run;
use ::loom as l;
use corosensei::on_stack;
use corosensei::stack::DefaultStack;
use l::sync::atomic::{AtomicU32, AtomicU64};
use pollproof_sync::engine::{
    enter, AtomicCell, Engine, Loc, LockCell, Ordering, PlainCell, RmwOp, Width,
};
use pollproof_sync::What;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Mutex;

/// Threads of one execution, the first included.
const THREADS_MAX: usize = 5;
/// Bytes of stack of each thread.
const STACK_BYTES: usize = 256 * 1024;

#[derive(Default)]
struct Loom {
    ids: RefCell<Vec<Option<l::thread::ThreadId>>>,
    handles: RefCell<Vec<Option<l::thread::JoinHandle<()>>>>,
    chose: Rc<Cell<bool>>,
}

thread_local! {
    static ME: RefCell<Option<Rc<Loom>>> = const { RefCell::new(None) };
}

fn with_engine<R>(f: impl FnOnce(&Loom) -> R) -> Option<R> {
    ME.with(|m| m.borrow().as_deref().map(f))
}

/// Number of the running thread.
fn me() -> usize {
    if unwinding() {
        return 0;
    }
    with_engine(Loom::number).unwrap_or(0)
}

impl Loom {
    fn number(&self) -> usize {
        let ids = self.ids.borrow();
        if ids.is_empty() {
            return 0;
        }
        let id = l::thread::current().id();
        ids.iter().position(|i| *i == Some(id)).unwrap_or(0)
    }

    fn begin(&self) {
        self.ids.borrow_mut().clear();
        self.handles.borrow_mut().clear();
    }

    fn born(&self, thread: usize) {
        let id = l::thread::current().id();
        let mut ids = self.ids.borrow_mut();
        let len = ids.len().max(thread + 1);
        ids.resize(len, None);
        ids[thread] = Some(id);
    }
}

fn unwinding() -> bool {
    std::thread::panicking()
}

fn give_way() {
    l::thread::yield_now();
}

atomic_cell!(Atomic32, AtomicU32, u32);
atomic_cell!(Atomic64, AtomicU64, u64);

struct Plain {
    cell: l::cell::UnsafeCell<()>,
    what: What,
}

// SAFETY: there is no data in the cell, and loom keeps its bookkeeping in its own scheduler, which
// runs every thread of a model on one OS thread.
#[allow(unsafe_code)]
unsafe impl Sync for Plain {}

impl PlainCell for Plain {
    fn read(&self, at: Loc) {
        if !unwinding() {
            run::touching(Some((self.what, at)));
            self.cell.with(|_| ());
        }
    }
    fn write(&self, at: Loc) {
        if !unwinding() {
            run::touching(Some((self.what, at)));
            self.cell.with_mut(|_| ());
        }
    }
}

/// A mutex of loom whose guard is kept beside it.
struct Lock {
    guard: Cell<Option<l::sync::MutexGuard<'static, ()>>>,
    /// From a box, so that guards do not borrow from what moves.
    mutex: *mut l::sync::Mutex<()>,
    object: u32,
}

// SAFETY: loom runs every thread of a model on one OS thread, and the guard is put there and taken
// by the thread that holds the mutex.
#[allow(unsafe_code)]
unsafe impl Send for Lock {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Lock {}

impl Lock {
    fn new() -> Self {
        let mutex = Box::into_raw(Box::new(l::sync::Mutex::new(())));
        Self { guard: Cell::new(None), mutex, object: run::new_object() }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            // Held at the end: the execution failed, and loom may be gone already.
            std::mem::forget(guard);
            return;
        }
        // SAFETY: `new` made it from a box, and no guard is alive.
        #[allow(unsafe_code)]
        drop(unsafe { Box::from_raw(self.mutex) });
    }
}

impl LockCell for Lock {
    fn lock(&self, at: Loc) {
        if unwinding() {
            return;
        }
        // SAFETY: the box lives until `drop`, which lets no guard outlive it.
        #[allow(unsafe_code)]
        let mutex: &'static l::sync::Mutex<()> = unsafe { &*self.mutex };
        if let Ok(guard) = mutex.lock() {
            self.guard.set(Some(guard));
        }
        run::step(me(), "lock", self.object, 0, at);
    }
    fn unlock(&self, at: Loc) {
        let guard = self.guard.take();
        if unwinding() {
            std::mem::forget(guard);
            return;
        }
        drop(guard);
        run::step(me(), "unlock", self.object, 0, at);
    }
}

/// What the run enters; shared with [`ME`].
struct Shared(Rc<Loom>);

impl Engine for Shared {
    fn name(&self) -> &'static str {
        "loom"
    }
    fn atomic(&self, init: u64, width: Width, _at: Loc) -> Box<dyn AtomicCell> {
        let object = run::new_object();
        match width {
            Width::W32 => Box::new(Atomic32 { cell: AtomicU32::new(init as u32), object }),
            Width::W64 => Box::new(Atomic64 { cell: AtomicU64::new(init), object }),
        }
    }
    fn plain(&self, what: What, _at: Loc) -> Box<dyn PlainCell> {
        Box::new(Plain { cell: l::cell::UnsafeCell::new(()), what })
    }
    fn lock(&self, _at: Loc) -> Box<dyn LockCell> {
        Box::new(Lock::new())
    }
    fn fence(&self, order: Ordering, _at: Loc) {
        if order != Ordering::Relaxed && !unwinding() {
            l::sync::atomic::fence(order);
        }
    }
    fn spawn(&self, body: Box<dyn FnOnce() + Send>, _at: Loc) -> usize {
        if unwinding() {
            return 0;
        }
        let thread = run::with(|r| {
            r.threads += 1;
            r.threads - 1
        })
        .unwrap_or(0);
        if thread >= THREADS_MAX {
            run::cut(format!("loom has room for {THREADS_MAX} threads"));
        }
        let child = move || {
            with_engine(|engine| engine.born(thread));
            body();
        };
        let handle =
            l::thread::Builder::new().stack_size(STACK_BYTES / size_of::<usize>()).spawn(child);
        let mut handles = self.0.handles.borrow_mut();
        let len = handles.len().max(thread + 1);
        handles.resize_with(len, || None);
        handles[thread] = handle.ok();
        thread
    }
    fn join(&self, thread: usize, at: Loc) {
        let handle = self.0.handles.borrow_mut().get_mut(thread).and_then(Option::take);
        if let (Some(handle), false) = (handle, unwinding()) {
            let _ = handle.join();
            run::step(me(), "join", thread as u32, 0, at);
        }
    }
    fn thread(&self) -> usize {
        me()
    }
    fn yield_now(&self, _at: Loc) {
        if !unwinding() {
            l::thread::yield_now();
        }
    }
    fn choose(&self, n: usize, _at: Loc) -> usize {
        self.0.chose.set(self.0.chose.get() || n > 1);
        0
    }
    fn step(&self) -> u64 {
        run::steps()
    }
}

/// Runs `program` under loom: C11 with stale reads, at most 5 threads.
///
/// A pass here is no proof. loom 0.7.3 keeps one last access per atomic, so that a thread's own
/// earlier load can hide the race of its store with another thread's earlier load, and then some
/// executions are never run. It has no load buffering, and its SeqCst accesses are acquire and
/// release: full barriers must be fences, as those of sync are. It cannot choose: a program that
/// asks for a choice gets 0 and the verdict is bounded. A wait that nobody satisfies runs into the
/// limit of steps, which is unknown and not a deadlock.
pub fn check_loom(cfg: &Config, program: impl Fn() + 'static, at_end: AtEnd) -> Outcome {
    let mut builder = l::model::Builder::new();
    builder.max_threads = THREADS_MAX;
    builder.max_branches = cfg.max_steps;
    builder.preemption_bound = cfg.preemption_bound.map(|b| b as usize);
    // loom returns from its own limits as if it had passed, so they are off; `run` has others.
    (builder.max_permutations, builder.max_duration) = (None, None);
    (builder.checkpoint_file, builder.log, builder.location) = (None, false, false);
    builder.expect_explicit_explore = false;
    let verdict = match cfg.preemption_bound {
        None => Verdict::Exhaustive,
        Some(bound) => Verdict::Bounded(format!("at most {bound} preemptions")),
    };
    let Ok(stack) = DefaultStack::new(STACK_BYTES).map(Mutex::new) else {
        return Outcome::new("loom", Verdict::Unknown("no memory for a stack".into()));
    };
    let engine = Rc::new(Loom::default());
    let shared = Rc::new(Shared(Rc::clone(&engine)));
    let outer = ME.with(|m| m.borrow_mut().replace(Rc::clone(&engine)));
    let mut outcome = run::drive("loom", cfg, Rc::new(program), at_end, verdict, || {
        enter(shared, || builder.check(move || execution(&stack)));
    });
    ME.with(|m| *m.borrow_mut() = outer);
    if engine.chose.get() && !matches!(outcome.verdict, Verdict::Unknown(_)) {
        outcome.verdict = Verdict::Bounded("every choice is 0".into());
    }
    outcome
}

/// One execution. loom gives its first thread 32 KiB of stack, which formatting a message can
/// already overrun, so the program runs on a stack of our own.
fn execution(stack: &Mutex<DefaultStack>) {
    with_engine(|engine| {
        engine.begin();
        engine.born(0);
    });
    match stack.try_lock() {
        Ok(mut stack) => on_stack(&mut *stack, run::execution),
        Err(_) => run::execution(),
    }
}
