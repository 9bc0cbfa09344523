//! Line coverage of crates that promise one, from what cargo-llvm-cov measured.
//!
//! The promises are in `.config/coverage.floors`: a folder and percent a line, `#` begins a
//! comment.
//! Lines of unit tests count with the rest of their file.

use crate::run;
use anyhow::{bail, Context, Result};
use serde::Deserialize;
use std::path::Path;

/// Where the floors are, from the root.
pub const FLOORS: &str = ".config/coverage.floors";

/// The parts of `cargo llvm-cov --json --summary-only` that are looked at.
#[derive(Debug, Deserialize)]
struct Measured {
    data: Vec<Export>,
}

#[derive(Debug, Deserialize)]
struct Export {
    files: Vec<File>,
}

#[derive(Debug, Deserialize)]
struct File {
    filename: String,
    summary: Summary,
}

#[derive(Debug, Deserialize)]
struct Summary {
    lines: Lines,
}

#[derive(Debug, Deserialize)]
struct Lines {
    count: u64,
    covered: u64,
}

/// Packages whose tests are run: those with a floor, and those that drive them.
const PACKAGES: [&str; 6] = [
    "pollproof-intel-82599",
    "pollproof-ixgbe",
    "pollproof-netcore",
    "pollproof-sched",
    "pollproof-bench",
    "pollproof-bugs",
];

/// Searches that run every scenario again and again are left out: a story of each kind is enough.
const TESTS: &str =
    "not (binary(barriers) | binary(explore) | binary(optimum)) | test(every_story_is)";

/// Runs these tests, instrumented, and holds the floors.
pub fn run(root: &Path) -> Result<()> {
    let cargo = |args: &[&str]| run::cargo(root, args);
    if run::output(&mut cargo(&["llvm-cov", "--version"])).is_err() {
        bail!(
            "cargo-llvm-cov is missing: cargo install cargo-llvm-cov && \
             rustup component add llvm-tools"
        );
    }
    run::run(&mut cargo(&["llvm-cov", "clean", "--workspace", "--profraw-only"]))?;
    let mut tests = cargo(&["llvm-cov", "nextest", "--no-report", "--profile", "ci", "-E", TESTS]);
    run::run(tests.args(PACKAGES.iter().flat_map(|package| ["--package", package])))?;
    let report = ["llvm-cov", "report", "--json", "--summary-only"];
    hold(root, &run::output(&mut cargo(&report))?)
}

/// Holds a measurement to the floors and prints both.
fn hold(root: &Path, json: &str) -> Result<()> {
    let path = root.join(FLOORS);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {FLOORS}"))?;
    let promises = promises(&text)?;
    let measured: Measured =
        serde_json::from_str(json).context("not what cargo-llvm-cov prints")?;
    let mut low = Vec::new();
    for (folder, floor) in promises {
        let sources = root.join(folder).join("src");
        let (covered, count) = lines(&measured, &sources);
        if count == 0 {
            bail!("{FLOORS} names {folder}, of which no line was measured");
        }
        let percent = 100.0 * covered as f64 / count as f64;
        eprintln!("{folder}: {percent:.1} % of {count} lines run, at least {floor:.1} % must");
        if percent < floor {
            low.push(folder);
        }
    }
    if !low.is_empty() {
        bail!("too few lines run in the tests: {}", low.join(", "));
    }
    Ok(())
}

fn promises(text: &str) -> Result<Vec<(&str, f64)>> {
    let lines = (1..).zip(text.lines().map(|l| l.split('#').next().unwrap_or(l).trim()));
    let promises = lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        promise(line).with_context(|| format!("{FLOORS}:{number}: no folder and percent: {line}"))
    });
    promises.collect()
}

fn promise(line: &str) -> Option<(&str, f64)> {
    let (folder, floor) = line.split_once(char::is_whitespace)?;
    let floor = floor.trim().parse().ok()?;
    (0.0..=100.0).contains(&floor).then_some((folder, floor))
}

/// Lines that ran and all lines of the files below a folder.
fn lines(measured: &Measured, folder: &Path) -> (u64, u64) {
    let files = measured.data.iter().flat_map(|export| &export.files);
    let here = files.filter(|file| Path::new(&file.filename).starts_with(folder));
    here.map(|file| &file.summary.lines)
        .fold((0, 0), |sum, lines| (sum.0 + lines.covered, sum.1 + lines.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> String {
        let file = |name: &str, count, covered| {
            let lines = format!(r#"{{"count":{count},"covered":{covered}}}"#);
            format!(r#"{{"filename":"{name}","summary":{{"lines":{lines}}}}}"#)
        };
        let files = [
            file("/r/driver/a/src/lib.rs", 100, 90),
            file("/r/driver/a/src/deep/x.rs", 100, 100),
            file("/r/driver/ab/src/lib.rs", 100, 0),
        ];
        format!(r#"{{"data":[{{"files":[{}]}}],"type":"t","version":"1"}}"#, files.join(","))
    }

    #[test]
    fn lines_of_a_folder_add_up_and_its_namesakes_do_not() {
        let measured = serde_json::from_str(&measured()).expect("a measurement");
        assert_eq!(lines(&measured, Path::new("/r/driver/a/src")), (190, 200));
        assert_eq!(lines(&measured, Path::new("/r/driver/c/src")), (0, 0));
    }

    #[test]
    fn a_folder_below_its_floor_or_without_lines_fails() {
        let root = std::env::temp_dir().join(format!("pollproof-coverage-{}", std::process::id()));
        std::fs::create_dir_all(root.join(".config")).expect("a folder");
        let json = measured().replace("/r/", &format!("{}/", root.display()));
        let with = |floors: &str| {
            std::fs::write(root.join(FLOORS), floors).expect("a file");
            hold(&root, &json).map_err(|e| e.to_string())
        };
        assert_eq!(with("# all\n\ndriver/a 95.0  # some\n"), Ok(()));
        let low = with("driver/a 95.1").expect_err("too low");
        assert_eq!(low, "too few lines run in the tests: driver/a");
        let none = with("driver/none 1").expect_err("nothing there");
        assert!(none.contains("driver/none"), "{none}");
        let wrong = with("\ndriver/a many").expect_err("no number");
        assert!(wrong.contains("floors:2:"), "{wrong}");
        std::fs::remove_dir_all(&root).expect("the folder goes");
    }
}
