//! shuttle behind the types of sync.

use crate::cell::atomic_cell;
use crate::outcome::{AtEnd, Config, Outcome, Verdict};
use crate::run;
use crate::token::{Recorded, Token};
use ::shuttle as s;
use pollproof_sync::engine::{
    enter, AtomicCell, Engine, Loc, LockCell, Ordering, PlainCell, RmwOp, Width,
};
use pollproof_sync::What;
use s::future::batch_semaphore::{BatchSemaphore, Fairness};
use s::rand::Rng;
use s::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler, UrwRandomScheduler};
use s::sync::atomic::{AtomicU32, AtomicU64};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

/// How schedules are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Each step a thread at random.
    Random,
    /// Threads weighted by the steps they have left: finds rare orders far sooner.
    Urw,
    /// Random priorities with so many changes; 3 to 5 is useful, 2 found nothing.
    Pct(usize),
}

#[derive(Default)]
struct Shuttle {
    handles: RefCell<Vec<Option<s::thread::JoinHandle<()>>>>,
    ids: RefCell<Vec<Option<s::thread::ThreadId>>>,
}

impl Shuttle {
    fn born(&self, thread: usize) {
        let mut ids = self.ids.borrow_mut();
        let len = ids.len().max(thread + 1);
        ids.resize(len, None);
        ids[thread] = Some(s::thread::current().id());
    }
}

thread_local! {
    static ME: RefCell<Option<Rc<Shuttle>>> = const { RefCell::new(None) };
}

/// Number of the running thread.
fn me() -> usize {
    if unwinding() {
        return 0;
    }
    ME.with(|m| {
        let m = m.borrow();
        let Some(engine) = m.as_ref() else { return 0 };
        let ids = engine.ids.borrow();
        if ids.is_empty() {
            return 0;
        }
        let id = s::thread::current().id();
        ids.iter().position(|i| *i == Some(id)).unwrap_or(0)
    })
}

fn unwinding() -> bool {
    std::thread::panicking()
}

fn give_way() {
    s::thread::yield_now();
}

atomic_cell!(Atomic32, AtomicU32, u32);
atomic_cell!(Atomic64, AtomicU64, u64);

/// shuttle sees no races, so a plain cell is nothing.
struct Plain;

impl PlainCell for Plain {
    fn read(&self, _at: Loc) {}
    fn write(&self, _at: Loc) {}
}

/// What shuttle's own mutex is made of; needs no place for a guard.
struct Lock {
    turn: BatchSemaphore,
    object: u32,
}

impl LockCell for Lock {
    fn lock(&self, at: Loc) {
        // It is never closed, so taking it cannot fail.
        if !unwinding() && self.turn.acquire_blocking(1).is_ok() {
            run::step(me(), "lock", self.object, 0, at);
        }
    }
    fn unlock(&self, at: Loc) {
        if !unwinding() {
            self.turn.release(1);
            run::step(me(), "unlock", self.object, 0, at);
        }
    }
}

struct Shared(Rc<Shuttle>);

impl Engine for Shared {
    fn name(&self) -> &'static str {
        "shuttle"
    }
    fn atomic(&self, init: u64, width: Width, _at: Loc) -> Box<dyn AtomicCell> {
        let object = run::new_object();
        match width {
            Width::W32 => Box::new(Atomic32 { cell: AtomicU32::new(init as u32), object }),
            Width::W64 => Box::new(Atomic64 { cell: AtomicU64::new(init), object }),
        }
    }
    fn plain(&self, _what: What, _at: Loc) -> Box<dyn PlainCell> {
        Box::new(Plain)
    }
    fn lock(&self, _at: Loc) -> Box<dyn LockCell> {
        let turn = BatchSemaphore::new(1, Fairness::Unfair);
        Box::new(Lock { turn, object: run::new_object() })
    }
    fn fence(&self, _order: Ordering, _at: Loc) {
        // Values are sequentially consistent already.
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
        let child = move || {
            ME.with(|m| {
                if let Some(engine) = m.borrow().as_ref() {
                    engine.born(thread);
                }
            });
            body();
        };
        let handle = s::thread::spawn(child);
        let mut handles = self.0.handles.borrow_mut();
        let len = handles.len().max(thread + 1);
        handles.resize_with(len, || None);
        handles[thread] = Some(handle);
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
            s::thread::yield_now();
        }
    }
    fn choose(&self, n: usize, _at: Loc) -> usize {
        if n < 2 || unwinding() {
            return 0;
        }
        s::rand::thread_rng().gen_range(0..n)
    }
    fn step(&self) -> u64 {
        run::steps()
    }
}

