//! Lock-step with the RTL, as part of `cargo xtask test`: gets Verilator where it may, runs every
//! test, and does not let them vanish unnoticed.

use crate::run;
use anyhow::{bail, Context, Result};
use std::path::Path;
use std::process::Command;

/// Which lines of the RTL run in lock-step; those that do not are listed in the test.
pub fn coverage(root: &Path) -> Result<()> {
    if !has_verilator() && !install() {
        bail!("line coverage of the RTL needs Verilator: install the package verilator");
    }
    let mut cargo = run::cargo(root, &["test", "--package", "pollproof-lockstep"]);
    cargo.args(["--features", "pollproof-lockstep/rtl-coverage", "--test", "line_coverage"]);
    cargo.args(["--", "--nocapture"]);
    let printed = run::output(&mut cargo)?;
    print!("{printed}");
    if passed(&printed) != 1 {
        bail!("line coverage of the RTL was not measured");
    }
    Ok(())
}

/// Packages whose tests need the RTL.
const PACKAGES: [&str; 2] = ["verif/lockstep", "rtl-sim/verilated"];
const FEATURE: &str = "pollproof-lockstep/rtl";

/// Runs all tests that need the RTL. Without Verilator that fails in CI, and is told elsewhere.
pub fn test(root: &Path, lint: bool) -> Result<()> {
    if !has_verilator() && !install() {
        let what = "Verilator is missing: install the package verilator, or set VERILATOR";
        if std::env::var_os("CI").is_some() {
            bail!("lock-step did not run: {what}");
        }
        eprintln!("== NOT RUN: lock-step. {what}");
        return Ok(());
    }
    if lint {
        let args = ["clippy", "--quiet", "--package", "pollproof-verilated"];
        let mut clippy = run::cargo(root, &args);
        clippy.args(["--package", "pollproof-lockstep", "--package", "pollproof-cli"]);
        clippy.args(["--features", "pollproof-cli/rtl", "--all-targets", "--", "-D", "warnings"]);
        run::run(&mut clippy)?;
    }
    let wanted = tests_in(root)?;
    let mut cargo = run::cargo(root, &["test", "--package", "pollproof-lockstep"]);
    cargo.args(["--package", "pollproof-verilated", "--features", FEATURE, "--tests"]);
    let printed = run::output(&mut cargo)?;
    let passed = passed(&printed);
    println!("lock-step: {passed} tests passed");
    if passed != wanted {
        bail!("lock-step ran {passed} tests, and its sources have {wanted}");
    }
    Ok(())
}

fn has_verilator() -> bool {
    let program = std::env::var_os("VERILATOR").unwrap_or_else(|| "verilator".into());
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Installs the package, where that is Debian's way and this user may.
fn install() -> bool {
    let is_root = run::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root || std::env::var_os("VERILATOR").is_some() {
        return false;
    }
    eprintln!("== installing the package verilator");
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        run::output(&mut apt).is_ok()
    };
    let get = ["install", "--yes", "--no-install-recommends", "verilator", "g++"];
    (apt(&get) || (apt(&["update"]) && apt(&get))) && has_verilator()
}

/// Tests by the sources: what is written must run.
fn tests_in(root: &Path) -> Result<u64> {
    let listed =
        run::output(Command::new("git").args(["ls-files"]).args(PACKAGES).current_dir(root))
            .context("git lists the tests of lock-step")?;
    let mut count = 0;
    for path in listed.lines().filter(|path| path.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(path)).with_context(|| path.to_owned())?;
        // Line coverage has a build of its own.
        if !text.contains("#![cfg(feature = \"rtl-coverage\")]") {
            count += count_tests(&text);
        }
    }
    Ok(count)
}

fn count_tests(text: &str) -> u64 {
    text.lines().filter(|line| line.trim() == "#[test]").count() as u64
}

/// Sums up lines such as `test result: ok. 3 passed; 0 failed; 0 ignored`.
fn passed(printed: &str) -> u64 {
    let results = printed.lines().filter_map(|line| line.split_once("test result: ok. "));
    let counts = results.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_and_what_ran_are_counted_alike() {
        let attribute = "#[test]";
        let text = format!("{attribute}\nfn a() {{}}\n    {attribute}\n// {attribute} no\n");
        assert_eq!(count_tests(&text), 2);
        let ran = "test result: ok. 3 passed; 0 failed\nx\ntest result: ok. 0 passed; 1 failed\n";
        assert_eq!(passed(ran), 3);
    }

    #[test]
    fn lockstep_has_tests_to_run() {
        let root = crate::root().expect("the workspace");
        assert!(tests_in(&root).expect("git") >= 8);
    }
}
