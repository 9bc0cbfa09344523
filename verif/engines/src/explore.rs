//! The project's own explorer behind the types of sync.

use crate::outcome::{
    site, AtEnd, Config, Ended, EngineFinding, Outcome, Search, TraceLine, Verdict,
};
use pollproof_explore as ex;
use pollproof_explore::rt;
use pollproof_sync::engine::{
    enter, AtomicCell, Engine, Loc, LockCell, Ordering, PlainCell, RmwOp, Width,
};
use pollproof_sync::{cpu, switch, What};
use std::ops::ControlFlow::{self, Break, Continue};
use std::rc::Rc;

pub(crate) struct Explore;
struct Atomic(rt::Atomic);
struct Plain(rt::Plain);
struct Lock(rt::Lock);

/// The operation on values; the engine cuts the result to the width of the object.
pub(crate) fn apply(op: RmwOp, value: u64, operand: u64) -> u64 {
    match op {
        RmwOp::Swap => operand,
        RmwOp::Add => value.wrapping_add(operand),
        RmwOp::Sub => value.wrapping_sub(operand),
        RmwOp::And => value & operand,
        RmwOp::Or => value | operand,
    }
}

impl AtomicCell for Atomic {
    fn load(&self, order: Ordering, at: Loc) -> u64 {
        rt::load(self.0, order, at)
    }
    fn store(&self, value: u64, order: Ordering, at: Loc) {
        rt::store(self.0, value, order, at);
    }
    fn rmw(&self, op: RmwOp, operand: u64, order: Ordering, at: Loc) -> u64 {
        rt::rmw(self.0, |value| apply(op, value, operand), order, at)
    }
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
        at: Loc,
    ) -> Result<u64, u64> {
        rt::cas(self.0, (current, new), (success, failure), at)
    }
    fn update(
        &self,
        next: &mut dyn FnMut(u64) -> Option<u64>,
        order: Ordering,
        at: Loc,
    ) -> Result<u64, u64> {
        rt::update(self.0, next, order, at)
    }
    fn wait(&self, ready: &dyn Fn(u64) -> bool, order: Ordering, at: Loc) -> u64 {
        rt::wait(self.0, ready, order, at)
    }
}

impl PlainCell for Plain {
    fn read(&self, at: Loc) {
        rt::read(self.0, at);
    }
    fn write(&self, at: Loc) {
        rt::write(self.0, at);
    }
}

impl LockCell for Lock {
    fn lock(&self, at: Loc) {
        rt::lock(self.0, at);
    }
    fn unlock(&self, at: Loc) {
        rt::unlock(self.0, at);
    }
}

impl Engine for Explore {
    fn name(&self) -> &'static str {
        "explore"
    }
    fn atomic(&self, init: u64, width: Width, _at: Loc) -> Box<dyn AtomicCell> {
        let bits = match width {
            Width::W32 => 32,
            Width::W64 => 64,
        };
        Box::new(Atomic(rt::atomic_new(init, bits)))
    }
    fn plain(&self, what: What, at: Loc) -> Box<dyn PlainCell> {
        Box::new(Plain(rt::plain_new(ex::What { rule: what.rule, name: what.name }, at)))
    }
    fn lock(&self, _at: Loc) -> Box<dyn LockCell> {
        Box::new(Lock(rt::lock_new()))
    }
    fn fence(&self, order: Ordering, at: Loc) {
        rt::fence_at(order, at);
    }
    fn spawn(&self, body: Box<dyn FnOnce() + Send>, at: Loc) -> usize {
        rt::spawn(body, at)
    }
    fn join(&self, thread: usize, at: Loc) {
        rt::join(thread, at);
    }
    fn rest(&self, at: Loc) -> bool {
        rt::rest(at);
        true
    }
    fn thread(&self) -> usize {
        rt::thread()
    }
    fn yield_now(&self, at: Loc) {
        rt::yield_now(at);
    }
    fn choose(&self, n: usize, at: Loc) -> usize {
        rt::choose(n, at)
    }
    fn step(&self) -> u64 {
        rt::step()
    }
}

/// Runs every execution of `program` that differs, as `cfg.search` says.
///
/// The check is called after every execution, also of those whose threads are blocked forever.
pub fn check_explore(cfg: &Config, program: impl Fn() + 'static, at_end: AtEnd) -> Outcome {
    let config = explore_config(cfg);
    run(cfg, program, at_end, |program, at_end| ex::explore(&config, program, at_end))
}