/// Runs `iterations` executions of `program` under shuttle. Values are sequentially consistent and
/// races on plain cells are not seen; a wait that nobody satisfies runs into the limit of steps,
/// which is unknown and not a deadlock.
pub fn check_shuttle(
    cfg: &Config,
    walk: Walk,
    iterations: u64,
    seed: u64,
    program: impl Fn() + 'static,
    at_end: AtEnd,
) -> Outcome {
    let n = usize::try_from(iterations).unwrap_or(usize::MAX);
    let inner: Box<dyn Scheduler> = match walk {
        Walk::Random => Box::new(RandomScheduler::new_from_seed(seed, n)),
        Walk::Urw => Box::new(UrwRandomScheduler::new_from_seed(seed, n)),
        Walk::Pct(depth) => Box::new(PctScheduler::new_from_seed(seed, depth.max(1), n)),
    };
    let verdict = Verdict::Sampled { n: iterations, seed };
    let mut outcome = drive(cfg, inner, verdict, program, at_end);
    if let Verdict::Sampled { n, .. } = &mut outcome.verdict {
        *n = outcome.executions;
    }
    outcome
}

/// Runs the one execution of a schedule that [`check_shuttle`] gave with a finding.
pub fn replay_shuttle(
    cfg: &Config,
    schedule: &str,
    program: impl Fn() + 'static,
    at_end: AtEnd,
) -> Result<Outcome, String> {
    let schedule = Token::parse(schedule)?;
    let inner = Box::new(ReplayScheduler::new_from_schedule(schedule));
    Ok(drive(cfg, inner, Verdict::Bounded("one schedule".into()), program, at_end))
}

fn drive(
    cfg: &Config,
    inner: Box<dyn Scheduler>,
    verdict: Verdict,
    program: impl Fn() + 'static,
    at_end: AtEnd,
) -> Outcome {
    settle_panics();
    let token = Rc::new(RefCell::new(Token::default()));
    let scheduler = Recorded { inner, token: Rc::clone(&token) };
    let config = config(cfg.max_steps);
    let engine = Rc::new(Shuttle::default());
    let shared = Rc::new(Shared(Rc::clone(&engine)));
    let outer = ME.with(|m| m.borrow_mut().replace(engine));
    let mut outcome = run::drive("shuttle", cfg, Rc::new(program), at_end, verdict, || {
        enter(shared, || s::Runner::new(scheduler, config).run(execution));
    });
    ME.with(|m| *m.borrow_mut() = outer);
    if let Some(finding) = &mut outcome.finding {
        finding.schedule = Some(token.borrow().print());
    }
    outcome
}

fn config(max_steps: usize) -> s::Config {
    let mut config = s::Config::new();
    config.stack_size = 256 * 1024;
    config.failure_persistence = s::FailurePersistence::None;
    config.max_steps = s::MaxSteps::FailAfter(max_steps);
    config.silence_warnings = true;
    config
}

fn execution() {
    ME.with(|m| {
        if let Some(engine) = m.borrow().as_ref() {
            engine.ids.borrow_mut().clear();
            engine.handles.borrow_mut().clear();
            engine.born(0);
        }
    });
    run::execution();
}

/// shuttle puts a panic hook in place once that prints at every later panic of the process. Lets
/// it do so around nothing, and puts the hook back that was there. Call it before there are several
/// threads: a hook that another one sets meanwhile would be lost.
pub fn settle_panics() {
    drop(pollproof_explore::quiet::Scope::enter());
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| {
        let hook = std::panic::take_hook();
        s::Runner::new(RandomScheduler::new_from_seed(0, 1), config(100)).run(|| {});
        drop(std::panic::take_hook());
        std::panic::set_hook(hook);
    });
}
