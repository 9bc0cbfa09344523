//! Runs one execution: threads up to their next operation, then whoever the strategy picks.

use crate::coro::{self, Back, Coro, Resume, Stacks};
use crate::quiet;
use crate::rt::{with, STATE};
use crate::schedule::{Pick, Schedule};
use crate::state::{OpKind, State};
use crate::trace::{Blocked, End, Limit, Step, StepKind};
use crate::Config;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// What a strategy may go by.
pub(crate) struct View {
    /// Threads that can take a step, as bits.
    pub(crate) enabled: u16,
    /// Threads that asked others to go first.
    pub(crate) yielded: u16,
    /// Thread that took the last step.
    pub(crate) last: Option<usize>,
}

impl View {
    /// The thread that runs unless something speaks against it: the last one, else the lowest.
    pub(crate) fn default_of(&self, among: u16) -> usize {
        let eager = among & !self.yielded;
        let among = if eager == 0 { among } else { eager };
        match self.last {
            Some(last) if among >> last & 1 == 1 => last,
            _ => among.trailing_zeros() as usize,
        }
    }

    /// Whether running `thread` takes the turn from one that could have gone on.
    pub(crate) fn preempts(&self, thread: usize) -> bool {
        self.last.is_some_and(|last| last != thread && self.enabled >> last & 1 == 1)
    }
}

/// What a strategy says.
pub(crate) enum Turn {
    /// This thread takes its step.
    Run(usize),
    /// Every continuation is covered elsewhere.
    Redundant,
    /// The schedule does not fit.
    Diverged(String),
}

/// Who picks.
pub(crate) trait Strategy {
    /// Whether the next step looks for reversals. Asked before each.
    fn analyses(&self) -> bool {
        false
    }
    /// The next thread.
    fn pick(&mut self, view: &View) -> Turn;
    /// A number below `n`.
    fn choose(&mut self, n: usize) -> Result<usize, String>;
    /// Threads of which it asks whether the last step depends on their next one.
    fn asleep(&self) -> u16 {
        0
    }
    /// The answer. Called after each step.
    fn stepped(&mut self, woken: u16) {
        let _ = woken;
    }
}

/// How an execution came out.
pub(crate) enum Outcome {
    /// It ended; preemptions.
    Ended(End, u32),
    /// It was given up as redundant.
    Redundant,
}

/// Coroutines and stacks of a series of executions; puts back what it found when dropped.
pub(crate) struct Session<'a> {
    program: &'a dyn Fn(),
    coros: Vec<Option<Coro>>,
    stacks: Stacks,
    max_steps: usize,
    pub(crate) schedule: Schedule,
    outer: Option<(State, Box<dyn FnOnce()>)>,
    _no_graphs: crate::graph::Entered,
    _quiet: quiet::Scope,
}

impl<'a> Session<'a> {
    pub(crate) fn new(config: &Config, program: &'a dyn Fn()) -> Self {
        let max_threads = config.max_threads;
        let outer = STATE.with(|s| s.replace(State { max_threads, ..State::default() }));
        with(|s| s.run = outer.run);
        Self {
            program,
            coros: Vec::new(),
            stacks: Stacks::new(config.stack_size),
            max_steps: usize::try_from(config.max_steps).unwrap_or(usize::MAX),
            schedule: Schedule::default(),
            outer: Some((outer, Box::new(coro::save()))),
            _no_graphs: crate::graph::Entered::none(),
            _quiet: quiet::Scope::enter(),
        }
    }

    /// Runs one execution. [`Session::clear`] must follow.
    pub(crate) fn run(&mut self, strategy: &mut dyn Strategy) -> Outcome {
        with(State::begin);
        self.schedule.0.clear();
        let program = coro::erase(self.program);
        let mut preemptions = 0;
        let mut last = None;
        let begun = self.start(Box::new(program), strategy);
        if let Err(end) = begun.and_then(|()| self.start_newborn(strategy)) {
            return Outcome::Ended(end, preemptions);
        }
        loop {
            let view = match self.view(last) {
                Ok(view) => view,
                Err(end) => return Outcome::Ended(end, preemptions),
            };
            let thread = match strategy.pick(&view) {
                Turn::Run(thread) => thread,
                Turn::Redundant => return Outcome::Redundant,
                Turn::Diverged(why) => return Outcome::Ended(End::Diverged(why), preemptions),
            };
            preemptions += u32::from(view.preempts(thread));
            last = Some(thread);
            if let Err(end) = self.step(thread, strategy) {
                return Outcome::Ended(end, preemptions);
            }
        }
    }

