//! `cargo xtask test`: the one test command.

use crate::{lockstep, run, tidy};
use anyhow::{bail, Context, Result};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What to leave out, and what to pass on.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Leaves out format, clippy and tidy.
    #[arg(long)]
    pub no_lint: bool,
    /// Leaves out the examples in the documentation.
    #[arg(long)]
    pub no_doc: bool,
    /// Leaves out lock-step with the RTL, which needs Verilator.
    #[arg(long)]
    pub no_rtl: bool,
    /// Uses cargo's own runner even where cargo-nextest is there.
    #[arg(long)]
    pub no_nextest: bool,
    /// Builds the tests with the release profile.
    #[arg(long)]
    pub release: bool,
    /// Names of tests to run; all by default.
    pub filters: Vec<String>,
}

/// Runs everything; stops at the first thing that fails.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if !options.no_lint {
        lint(root)?;
    }
    let nextest = !options.no_nextest && has_nextest(root);
    if options.filters.is_empty() && !options.no_rtl {
        step("lock-step with the RTL", || lockstep::test(root, !options.no_lint))?;
    }
    // nextest ends with a summary of its own, so it goes last.
    if !options.no_doc && options.filters.is_empty() {
        step("examples in the documentation", || {
            run::run(&mut cargo(root, &["test", "--quiet", "--workspace", "--doc"], options))
        })?;
    }
    if nextest {
        step("tests", || run::run(&mut nextest_command(root, options)))
    } else {
        step("tests", || plain_tests(root, options))
    }
}

fn lint(root: &Path) -> Result<()> {
    step("format", || run::run(&mut run::cargo(root, &["fmt", "--all", "--check"])))?;
    step("tidy", || tidy::run(root))?;
    step("clippy", || {
        let args = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
        run::run(&mut run::cargo(root, &args))
    })
}

/// Announces a step on standard error and tells how long it took.
fn step(name: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("== {name}");
    // Only a person looks at this time; nothing is decided by it.
    #[allow(clippy::disallowed_methods)]
    let begun = Instant::now();
    body().with_context(|| format!("{name} failed"))?;
    eprintln!("== {name}: ok, {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(root: &Path, args: &[&str], options: &Options) -> Command {
    let mut command = run::cargo(root, args);
    if options.release {
        command.arg("--release");
    }
    command
}

fn has_nextest(root: &Path) -> bool {
    run::output(&mut run::cargo(root, &["nextest", "--version"])).is_ok()
}

fn nextest_command(root: &Path, options: &Options) -> Command {
    let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
    let args = ["nextest", "run", "--workspace", "--profile", profile];
    let mut command = cargo(root, &args, options);
    command.args(&options.filters);
    command
}

/// cargo prints a result for each binary; the sum is the last line.
fn plain_tests(root: &Path, options: &Options) -> Result<()> {
    let args = ["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"];
    let mut command = cargo(root, &args, options);
    command.arg("--").args(&options.filters).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo test")?;
    let mut total = Total::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.context("cannot read what cargo test prints")?;
            total.add(&line);
            // Nobody reads on: the result still counts.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
    let status = child.wait().context("cargo test was lost")?;
    println!("{} passed, {} failed", total.passed, total.failed);
    if !status.success() {
        bail!("cargo test: {status}");
    }
    Ok(())
}

/// Results of all test binaries together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    passed: u64,
    failed: u64,
}

impl Total {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 0 ignored`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        let words: Vec<&str> = counts.split([' ', ';']).collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_binaries_add_up() {
        let mut total = Total::default();
        total.add("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        total.add("test a_passed ... ok");
        total.add("test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured");
        assert_eq!(total, Total { passed: 7, failed: 2 });
    }
}
