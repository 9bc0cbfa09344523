//! shuttle behind the types of sync.

use crate::outcome::{AtEnd, Config, Outcome, Verdict};
use crate::run;
use ::shuttle as s;
use pollproof_sync::engine::{
    enter, AtomicCell, Engine, Loc, LockCell, Ordering, PlainCell, RmwOp, Width,
};
use pollproof_sync::What;
use s::rand::Rng;
use s::scheduler::{
    PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task, TaskId,
    UrwRandomScheduler,
};
use s::sync::atomic::{AtomicU32, AtomicU64};
use std::cell::RefCell;
use std::fmt::Write;
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

/// Calls of a thread that unwinds do nothing.
fn unwinding() -> bool {
    std::thread::panicking()
}

macro_rules! atomic {
    ($name:ident, $shuttle:ty, $word:ty) => {
        struct $name {
            cell: $shuttle,
            object: u32,
        }

        impl $name {
            fn note(&self, kind: &'static str, value: $word, at: Loc) {
                run::step(me(), kind, self.object, u64::from(value), at);
            }
        }

        impl AtomicCell for $name {
            fn load(&self, order: Ordering, at: Loc) -> u64 {
                if unwinding() {
                    return 0;
                }
                let value = self.cell.load(order);
                self.note("load", value, at);
                u64::from(value)
            }
            fn store(&self, value: u64, order: Ordering, at: Loc) {
                if !unwinding() {
                    self.cell.store(value as $word, order);
                    self.note("store", value as $word, at);
                }
            }
            fn rmw(&self, op: RmwOp, operand: u64, order: Ordering, at: Loc) -> u64 {
                if unwinding() {
                    return 0;
                }
                let operand = operand as $word;
                let before = match op {
                    RmwOp::Swap => self.cell.swap(operand, order),
                    RmwOp::Add => self.cell.fetch_add(operand, order),
                    RmwOp::Sub => self.cell.fetch_sub(operand, order),
                    RmwOp::And => self.cell.fetch_and(operand, order),
                    RmwOp::Or => self.cell.fetch_or(operand, order),
                };
                self.note("rmw of", before, at);
                u64::from(before)
            }
            fn compare_exchange(
                &self,
                current: u64,
                new: u64,
                success: Ordering,
                failure: Ordering,
                at: Loc,
            ) -> Result<u64, u64> {
                if unwinding() {
                    return Err(0);
                }
                let (current, new) = (current as $word, new as $word);
                let result = self.cell.compare_exchange(current, new, success, failure);
                match result {
                    Ok(_) => self.note("cas to", new, at),
                    Err(seen) => self.note("cas failed at", seen, at),
                }
                result.map(u64::from).map_err(u64::from)
            }
            fn update(
                &self,
                next: &mut dyn FnMut(u64) -> Option<u64>,
                order: Ordering,
                at: Loc,
            ) -> Result<u64, u64> {
                if unwinding() {
                    return Err(0);
                }
                let next = |v| next(u64::from(v)).map(|new| new as $word);
                let result = self.cell.fetch_update(order, Ordering::Relaxed, next);
                match result {
                    Ok(before) => self.note("update of", before, at),
                    Err(seen) => self.note("update refused", seen, at),
                }
                result.map(u64::from).map_err(u64::from)
            }
            fn wait(&self, ready: &dyn Fn(u64) -> bool, order: Ordering, at: Loc) -> u64 {
                loop {
                    if unwinding() {
                        return 0;
                    }
                    let value = self.cell.load(order);
                    if ready(u64::from(value)) {
                        self.note("wait", value, at);
                        return u64::from(value);
                    }
                    s::thread::yield_now();
                }
            }
        }
    };
}

atomic!(Atomic32, AtomicU32, u32);
atomic!(Atomic64, AtomicU64, u64);

/// shuttle sees no races, so a plain cell is nothing.
struct Plain;

impl PlainCell for Plain {
    fn read(&self, _at: Loc) {}
    fn write(&self, _at: Loc) {}
}