    fn step(&mut self, thread: usize, strategy: &mut dyn Strategy) -> Result<(), End> {
        self.schedule.0.push(Pick::Thread(thread as u8));
        let analyse = strategy.analyses();
        with(|s| {
            s.analyse = analyse;
            s.threads.iter_mut().for_each(|t| t.yielded = false);
        });
        let result = self.advance(thread, strategy);
        let asleep = strategy.asleep();
        let woken = if asleep == 0 { 0 } else { self.dependent(asleep) };
        strategy.stepped(woken);
        result?;
        self.start_newborn(strategy)
    }

    fn start_newborn(&mut self, strategy: &mut dyn Strategy) -> Result<(), End> {
        loop {
            let newborn = with(|s| std::mem::take(&mut s.newborn));
            if newborn.is_empty() {
                return Ok(());
            }
            for body in newborn {
                self.start(body, strategy)?;
            }
        }
    }

    /// Starts the next thread and runs it up to its first operation.
    fn start(&mut self, body: Box<dyn FnOnce()>, strategy: &mut dyn Strategy) -> Result<(), End> {
        let thread = self.coros.len();
        let coro = self.stacks.start(Box::new(move || run_body(thread, body)));
        let Some(coro) = coro else { return Err(End::Limit(Limit::Threads)) };
        self.coros.push(Some(coro));
        self.advance(thread, strategy)
    }

    /// Runs `thread` through its present operation up to the next one.
    fn advance(&mut self, thread: usize, strategy: &mut dyn Strategy) -> Result<(), End> {
        loop {
            let back = self.resume(thread, Resume::Go, Some(thread));
            let (op, limit, panicked) = with(|s| {
                s.threads[thread].ended = back == Back::Ended;
                (s.threads[thread].op, s.limit, s.panicked.take())
            });
            if let Some((thread, message)) = panicked {
                return Err(End::Panicked { thread, message });
            }
            if let Some(limit) = limit {
                return Err(End::Limit(limit));
            }
            let OpKind::Choose(n) = op.kind else { return Ok(()) };
            if back == Back::Ended {
                return Ok(());
            }
            let value = strategy.choose(n).map_err(End::Diverged)?;
            self.schedule.0.push(Pick::Choice(value as u16));
            with(|s| s.answer = value);
        }
    }

    fn resume(&mut self, thread: usize, with_what: Resume, as_who: Option<usize>) -> Back {
        let Some(coro) = self.coros[thread].as_mut() else { return Back::Ended };
        with(|s| s.current = as_who);
        let back = coro.resume(with_what);
        with(|s| s.current = None);
        if back == Back::Ended {
            if let Some(coro) = self.coros[thread].take() {
                self.stacks.recycle(coro);
            }
        }
        back
    }

    /// Asks a parked thread about a value, outside the execution. A predicate that panics ends
    /// its thread, which the next look at the panic tells.
    fn probe(&mut self, thread: usize, value: u64) -> bool {
        self.resume(thread, Resume::Probe(value), None) == Back::Parked(true)
    }

    fn view(&mut self, last: Option<usize>) -> Result<View, End> {
        let (mut enabled, mut yielded, mut unknown, mut alive) = (0u16, 0u16, 0u16, 0u16);
        let steps = with(|s| {
            for (i, t) in s.threads.iter().enumerate().filter(|(_, t)| !t.ended) {
                alive |= 1 << i;
                yielded |= u16::from(t.yielded) << i;
                match s.readiness(i) {
                    Some(true) => enabled |= 1 << i,
                    Some(false) => {}
                    None => unknown |= 1 << i,
                }
            }
            s.steps.len()
        });
        for thread in bits(unknown) {
            let (value, writes) = with(|s| s.pending_value(thread));
            let ready = self.probe(thread, value);
            with(|s| s.threads[thread].probed = Some((writes, ready)));
            enabled |= u16::from(ready) << thread;
        }
        if let Some((thread, message)) = with(|s| s.panicked.take()) {
            return Err(End::Panicked { thread, message });
        }
        if alive == 0 {
            return Err(End::Complete);
        }
        if enabled == 0 {
            enabled = bits(alive)
                .filter(|&t| with(|s| s.threads[t].op.kind == OpKind::Rest))
                .fold(0, |all, t| all | 1 << t);
        }
        if enabled == 0 {
            return Err(End::Deadlock(bits(alive).map(blocked).collect()));
        }
        if steps >= self.max_steps {
            return Err(End::Limit(Limit::Steps));
        }
        Ok(View { enabled, yielded, last })
    }

