//! The search over graphs with several workers, checkpoints and an estimate.

use crate::explore::{explore_config, findings, fresh, verdict, Explore};
use crate::outcome::{AtEnd, Config, EngineFinding, Outcome};
use pollproof_explore as ex;
use pollproof_sync::engine::enter;
use std::ops::ControlFlow::{Break, Continue};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// Runs one worker: the program and the check at the end of each execution. Called by
/// [`Crew::worker`].
pub type RunOne<'a> = dyn FnMut(Box<dyn Fn()>, AtEnd) + 'a;

/// The caller's part in a search of several workers.
pub struct Crew<'a> {
    /// Called on the OS thread of each worker: puts up what the program needs there, and runs.
    pub worker: &'a (dyn Fn(&mut RunOne<'_>) + Sync),
    /// Called after each execution.
    pub wish: &'a (dyn Fn(ex::Progress) -> ex::Wish + Sync),
    /// Takes a checkpoint.
    pub keep: &'a (dyn Fn(&ex::Checkpoint) + Sync),
}

/// As `check_explore` over graphs, from where `from` left off, with `jobs` workers.
pub fn check_team(cfg: &Config, from: ex::Checkpoint, jobs: usize, crew: &Crew<'_>) -> Outcome {
    let config = explore_config(cfg);
    let ignore_races = cfg.ignore_races;
    let first: Mutex<Vec<EngineFinding>> = Mutex::default();
    let found = || first.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = |run: &mut ex::RunWorker<'_>| {
        (crew.worker)(&mut |program, mut at_end| {
            enter(Rc::new(Explore), || {
                run(&fresh(program), &mut |e| {
                    let findings = findings(e, ignore_races, &mut at_end);
                    if findings.is_empty() {
                        return Continue(());
                    }
                    let mut first = found();
                    if first.is_empty() {
                        *first = findings;
                    }
                    Break(())
                });
            });
        });
    };
    let team = ex::Team { worker: &worker, wish: crew.wish, keep: crew.keep };
    let summary = ex::explore_team(&config, from, jobs, &team);
    let found = std::mem::take(&mut *found());
    let stopped = summary.coverage == ex::Coverage::Stopped && found.is_empty();
    let mut outcome = Outcome::new("explore", verdict(cfg, summary.coverage, stopped));
    (outcome.executions, outcome.blocked, outcome.steps) =
        (summary.executions, summary.blocked, summary.steps);
    outcome.found(found);
    outcome
}

/// Where a search begins. `program` names it: a checkpoint of another one is refused.
pub fn beginning(cfg: &Config, program: &str) -> ex::Checkpoint {
    ex::Checkpoint::new(program, &explore_config(cfg))
}

/// Whether a checkpoint is of this program and search; else why not.
pub fn fits(cfg: &Config, program: &str, checkpoint: &ex::Checkpoint) -> Result<(), String> {
    checkpoint.fits(program, &explore_config(cfg))
}

/// Guesses how many executions there are, from random descents. Low rather than high.
pub fn estimate_explore(
    cfg: &Config,
    walks: u64,
    seed: u64,
    program: impl Fn() + 'static,
) -> ex::Estimate {
    let config = explore_config(cfg);
    enter(Rc::new(Explore), || ex::estimate(&config, &fresh(program), walks, seed))
}
