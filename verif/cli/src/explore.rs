//! `pollproof explore`: one scenario, as far as one likes.

use crate::args::{Engine, ExploreArgs, Model};
use crate::check::{finding_text, limits};
use crate::exit;
use crate::progress::{cpu_seconds, Progress};
use anyhow::{anyhow, bail, Context};
use pollproof_bench::run::{run, Change, Limits, Run};
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_bench::team::{guess, run_team, Team};
use pollproof_bench::{Checkpoint, Wish};
use pollproof_bugs::{stories, token};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// One scenario under one engine, or several.
pub fn explore(args: &ExploreArgs, quiet: bool) -> anyhow::Result<u8> {
    let scenario = token::scenario(&args.scenario).ok_or_else(|| {
        anyhow!("unknown scenario '{}'; 'pollproof list' shows them", args.scenario)
    })?;
    let bug = match &args.bug {
        None => "",
        Some(id) => {
            let story = stories::ALL.iter().find(|s| s.id.eq_ignore_ascii_case(id));
            story.ok_or_else(|| anyhow!("unknown bug '{id}'; 'pollproof list' shows them"))?.id
        }
    };
    let limits = limits(&args.limits);
    let mut worst = exit::CLEAN;
    for engine in engines(args, scenario) {
        if !scenario.engines.contains(&engine) {
            bail!("{} can not run under {}", scenario.id, engine.name());
        }
        let change = Change { bug, ..Change::default() };
        let run = match engine.is_explore() {
            true => by_team(args, scenario, engine, change, &limits, quiet)?,
            false => {
                let mut progress = Progress::new(quiet);
                progress.tell(&format!("{} under {}", scenario.id, engine.name()));
                let run = run(scenario, engine, change, &limits);
                progress.done();
                run
            }
        };
        worst = worst.max(print(&run, bug, &limits));
    }
    Ok(worst)
}

fn engines(args: &ExploreArgs, scenario: &Scenario) -> Vec<EngineKind> {
    let models = match args.model {
        Some(Model::Sc) => vec![EngineKind::Explore],
        Some(Model::Tso) => vec![EngineKind::ExploreTso],
        Some(Model::Rc11) => vec![EngineKind::ExploreRc11],
        None => vec![EngineKind::Explore, EngineKind::ExploreTso, EngineKind::ExploreRc11],
    };
    match args.engine {
        Engine::Explore => models,
        Engine::Schedules => vec![EngineKind::Schedules],
        Engine::Loom => vec![EngineKind::Loom],
        Engine::Shuttle => vec![EngineKind::Shuttle],
        Engine::All => scenario.engines.to_vec(),
    }
}

fn print(run: &Run, bug: &str, limits: &Limits) -> u8 {
    let (id, name, model) = (run.scenario.id, run.engine.name(), run.engine.memory_model());
    let (executions, blocked) = (run.executions, run.blocked);
    outln!("{id} under {name}, {model}: {executions} executions, {blocked} given up");
    for (rule, point) in &run.unreached {
        outln!("  never reached: {rule} {point}");
    }
    match (finding_text(run, bug, limits), run.is_inconclusive()) {
        (Some(text), _) => {
            out!("{text}");
            exit::FINDINGS
        }
        (None, inconclusive) => {
            outln!("  {}", run.verdict);
            if inconclusive {
                exit::INCONCLUSIVE
            } else {
                exit::CLEAN
            }
        }
    }
}

/// Executions between two looks at the clock.
const LOOK_EVERY: u64 = 64;
/// Random descents of an estimate.
const WALKS: u64 = 200;

fn by_team(
    args: &ExploreArgs,
    scenario: &'static Scenario,
    engine: EngineKind,
    change: Change,
    limits: &Limits,
    quiet: bool,
) -> anyhow::Result<Run> {
    let program = format!("{}+{}@{:016x}", scenario.id, change.bug, this_binary()?);
    let from = args.resume.as_deref().map(read).transpose()?;
    let begun_with = from.as_ref().map_or(0, |c| c.summary().executions);
    let progress = Mutex::new(Progress::new(quiet));
    let name = format!("{} under {}", scenario.id, engine.memory_model());
    let tell = |text: &str| {
        if let Ok(mut progress) = progress.lock() {
            progress.tell(text);
        }
    };
    tell(&name);
    let began = cpu_seconds();
    let (executions, kept) = (AtomicU64::new(begun_with), Mutex::new(began));
    let expected = Mutex::new(None);
    let wish = |_| {
        let done = executions.fetch_add(1, Ordering::Relaxed) + 1;
        if done % LOOK_EVERY != 0 {
            return Wish::GoOn;
        }
        let now = cpu_seconds();
        if let Ok(guess) = expected.lock() {
            let rough: &str = guess.as_deref().unwrap_or("");
            tell(&format!("{name}: {done} executions{rough}"));
        }
        if args.cpu_seconds.is_some_and(|most| now - began >= most) {
            return Wish::Stop;
        }
        let due = kept.lock().is_ok_and(|mut kept| {
            let due = args.checkpoint.is_some() && now - *kept >= args.checkpoint_every;
            if due {
                *kept = now;
            }
            due
        });
        if due {
            Wish::Checkpoint
        } else {
            Wish::GoOn
        }
    };
    if progress.lock().is_ok_and(|p| p.is_live()) {
        let guess = guess(scenario, engine, change, WALKS, limits.seed);
        if let Ok(mut expected) = expected.lock() {
            *expected = Some(format!(
                " of some {:.0} (a guess from {} random descents, good to an order of magnitude)",
                guess.executions, guess.walks
            ));
        }
    }
    let failed = Mutex::new(None);
    let keep = |checkpoint: &Checkpoint| {
        let Some(path) = &args.checkpoint else { return };
        if let (Err(error), Ok(mut failed)) = (write(path, checkpoint), failed.lock()) {
            *failed = Some(error);
        }
    };
    let team = Team { jobs: args.jobs, program: &program, from, wish: &wish, keep: &keep };
    let run = run_team(scenario, engine, change, limits, team);
    if let Ok(mut progress) = progress.lock() {
        progress.done();
    }
    if let Ok(Some(error)) = failed.into_inner() {
        return Err(error);
    }
    let resumed = args.resume.as_deref().unwrap_or(Path::new("the checkpoint"));
    run.map_err(|why| anyhow!("{} can not be taken up: {why}", resumed.display()))
}

fn read(path: &Path) -> anyhow::Result<Checkpoint> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} can not be read", path.display()))?;
    let parsed: Result<Checkpoint, String> = text.parse();
    parsed.map_err(|why| anyhow!("{} is no checkpoint: {why}", path.display()))
}

/// Writes beside the file and then takes its place, so that a kill leaves the one before.
fn write(path: &Path, checkpoint: &Checkpoint) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let failed = || format!("{} can not be written", path.display());
    std::fs::write(&beside, checkpoint.to_string()).with_context(failed)?;
    std::fs::rename(&beside, path).with_context(failed)
}

/// Tells binaries apart: a checkpoint goes on only under the one that made it.
fn this_binary() -> anyhow::Result<u64> {
    let path = std::env::current_exe().context("this program does not know its own file")?;
    let bytes = std::fs::read(&path).context("this program can not read its own file")?;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    Ok(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