    /// Which of `among` cannot change places with the last step.
    fn dependent(&mut self, among: u16) -> u16 {
        let Some(step) = with(|s| s.steps.last().copied()) else { return 0 };
        bits(among).filter(|&t| self.depends(t, &step)).fold(0, |all, t| all | 1 << t)
    }

    fn depends(&mut self, thread: usize, step: &Step) -> bool {
        let op = with(|s| s.threads[thread].op);
        let on_no_object = matches!(step.kind, StepKind::Join | StepKind::Rest)
            || matches!(op.kind, OpKind::Join | OpKind::Rest);
        if on_no_object || op.object != step.object {
            return false;
        }
        step.kind.writes()
            || match op.kind {
                OpKind::Write | OpKind::Lock => true,
                // The step did not write, so the value is the one that the thread would meet.
                OpKind::Cas(expected) => step.before == expected,
                OpKind::Update => self.probe(thread, step.before),
                _ => false,
            }
    }

    /// Looks for reversals of the operations that threads are blocked in at the end. Also when the
    /// execution was given up: what is covered elsewhere goes on from another prefix, where the
    /// same reversal is no help to this one.
    pub(crate) fn reverse_blocked(&mut self) {
        let disabled = with(|s| s.disabled());
        for thread in bits(disabled) {
            let op = with(|s| s.threads[thread].op);
            let writes: Vec<_> = with(|s| s.unknown_writes(thread, op.object).collect());
            let lock = op.kind == OpKind::Lock;
            let enabling =
                writes.into_iter().find(|w| if lock { w.1 == 0 } else { self.probe(thread, w.1) });
            with(|s| s.reverse_blocking(thread, enabling));
        }
    }

    /// Unwinds what is left of the execution: holders of locks first, so that a destructor which
    /// takes the lock of another library inside finds it free.
    pub(crate) fn clear(&mut self) {
        let (holders, busy) = with(|s| (s.holders(), self.coros.iter().any(Option::is_some)));
        if busy {
            with(|s| s.aborting = true);
            for thread in bits(holders).chain(0..self.coros.len()) {
                let Some(mut coro) = self.coros.get_mut(thread).and_then(Option::take) else {
                    continue;
                };
                // A destructor that panics has already been told of by nobody; the next execution
                // does not depend on it.
                let _ = catch_unwind(AssertUnwindSafe(|| coro.unwind()));
                self.stacks.recycle(coro);
            }
            with(|s| s.aborting = false);
        }
        self.coros.clear();
        with(|s| std::mem::take(&mut s.newborn));
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.clear();
        if let Some((mut outer, restore_yielder)) = self.outer.take() {
            outer.run = with(|s| s.run);
            STATE.with(|s| s.replace(outer));
            restore_yielder();
        }
    }
}

fn run_body(thread: usize, body: Box<dyn FnOnce()>) {
    let aborting = || with(|s| s.aborting);
    run_body_with(body, aborting, |message| with(|s| s.panicked = Some((thread, message))));
}

/// Runs the body of a thread and tells of its panic.
pub(crate) fn run_body_with(
    body: Box<dyn FnOnce()>,
    aborting: impl Fn() -> bool,
    panicked: impl FnOnce(String),
) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        if aborting() {
            // The unwinding that `clear` started; it ends at the root of the coroutine.
            resume_unwind(payload);
        }
        panicked(quiet::message(payload.as_ref()));
    }
}

fn blocked(thread: usize) -> Blocked {
    let op = with(|s| s.threads[thread].op);
    let kind = match op.kind {
        OpKind::Lock => StepKind::Lock,
        OpKind::Join => StepKind::Join,
        _ => StepKind::Wait,
    };
    Blocked { thread, kind, object: op.object, at: op.at }
}

/// The set bits, lowest first.
pub(crate) fn bits(mut mask: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}
