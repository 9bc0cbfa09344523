//! Programs that a build runs, and what can go wrong with them.

use super::Cache;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// Lines of a log that an error shows.
const LINES_SHOWN: usize = 12;
/// ENOSPC and what programs print for it.
const NO_SPACE: &str = "No space left on device";

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The machine lacks something that a person must put there.
    #[error("{what}\n  {advice}")]
    Missing {
        /// What is missing.
        what: String,
        /// What to do.
        advice: String,
    },
    /// The disk is full, or will be.
    #[error("not enough room in {}: {what}\n  free some, or name a --cache", folder.display())]
    Full {
        /// Where.
        folder: PathBuf,
        /// How much, or who told.
        what: String,
    },
    /// A program failed.
    #[error("{what} failed; the log is {}\n{tail}", log.display())]
    Program {
        /// What it was to do.
        what: String,
        /// Its output.
        log: PathBuf,
        /// The end of that.
        tail: String,
    },
    /// The source is not what the edits and the configuration were written for.
    #[error("linux-source {version}: {what}")]
    Source {
        /// Version of the package.
        version: String,
        /// What does not fit.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl BuildError {
    /// For `map_err`: an error of this file, or a full disk.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let folder = path.parent().unwrap_or(path).to_owned();
                Self::Full { folder, what: error.to_string() }
            }
            _ => Self::Io { path: path.to_owned(), error },
        }
    }

    /// Whether a person has to change the machine before it can work.
    pub fn is_environment(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Full { .. })
    }
}

/// A program with its log.
pub(super) struct Run<'a> {
    /// Cache that it works for.
    pub cache: &'a Cache,
    /// What it is to do, for people.
    pub what: &'a str,
    /// Program.
    pub program: &'a str,
    /// Folder in which it works; the disk that it fills.
    pub folder: &'a Path,
    /// File for what it prints.
    pub log: &'a Path,
}

impl Run<'_> {
    /// Runs it to its end and shows `line` each line of its standard output.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        line: &mut dyn FnMut(&str),
    ) -> Result<(), BuildError> {
        let mut log = File::create(self.log).map_err(BuildError::io(self.log))?;
        let errors = log.try_clone().map_err(BuildError::io(self.log))?;
        let spawned = Command::new(self.program)
            .args(args)
            .current_dir(self.folder)
            // Messages are searched for words.
            .env("LC_ALL", "C")
            .stdin(self.cache.input())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn();
        let mut child = spawned.map_err(|error| BuildError::Missing {
            what: format!("{}: '{}' cannot be run: {error}", self.what, self.program),
            advice: "install it, or put it on PATH".into(),
        })?;
        if let Some(output) = child.stdout.take() {
            for text in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let text = String::from_utf8_lossy(&text);
                // A log that cannot be written (a full disk) must not stop the reading.
                let _ = writeln!(log, "{text}");
                line(&text);
            }
        }
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(self.failed()),
        }
    }

    fn failed(&self) -> BuildError {
        let bytes = std::fs::read(self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if text.contains(NO_SPACE) {
            let what = format!("{} says '{NO_SPACE}'", self.program);
            return BuildError::Full { folder: self.folder.to_owned(), what };
        }
        let lines: Vec<_> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let mut tail = String::new();
        for line in &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
            let _ = writeln!(tail, "  | {line}");
        }
        let (what, log) = (self.what.to_owned(), self.log.to_owned());
        BuildError::Program { what, log, tail: tail.trim_end().into() }
    }
}

/// What a program prints, if it can be run and succeeds.
pub(super) fn ask(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(script: &str, name: &str) -> BuildError {
        let folder = std::env::temp_dir();
        let log = folder.join(format!("pollproof-{name}-{}", std::process::id()));
        let cache = Cache::at(&folder);
        let what = "the test";
        let run = Run { cache: &cache, what, program: "sh", folder: &folder, log: &log };
        let error = run.run(&["-c", script], &mut |_| {}).unwrap_err();
        std::fs::remove_file(&log).unwrap();
        error
    }

    #[test]
    fn a_program_that_fails_is_told_with_the_end_of_its_log() {
        let error = failure("echo one; echo two >&2; exit 3", "fails").to_string();
        assert!(error.starts_with("the test failed; the log is"), "{error}");
        assert!(error.contains("| one") && error.contains("| two"), "{error}");
    }

    #[test]
    fn a_full_disk_is_told_as_such_whoever_finds_it() {
        let error = failure("echo 'cc1: No space left on device' >&2; exit 1", "full");
        assert!(matches!(error, BuildError::Full { .. }) && error.is_environment(), "{error}");
        let error = BuildError::io(Path::new("a"))(io::Error::from_raw_os_error(28));
        assert!(matches!(error, BuildError::Full { .. }), "{error}");
        let error = BuildError::io(Path::new("a"))(io::Error::from_raw_os_error(2));
        assert!(matches!(error, BuildError::Io { .. }) && !error.is_environment(), "{error}");
    }
}