/// A lock as a flag and the wish to be woken: threads that find it held yield.
struct Lock {
    semaphore: s::sync::Mutex<bool>,
    free: s::sync::Condvar,
    object: u32,
}

impl LockCell for Lock {
    fn lock(&self, at: Loc) {
        if unwinding() {
            return;
        }
        let mut held = self.semaphore.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while *held {
            held = self.free.wait(held).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        *held = true;
        drop(held);
        run::step(me(), "lock", self.object, 0, at);
    }
    fn unlock(&self, at: Loc) {
        if unwinding() {
            return;
        }
        *self.semaphore.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = false;
        self.free.notify_one();
        run::step(me(), "unlock", self.object, 0, at);
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
        Box::new(Lock {
            semaphore: s::sync::Mutex::new(false),
            free: s::sync::Condvar::new(),
            object: run::new_object(),
        })
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

/// Keeps the schedule of the present execution, which shuttle itself only prints.
struct Recorded {
    inner: Box<dyn Scheduler>,
    token: Rc<RefCell<Token>>,
}

/// A schedule as we print it: seed of the random data, then runs of tasks, `r` for random data.
#[derive(Default)]
struct Token {
    seed: u64,
    picks: Vec<Option<usize>>,
}

impl Scheduler for Recorded {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.inner.new_execution()?;
        let mut token = self.token.borrow_mut();
        token.seed = schedule.seed;
        token.picks.clear();
        Some(schedule)
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yielding: bool,
    ) -> Option<TaskId> {
        let task = self.inner.next_task(runnable, current, yielding)?;
        self.token.borrow_mut().picks.push(Some(task.into()));
        Some(task)
    }

    fn next_u64(&mut self) -> u64 {
        self.token.borrow_mut().picks.push(None);
        self.inner.next_u64()
    }
}

impl Token {
    fn print(&self) -> String {
        let mut text = format!("{:x}:", self.seed);
        let mut rest = self.picks.as_slice();
        while let Some(&pick) = rest.first() {
            let run = rest.iter().take_while(|&&p| p == pick).count();
            let dot = if text.ends_with(':') { "" } else { "." };
            let what = pick.map_or("r".into(), |task| task.to_string());
            // Writing to a string cannot fail.
            let _ = match run {
                1 => write!(text, "{dot}{what}"),
                _ => write!(text, "{dot}{what}x{run}"),
            };
            rest = &rest[run..];
        }
        text
    }

    fn parse(token: &str) -> Result<Schedule, String> {
        const PICKS_MAX: usize = 1_000_000;
        let (seed, picks) = token.split_once(':').ok_or("no `:` after the seed")?;
        let seed = u64::from_str_radix(seed, 16).map_err(|_| format!("`{seed}` is no seed"))?;
        let mut schedule = Schedule::new(seed);
        for part in picks.split('.').filter(|p| !p.is_empty()) {
            let (what, run) = part.split_once('x').unwrap_or((part, "1"));
            let run: usize = run.parse().map_err(|_| format!("`{run}` is no count"))?;
            if run > PICKS_MAX - schedule.len().min(PICKS_MAX) {
                return Err(format!("more than {PICKS_MAX} picks"));
            }
            for _ in 0..run {
                match what {
                    "r" => schedule.push_random(),
                    task => {
                        let task = task.parse().map_err(|_| format!("`{task}` is no task"))?;
                        schedule.push_task(TaskId::from(task_below(task)?));
                    }
                }
            }
        }
        Ok(schedule)
    }
}

fn task_below(task: usize) -> Result<usize, String> {
    const TASKS_MAX: usize = 10_000;
    if task < TASKS_MAX {
        Ok(task)
    } else {
        Err(format!("task {task} is above {TASKS_MAX}"))
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
    settle_hook();
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
/// it do so around nothing, and puts the hook back that was there.
fn settle_hook() {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| {
        let hook = std::panic::take_hook();
        s::Runner::new(RandomScheduler::new_from_seed(0, 1), config(100)).run(|| {});
        drop(std::panic::take_hook());
        std::panic::set_hook(hook);
    });
}
