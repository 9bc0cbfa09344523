//! `cargo xtask miri`: tests of driver code as it is built with the standard library's own types,
//! under Miri: races, uses after free and weak memory that no engine of ours had a hand in.

use crate::run;
use anyhow::{bail, Context, Result};
use std::path::Path;
use std::process::Command;

/// How much.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Seeds of Miri's scheduler.
    #[arg(long, default_value_t = 8)]
    pub seeds: u32,
}

const NIGHTLY: &str = "nightly";

/// Packages and their test targets. Others make too many steps for an interpreter, or run in an
/// engine.
const TESTS: [(&str, &[&str]); 2] = [
    ("pollproof-sync", &["--lib", "--test", "rcu", "--test", "switches"]),
    ("pollproof-netcore", &["--test", "threads"]),
];

/// Runs the tests with so many seeds each; installs Miri where it is missing.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let toolchains = run::output(rustup(root).args(["toolchain", "list"]));
    let toolchains = toolchains.context("Miri needs rustup")?;
    if !has_nightly(&toolchains) {
        bail!("Miri needs a nightly toolchain: rustup toolchain install nightly --profile minimal");
    }
    let installed = ["component", "list", "--toolchain", NIGHTLY, "--installed"];
    let components = run::output(rustup(root).args(installed))?;
    if !is_installed(&components) {
        let add = ["component", "add", "--toolchain", NIGHTLY, "miri", "rust-src"];
        run::run(rustup(root).args(add))?;
    }
    for (package, targets) in TESTS {
        run::run(&mut miri(root, package, targets, options.seeds))
            .with_context(|| format!("Miri on {package}"))?;
    }
    println!("Miri found nothing with {} seeds", options.seeds);
    Ok(())
}

fn rustup(root: &Path) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(root);
    command
}

fn miri(root: &Path, package: &str, targets: &[&str], seeds: u32) -> Command {
    let mut command = rustup(root);
    command.args(["run", NIGHTLY, "cargo", "miri", "test", "--quiet", "--package", package]);
    command.args(targets).env("MIRIFLAGS", format!("-Zmiri-many-seeds=0..{seeds}"));
    command
}

fn has_nightly(toolchains: &str) -> bool {
    toolchains.lines().any(|line| line == NIGHTLY || line.starts_with("nightly-"))
}

fn is_installed(components: &str) -> bool {
    let has = |name: &str| {
        components.lines().any(|line| line == name || line.starts_with(&format!("{name}-")))
    };
    has("miri") && has("rust-src")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toolchains_and_components_are_recognised() {
        assert!(has_nightly("stable-x86_64-unknown-linux-gnu (default)\nnightly-x86_64\n"));
        assert!(!has_nightly("stable-x86_64-unknown-linux-gnu (default)\n"));
        assert!(is_installed("cargo-x86_64\nmiri-x86_64-unknown-linux-gnu\nrust-src\n"));
        assert!(!is_installed("cargo-x86_64\nrust-src\n"));
    }
}
