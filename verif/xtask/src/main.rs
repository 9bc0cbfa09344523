//! `cargo xtask`: the developer's tasks.

use anyhow::Result;
use clap::{Parser, Subcommand};
use pollproof_xtask::{
    coverage, docs, explore_fuzz, formal, lockstep, miri, root, run, suite, tidy,
};
use std::process::ExitCode;

/// Developer tasks.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Everything that must hold: format, clippy, tidy, tests, examples in the documentation.
    Test(suite::Options),
    /// The rules that the tree itself must keep.
    Tidy,
    /// Measures which lines run in tests, and holds the floors in .config/coverage.floors.
    Coverage,
    /// Proves invariants of the RTL by induction, and finds a planted fault in each block.
    Formal(formal::Options),
    /// Measures which lines of the RTL run in lock-step.
    RtlCoverage,
    /// Rewrites the expected narratives of the stories.
    Bless,
    /// Compares the explorer with its oracle on random programs, until the time is over.
    ExploreFuzz(explore_fuzz::Options),
    /// Runs tests of the drivers' std build under nightly Miri.
    Miri(miri::Options),
    /// Writes docs/RULES.md from the catalogue of rules.
    GenDocs {
        /// Writes nothing; fails when the file is not what would be written.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    match perform(Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<()> {
    let root = root()?;
    match task {
        Task::Test(options) => suite::run(&root, &options),
        Task::Tidy => tidy::run(&root),
        Task::Coverage => coverage::run(&root),
        Task::Formal(options) => formal::run(&root, &options),
        Task::RtlCoverage => lockstep::coverage(&root),
        Task::Bless => {
            let mut cargo = run::cargo(&root, &["test", "--package", "pollproof-bugs"]);
            run::run(cargo.env("POLLPROOF_BLESS", "1"))
        }
        Task::ExploreFuzz(options) => explore_fuzz::run(&root, &options),
        Task::Miri(options) => miri::run(&root, &options),
        Task::GenDocs { check: false } => docs::write(&root),
        Task::GenDocs { check: true } => docs::check(&root),
    }
}
