//! The rules that the tree itself must keep: who depends on whom, what a source file looks like,
//! and that bugs, stories, rules and documents agree.

mod code;
mod packages;
mod project;
mod source;
mod stories;
mod tree;

pub use code::{strip, Keep};
pub use tree::{File, Package, Tree};

use anyhow::{bail, Result};
use std::fmt;
use std::path::Path;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// File, relative to the root; or the name of a package.
    pub place: String,
    /// Line, from 1; 0 is the whole file.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// Only told, never a failure.
    pub is_warning: bool,
}

impl Problem {
    fn new(place: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { place: place.into(), line, what: what.into(), is_warning: false }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_warning { "warning: " } else { "" };
        match self.line {
            0 => write!(f, "{}: {kind}{}", self.place, self.what),
            line => write!(f, "{}:{line}: {kind}{}", self.place, self.what),
        }
    }
}

/// All checks over a tree.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = packages::check(&tree.packages);
    problems.extend(tree.files.iter().flat_map(source::check));
    problems.extend(stories::check(tree));
    problems.extend(project::check(tree));
    problems.sort();
    problems
}

/// Checks the tree at `root`, tells what is wrong on standard error and fails if anything is.
pub fn run(root: &Path) -> Result<()> {
    let problems = check(&Tree::read(root)?);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.iter().filter(|p| !p.is_warning).count() {
        0 => Ok(()),
        n => bail!("{n} places are not tidy"),
    }
}
