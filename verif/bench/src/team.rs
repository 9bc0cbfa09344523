//! A scenario under several workers, with checkpoints, a wish to stop, and an estimate.

use crate::run::{config, watched_on, Change, Limits, Run};
use crate::scenario::{EngineKind, Scenario};
use pollproof_engines::{
    beginning, check_team, estimate_explore, fits, Checkpoint, Crew, Estimate, Progress, Wish,
};
use std::sync::{Mutex, PoisonError};

/// How a scenario is run by several.
pub struct Team<'a> {
    /// Workers.
    pub jobs: usize,
    /// Names this very program; a checkpoint of another one is refused.
    pub program: &'a str,
    /// Where to go on.
    pub from: Option<Checkpoint>,
    /// Called after each execution.
    pub wish: &'a (dyn Fn(Progress) -> Wish + Sync),
    /// Takes a checkpoint.
    pub keep: &'a (dyn Fn(&Checkpoint) + Sync),
}

/// Runs a scenario as `run` does, under an engine that searches over graphs.
pub fn run_team(
    scenario: &'static Scenario,
    engine: EngineKind,
    change: Change,
    limits: &Limits,
    team: Team<'_>,
) -> Result<Run, String> {
    let config = config(scenario, engine, change, limits);
    let from = match team.from {
        None => beginning(&config, team.program),
        Some(from) => {
            fits(&config, team.program, &from)?;
            from
        }
    };
    let watches = Mutex::new(Vec::new());
    let crew = Crew {
        worker: &|run| {
            let ((), watch) = watched_on(change, scenario.body, run);
            watches.lock().unwrap_or_else(PoisonError::into_inner).push(watch);
        },
        wish: team.wish,
        keep: team.keep,
    };
    let outcome = check_team(&config, from, team.jobs, &crew);
    let watches = watches.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(crate::run::finish(scenario, engine, change, limits, outcome, watches))
}

/// Guesses how many executions a scenario has.
pub fn guess(
    scenario: &'static Scenario,
    engine: EngineKind,
    change: Change,
    walks: u64,
    seed: u64,
) -> Estimate {
    let config = config(scenario, engine, change, &Limits::default());
    let mut guess = None;
    watched_on(change, scenario.body, &mut |body, _| {
        guess = Some(estimate_explore(&config, walks, seed, body));
    });
    guess.unwrap_or(Estimate { executions: 0.0, error: 0.0, walks: 0 })
}