/// Runs `n` random schedules under the same engine.
pub fn sample_explore(
    cfg: &Config,
    n: u64,
    seed: u64,
    program: impl Fn() + 'static,
    at_end: AtEnd,
) -> Outcome {
    let config = explore_config(cfg);
    let mut outcome =
        run(cfg, program, at_end, |program, at_end| ex::sample(&config, n, seed, program, at_end));
    if outcome.verdict == Verdict::Exhaustive {
        outcome.verdict = Verdict::Sampled { n: outcome.executions, seed };
    }
    outcome
}

/// Runs the one execution that `token` names. One that does not fit is a finding of rule `REPLAY`.
pub fn replay_explore(
    cfg: &Config,
    token: &ex::Token,
    program: impl Fn() + 'static,
    at_end: AtEnd,
) -> Outcome {
    let config = explore_config(cfg);
    let mut outcome = run(cfg, program, at_end, |program, at_end| {
        ex::replay_token(&config, token, program, at_end)
    });
    if outcome.verdict == Verdict::Exhaustive {
        outcome.verdict = Verdict::Bounded("one execution".into());
    }
    outcome
}

/// The failure of `schedule` with the fewest preemptions that breaks the same rule, searched for
/// in at most `max_executions` executions. None when `schedule` does not break `rule`.
pub fn minimise_explore(
    cfg: &Config,
    schedule: &ex::Schedule,
    rule: &'static str,
    max_executions: u64,
    program: impl Fn() + 'static,
    mut at_end: AtEnd,
) -> Option<ex::Minimised> {
    enter(Rc::new(Explore), || {
        ex::minimise(&explore_config(cfg), &fresh(program), schedule, max_executions, &mut |e| {
            findings(e, cfg.ignore_races, &mut at_end).iter().any(|f| f.rule == rule)
        })
    })
}

/// The token of the execution that breaks `rule` with the fewest preemptions, then steps, among the
/// first `max_executions`: for failures that no schedule replays. None when none of them does.
pub fn smallest_explore(
    cfg: &Config,
    rule: &'static str,
    max_executions: u64,
    program: impl Fn() + 'static,
    mut at_end: AtEnd,
) -> Option<String> {
    let config = ex::Config { max_executions, ..explore_config(cfg) };
    let mut least: Option<((u32, usize), String)> = None;
    enter(Rc::new(Explore), || {
        ex::explore(&config, &fresh(program), &mut |e| {
            if findings(e, cfg.ignore_races, &mut at_end).iter().any(|f| f.rule == rule) {
                let size = (e.preemptions(), e.steps().len());
                if least.as_ref().is_none_or(|(least, _)| size < *least) {
                    least = Some((size, e.token()));
                }
            }
            Continue(())
        });
    });
    least.map(|(_, token)| token)
}

/// Classes of equivalent executions of `program`, counted by running every interleaving; `None`
/// when there are more than `max_interleavings`. What [`check_explore`] runs must be as many.
pub fn classes_explore(max_interleavings: u64, program: impl Fn() + 'static) -> Option<u64> {
    enter(Rc::new(Explore), || ex::count_classes(&fresh(program), max_interleavings))
}

/// `program` as the first thread of an execution that remembers nothing of the one before.
pub(crate) fn fresh(program: impl Fn()) -> impl Fn() {
    move || {
        cpu::begin(0);
        let _ = switch::take_faults();
        program();
    }
}

pub(crate) fn explore_config(cfg: &Config) -> ex::Config {
    ex::Config {
        max_executions: cfg.max_executions,
        max_steps: cfg.max_steps as u64,
        reduction: match (cfg.preemption_bound, cfg.search) {
            (Some(bound), _) => ex::Reduction::Preemptions(bound),
            (None, Search::Graphs(_)) => ex::Reduction::Graphs,
            (None, Search::Schedules) => ex::Reduction::Dpor,
        },
        model: match cfg.search {
            Search::Graphs(model) => model,
            Search::Schedules => ex::Model::Sc,
        },
        ..ex::Config::default()
    }
}

type OnEnd<'a> = dyn FnMut(&ex::Execution<'_>) -> ControlFlow<()> + 'a;

