//! `cargo xtask explore-fuzz`: the explorer against its oracle on ever new random programs.

use crate::run;
use anyhow::{bail, Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// How long, and from where.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Stops after the first round that ends later than this.
    #[arg(long, default_value_t = 10)]
    pub minutes: u64,
    /// Seed of the first round; the clock gives one by default. Each round takes the next.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Programs of a round for each model.
    #[arg(long, default_value_t = 500)]
    pub programs: u64,
}

/// Tests that compare the search with the oracle, by a part of their names.
const TESTS: &str = "graphs";

/// Runs rounds until the time is over; fails with the first program on which the two differ.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    run::run(&mut test(root, &["--no-run"]))?;
    // Nothing but the end of the work is decided by it.
    #[allow(clippy::disallowed_methods)]
    let begun = Instant::now();
    let mut seed = options.seed.unwrap_or_else(clock);
    let mut programs = BTreeMap::new();
    while begun.elapsed() < Duration::from_secs(60 * options.minutes) {
        round(root, seed, options.programs, &mut programs)?;
        eprintln!("seed {seed}: {}", progress(&programs, begun.elapsed()));
        seed = seed.wrapping_add(1);
    }
    println!("no difference: {}", progress(&programs, begun.elapsed()));
    Ok(())
}

fn clock() -> u64 {
    // A seed that was not used before; it is printed, and names all that follows.
    #[allow(clippy::disallowed_methods)]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |since| since.as_secs())
}

fn test(root: &Path, args: &[&str]) -> Command {
    let package = ["--package", "pollproof-explore", "--test", "graph_oracle_prop"];
    let mut command = run::cargo(root, &["test", "--quiet", "--release"]);
    command.args(package).args(args);
    command
}

/// One run of all comparisons from `seed`; adds what it compared.
fn round(root: &Path, seed: u64, size: u64, programs: &mut BTreeMap<String, u64>) -> Result<()> {
    let mut command = test(root, &["--", "--nocapture", TESTS]);
    command.env("EXPLORE_FUZZ_PROGRAMS", size.to_string());
    command.env("EXPLORE_FUZZ_SEED", seed.to_string());
    let output = command.output().context("cannot run the comparison")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    for (model, compared) in said.lines().filter_map(compared) {
        *programs.entry(model.into()).or_default() += compared;
    }
    if output.status.success() {
        return Ok(());
    }
    match mismatch(&said) {
        Some(mismatch) => bail!("the search and the oracle differ\n{mismatch}"),
        None => bail!("{}: {}\n{said}", run::shown(&command), output.status),
    }
}

/// Reads `Tso: 250 programs, 3 of them too large for the oracle`.
fn compared(line: &str) -> Option<(&str, u64)> {
    let (model, rest) = line.split_once(": ")?;
    let (programs, rest) = rest.split_once(" programs, ")?;
    let too_large: u64 = rest.split(' ').next()?.parse().ok()?;
    let programs: u64 = programs.parse().ok()?;
    // The test runner prints dots before it.
    let model = model.rsplit([' ', '.']).next()?;
    Some((model, programs.checked_sub(too_large)?))
}

/// The first program that differs, with what is different.
fn mismatch(said: &str) -> Option<String> {
    let mut lines = said.lines().skip_while(|line| !line.contains("made small:"));
    let head = lines.next()?;
    let rest = lines.take_while(|line| line.starts_with("  "));
    Some(std::iter::once(head).chain(rest).collect::<Vec<_>>().join("\n"))
}

fn progress(programs: &BTreeMap<String, u64>, elapsed: Duration) -> String {
    let counts: Vec<_> = programs.iter().map(|(model, n)| format!("{model} {n}")).collect();
    let seconds = elapsed.as_secs_f64();
    let rate = programs.values().sum::<u64>() as f64 / seconds.max(1.0);
    format!("{} programs in {seconds:.0} s, {rate:.0}/s", counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_were_compared_are_counted() {
        let line = "Tso: 250 programs, 3 of them too large for the oracle";
        assert_eq!(compared(line), Some(("Tso", 247)));
        for runner in ["..", "test graphs_are_those_of_tso ... "] {
            assert_eq!(compared(&format!("{runner}{line}")), Some(("Tso", 247)));
        }
        assert_eq!(compared("test result: ok. 6 passed; 0 failed"), None);
    }

    #[test]
    fn the_smallest_program_is_cut_out() {
        let said = "thread 'a' panicked at compare.rs:55:5:\n\
            Rc11, seed 1, program 7, made small:\n  w x 1 || r x\n  missing: T0\nnote: run with\n";
        let expected = "Rc11, seed 1, program 7, made small:\n  w x 1 || r x\n  missing: T0";
        assert_eq!(mismatch(said).as_deref(), Some(expected));
        assert_eq!(mismatch("all is well"), None);
    }

    #[test]
    fn progress_tells_each_model_and_the_rate() {
        let programs = BTreeMap::from([("Rc11".into(), 300), ("Sc".into(), 500)]);
        let line = progress(&programs, Duration::from_secs(10));
        assert_eq!(line, "Rc11 300, Sc 500 programs in 10 s, 80/s");
    }
}
