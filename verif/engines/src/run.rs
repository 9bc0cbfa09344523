//! What loom and shuttle have in common: they call a closure for each execution, panic at a
//! finding, and keep no trace. Kept for the OS thread, since both ask for closures that are `Send`.

use crate::outcome::{site, AtEnd, Config, Ended, EngineFinding, Outcome, TraceLine, Verdict};
use pollproof_sync::engine::Loc;
use pollproof_sync::{cpu, switch, What};
use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

/// A run under way.
pub(crate) struct Run {
    engine: &'static str,
    program: Rc<dyn Fn()>,
    at_end: Option<AtEnd>,
    cfg: Config,
    pub(crate) outcome: Outcome,
    /// Why the run was cut.
    cut: Option<String>,
    found: Vec<EngineFinding>,
    /// Plain access under way, to name the cell when the engine panics there.
    plain: Option<(What, Loc)>,
    steps: Vec<(usize, &'static str, u32, u64, Loc)>,
    objects: u32,
    pub(crate) threads: usize,
}

/// Payload of the panic that ends a run; everything else is in [`Run`].
struct Stop;

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

pub(crate) fn with<R>(f: impl FnOnce(&mut Run) -> R) -> Option<R> {
    RUN.with(|r| r.borrow_mut().as_mut().map(f))
}

/// The faults that the run-time context noted, as findings.
pub(crate) fn faults() -> Vec<EngineFinding> {
    let finding = |f: switch::Fault| {
        EngineFinding::new(f.rule, format!("T{}: {}", f.thread, f.what), Some(f.at))
    };
    switch::take_faults().into_iter().map(finding).collect()
}

/// A number for a new object of this execution.
pub(crate) fn new_object() -> u32 {
    with(|r| {
        r.objects += 1;
        r.objects - 1
    })
    .unwrap_or(0)
}

/// Notes a step for the trace.
pub(crate) fn step(thread: usize, kind: &'static str, object: u32, value: u64, at: Loc) {
    with(|r| r.steps.push((thread, kind, object, value, at)));
}

/// Steps so far in this execution.
pub(crate) fn steps() -> u64 {
    with(|r| r.steps.len() as u64).unwrap_or(0)
}

/// Notes which plain cell is about to be accessed.
pub(crate) fn touching(what: Option<(What, Loc)>) {
    with(|r| r.plain = what);
}

/// Cuts the run from inside an execution: the verdict becomes unknown.
pub(crate) fn cut(why: String) -> ! {
    with(|r| r.cut = Some(why));
    std::panic::panic_any(Stop)
}

/// One execution, called by the engine on its first thread.
pub(crate) fn execution() {
    let begun = with(|r| {
        if r.outcome.executions >= r.cfg.max_executions {
            return Err(format!("cut after {} executions", r.cfg.max_executions));
        }
        if r.cfg.stop.as_ref().is_some_and(|stop| stop()) {
            return Err("stopped".into());
        }
        r.outcome.executions += 1;
        r.outcome.steps += r.steps.len() as u64;
        r.steps.clear();
        (r.objects, r.threads, r.plain) = (0, 1, None);
        Ok(Rc::clone(&r.program))
    });
    let program = match begun {
        Some(Ok(program)) => program,
        Some(Err(why)) => cut(why),
        None => return,
    };
    cpu::begin(0);
    let _ = switch::take_faults();
    program();
    check();
}

/// Calls the caller's check, which may look at atomics and so must not find the run borrowed.
fn check() {
    let found = faults();
    let taken = with(|r| (r.at_end.take(), r.engine));
    let Some((Some(mut at_end), engine)) = taken else { return };
    let place_of = &|step| step;
    let finding = at_end(&Ended { engine, complete: true, findings: &found, place_of });
    let all: Vec<_> = finding.into_iter().chain(found).collect();
    let stop = with(|r| {
        r.at_end = Some(at_end);
        r.found = all;
        !r.found.is_empty()
    });
    if stop == Some(true) {
        std::panic::panic_any(Stop);
    }
}

/// Runs `drive`, which calls [`execution`] again and again, and reads off how it ended.
pub(crate) fn drive(
    engine: &'static str,
    cfg: &Config,
    program: Rc<dyn Fn()>,
    at_end: AtEnd,
    verdict: Verdict,
    drive: impl FnOnce(),
) -> Outcome {
    let run = Run {
        engine,
        program,
        at_end: Some(at_end),
        cfg: cfg.clone(),
        outcome: Outcome::new(engine, verdict),
        cut: None,
        found: Vec::new(),
        plain: None,
        steps: Vec::new(),
        objects: 0,
        threads: 1,
    };
    let outer = RUN.with(|r| r.borrow_mut().replace(run));
    let quiet = pollproof_explore::quiet::Scope::enter();
    let result = catch_unwind(AssertUnwindSafe(drive));
    drop(quiet);
    let run = RUN.with(|r| std::mem::replace(&mut *r.borrow_mut(), outer));
    let Some(mut run) = run else { unreachable!("the run was put there above") };
    run.outcome.steps += run.steps.len() as u64;
    if let Err(payload) = result {
        if !payload.is::<Stop>() && run.cut.is_none() && run.found.is_empty() {
            run.read_panic(&pollproof_explore::quiet::message(payload.as_ref()));
        }
    }
    run.finish()
}

impl Run {
    /// What the engine said by panicking.
    fn read_panic(&mut self, message: &str) {
        let line = message.lines().find(|l| !l.trim().is_empty()).unwrap_or("").trim();
        self.found = faults();
        let found = if message.contains("Causality violation") || message.contains("to cell") {
            let (what, at) = match self.plain {
                Some((what, at)) => (what, Some(site(at))),
                None => (What { rule: "RACE", name: "a cell" }, None),
            };
            EngineFinding::new(what.rule, format!("race on {}: {line}", what.name), at)
        } else if message.contains("exceeded maximum number of branches")
            || message.contains("exceeded max_steps bound")
        {
            self.cut = Some("an execution was cut by the engine's limit of steps".into());
            return;
        } else if message.contains("deadlock") {
            EngineFinding::new("DEADLOCK", format!("blocked forever: {line}"), None)
        } else {
            EngineFinding::new("PANIC", message.trim(), None)
        };
        self.found.push(found);
    }

    fn finish(mut self) -> Outcome {
        if let Some(first) = self.found.first_mut() {
            let line = |(i, &(thread, kind, object, value, at)): (usize, &(_, _, _, u64, Loc))| {
                let what = format!("{kind} #{object} {value}");
                TraceLine { step: i as u64 + 1, thread, what, at: site(at) }
            };
            first.trace = self.steps.iter().enumerate().map(line).collect();
        }
        if let Some(why) = self.cut {
            self.outcome.verdict = Verdict::Unknown(why);
        }
        self.outcome.found(self.found);
        self.outcome
    }
}