fn run(
    cfg: &Config,
    program: impl Fn(),
    mut at_end: AtEnd,
    search: impl FnOnce(&dyn Fn(), &mut OnEnd<'_>) -> ex::Summary,
) -> Outcome {
    let mut found = Vec::new();
    let mut stopped = false;
    let summary = enter(Rc::new(Explore), || {
        search(&fresh(program), &mut |e| {
            found = findings(e, cfg.ignore_races, &mut at_end);
            stopped = cfg.stop.as_ref().is_some_and(|stop| stop());
            if found.is_empty() && !stopped {
                Continue(())
            } else {
                Break(())
            }
        })
    });
    let mut outcome = Outcome::new("explore", verdict(cfg, summary.coverage, stopped));
    (outcome.executions, outcome.blocked, outcome.steps) =
        (summary.executions, summary.blocked, summary.steps);
    outcome.found(found);
    outcome
}

pub(crate) fn verdict(cfg: &Config, coverage: ex::Coverage, stopped: bool) -> Verdict {
    match coverage {
        _ if stopped => Verdict::Unknown("stopped".into()),
        ex::Coverage::Executions => {
            Verdict::Unknown(format!("cut after {} executions", cfg.max_executions))
        }
        ex::Coverage::Cut(ex::Limit::Steps) => {
            Verdict::Unknown(format!("an execution was cut after {} steps", cfg.max_steps))
        }
        ex::Coverage::Cut(ex::Limit::Threads) => {
            Verdict::Unknown(format!("an execution had more than {} threads", ex::MAX_THREADS))
        }
        ex::Coverage::Cut(ex::Limit::Objects) => {
            Verdict::Unknown("a thread made too many objects".into())
        }
        ex::Coverage::Cut(ex::Limit::Events) => {
            Verdict::Unknown("an execution had more events than fit".into())
        }
        ex::Coverage::Diverged => Verdict::Unknown("the program is not deterministic".into()),
        ex::Coverage::Exhausted | ex::Coverage::Stopped | ex::Coverage::Sampled => {
            match cfg.preemption_bound {
                None => Verdict::Exhaustive,
                Some(bound) => Verdict::Bounded(format!("at most {bound} preemptions")),
            }
        }
    }
}

/// All that is wrong with an execution, the caller's word first.
pub(crate) fn findings(
    e: &ex::Execution<'_>,
    ignore_races: bool,
    at_end: &mut AtEnd,
) -> Vec<EngineFinding> {
    let mut found = crate::run::faults();
    let races = if ignore_races { &[] } else { e.races() };
    found.extend(races.iter().map(race));
    match &e.end {
        ex::End::Complete | ex::End::Limit(_) => {}
        ex::End::Deadlock(threads) => {
            let list: Vec<_> = threads.iter().map(ToString::to_string).collect();
            let message = format!("blocked forever: {}", list.join("; "));
            let at = threads.first().map(|t| site(t.at));
            found.push(EngineFinding::new("DEADLOCK", message, at));
        }
        ex::End::Panicked { thread, message } => {
            let message = format!("T{thread} panicked: {message}");
            found.push(EngineFinding::new("PANIC", message, None));
        }
        ex::End::Diverged(why) => {
            found.push(EngineFinding::new("REPLAY", why.clone(), None));
        }
    }
    let ended = Ended {
        engine: "explore",
        complete: e.end == ex::End::Complete,
        findings: &found,
        place_of: &|moment| e.place_of(moment),
    };
    if let Some(finding) = at_end(&ended) {
        found.insert(0, finding);
    }
    if let Some(first) = found.first_mut() {
        first.schedule = Some(e.token());
        first.trace = trace(e);
    }
    found
}

fn race(race: &ex::Race) -> EngineFinding {
    let message = format!("race on {}: {}, then {}", race.what.name, race.first, race.second);
    EngineFinding {
        other: Some(site(race.first.at)),
        step: Some(race.second.step),
        ..EngineFinding::new(race.what.rule, message, Some(site(race.second.at)))
    }
}

fn trace(e: &ex::Execution<'_>) -> Vec<TraceLine> {
    let line = |(i, s): (usize, &ex::Step)| TraceLine {
        step: i as u64 + 1,
        thread: s.thread,
        what: s.what(),
        at: site(s.at),
    };
    e.steps().iter().enumerate().map(line).collect()
}
