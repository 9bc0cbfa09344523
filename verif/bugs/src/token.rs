//! Replay tokens: `SCENARIO[+BUG]@HASH:WHERE`.
//!
//! `WHERE` is a schedule of our explorer, `loom`, whose search is repeated to its first finding, or
//! `shuttle-SEED-N`. The hash covers scenario, bug and version: a token of another version is
//! refused. A token of other code of the same version either fits or is told to diverge.

use crate::{questions, scenarios, stories};
use pollproof_bench::run::{replay, run, Change, Limits, Run};
use pollproof_bench::scenario::{EngineKind, Scenario};

/// Why a token was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It has not the form of a token.
    #[error("a token looks like SCENARIO+BUG@HASH:WHERE; {0}")]
    Form(&'static str),
    /// Unknown scenario.
    #[error("unknown scenario '{0}'; 'pollproof list' shows them")]
    Scenario(String),
    /// Unknown bug.
    #[error("unknown bug '{0}'; 'pollproof list' shows them")]
    Bug(String),
    /// Made by another version.
    #[error("the token was made by another version of the suite (hash {found}, here {here})")]
    Hash {
        /// In the token.
        found: String,
        /// Of this binary.
        here: String,
    },
    /// The schedule can not be read.
    #[error("{0}")]
    Schedule(String),
}

fn hash(scenario: &str, bug: &str) -> String {
    // FNV-1a, 32 bits: enough to tell versions apart, short enough to copy.
    let text = [scenario, "+", bug, "@", env!("CARGO_PKG_VERSION")].concat();
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

/// The token of what a run found; `None` when nothing was found.
pub fn token(run: &Run, bug: &str, limits: &Limits) -> Option<String> {
    let found = run.found.as_ref()?;
    let place = match run.engine {
        engine if engine.search().is_some() => found.schedule.clone()?,
        EngineKind::Loom => "loom".to_string(),
        _ => format!("shuttle-{}-{}", limits.seed, limits.samples),
    };
    let id = run.scenario.id;
    let plus = if bug.is_empty() { "" } else { "+" };
    Some(format!("{id}{plus}{bug}@{}:{place}", hash(id, bug)))
}

/// The scenario with an id, also those that only questions use.
pub fn scenario(id: &str) -> Option<&'static Scenario> {
    let asked = questions::ALL.iter().map(|q| q.scenario);
    scenarios::ALL.iter().copied().chain(asked).find(|s| s.id == id)
}

/// Runs what a token names.
pub fn replay_token(token: &str) -> Result<(Run, &'static str), TokenError> {
    let (what, rest) = token.split_once('@').ok_or(TokenError::Form("the '@' is missing"))?;
    let (found, place) = rest.split_once(':').ok_or(TokenError::Form("the ':' is missing"))?;
    let (id, bug) = what.split_once('+').unwrap_or((what, ""));
    let scenario = scenario(id).ok_or_else(|| TokenError::Scenario(id.into()))?;
    let bug = match stories::ALL.iter().find(|s| s.id == bug) {
        Some(story) => story.id,
        None if bug.is_empty() => "",
        None => return Err(TokenError::Bug(bug.into())),
    };
    let here = hash(id, bug);
    if found != here {
        return Err(TokenError::Hash { found: found.into(), here });
    }
    let only = questions::ALL.iter().find(|q| q.scenario.id == id).map(|q| q.rule);
    let change = Change { bug, only, ..Change::default() };
    let run = match place.strip_prefix("shuttle-") {
        Some(numbers) => run(scenario, EngineKind::Shuttle, change, &shuttle_limits(numbers)?),
        None if place == "loom" => run(scenario, EngineKind::Loom, change, &Limits::default()),
        None => replay_schedule(scenario, change, place).map_err(TokenError::Schedule)?,
    };
    Ok((run, bug))
}

/// Values alone may show the answer to a question, a race elsewhere: see `check`.
fn replay_schedule(
    scenario: &'static Scenario,
    change: Change,
    schedule: &str,
) -> Result<Run, String> {
    if change.only.is_some() {
        let by_values = replay(scenario, Change { ignore_races: true, ..change }, schedule)?;
        if by_values.found.is_some() {
            return Ok(by_values);
        }
    }
    replay(scenario, change, schedule)
}

fn shuttle_limits(numbers: &str) -> Result<Limits, TokenError> {
    let form = || TokenError::Form("after 'shuttle-' come a seed and a number of runs");
    let (seed, samples) = numbers.split_once('-').ok_or_else(form)?;
    let seed = seed.parse().map_err(|_| form())?;
    let samples: u64 = samples.parse().map_err(|_| form())?;
    if samples > 1_000_000 {
        return Err(TokenError::Form("more than a million runs of shuttle"));
    }
    Ok(Limits { seed, samples, ..Limits::default() })
}
