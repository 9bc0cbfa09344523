//! Holds what an engine says of a program against the oracle.

use super::generate::program;
use super::graph::{all, Found};
use super::models::Model;
use super::program::Program;
use super::run::Run;
use super::shrink::shrink;

/// An engine under one model.
pub type Engine<'a> = &'a dyn Fn(&Program) -> Run;

/// Graphs of the oracle on the way to the complete ones, before it gives up.
const CAP: usize = 40_000;

/// How they differ, one line each; nothing if the program is too large for the oracle.
pub fn differences(program: &Program, model: Model, engine: Engine) -> Option<Vec<String>> {
    let found = all(program, model, CAP)?;
    let run = engine(program);
    let mut lines = run.faults.clone();
    let keys: Vec<_> = found.complete.iter().map(|g| g.key(program)).collect();
    lines.extend(
        keys.iter().filter(|k| !run.complete.contains_key(*k)).map(|k| format!("missing: {k}")),
    );
    for (key, times) in &run.complete {
        if !keys.contains(key) {
            lines.push(format!("extra: {key}"));
        } else if *times > 1 {
            lines.push(format!("{times} times: {key}"));
        }
    }
    let Found { stuck, races, .. } = found;
    if stuck.is_empty() == run.stuck {
        lines.push(format!("stuck: the oracle has {}, the engine says {}", stuck.len(), run.stuck));
    }
    if races.is_empty() == run.races {
        lines.push(format!("races: the oracle has {races:?}, the engine says {}", run.races));
    }
    Some(lines)
}

/// Compares random programs. Panics with the first that differs, made as small as it goes.
pub fn random(seed: u64, programs: u64, model: Model, engine: Engine) {
    let mut too_large = 0;
    for index in 0..programs {
        let program = program(seed, index);
        match differences(&program, model, engine) {
            None => too_large += 1,
            Some(lines) if lines.is_empty() => {}
            Some(_) => report(program, model, engine, &format!("seed {seed}, program {index}")),
        }
    }
    println!("{model:?}: {programs} programs, {too_large} of them too large for the oracle");
    assert!(too_large <= programs / 10, "the programs are too large: {too_large}");
}

fn report(program: Program, model: Model, engine: Engine, origin: &str) -> ! {
    let differ = |p: &Program| differences(p, model, engine).unwrap_or_default();
    let small = shrink(program, &|p| !differ(p).is_empty());
    let lines = differ(&small).join("\n  ");
    panic!("{model:?}, {origin}, made small:\n  {small}\n  {lines}");
}
