//! Progress on standard error, and the clock of processor time.

use std::io::{IsTerminal, Write};

/// Shows what is being done: a line that changes on a terminal, nothing elsewhere.
pub struct Progress {
    live: bool,
    shown: usize,
}

impl Progress {
    /// Shows nothing when `quiet`, or when nobody looks.
    pub fn new(quiet: bool) -> Self {
        Self { live: !quiet && std::io::stderr().is_terminal(), shown: 0 }
    }

    /// Whether anybody looks.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// What is about to run.
    pub fn tell(&mut self, what: &str) {
        if self.live {
            let mut err = std::io::stderr();
            let _ = write!(err, "\r{what:<width$}", width = self.shown);
            let _ = err.flush();
            self.shown = what.len();
        }
    }

    /// Clears the line.
    pub fn done(&mut self) {
        if self.live && self.shown > 0 {
            eprint!("\r{:width$}\r", "", width = self.shown);
        }
    }
}

/// Processor seconds that this process has used; 0 where the system does not tell.
pub fn cpu_seconds() -> f64 {
    cpu_seconds_of("self").unwrap_or(0.0)
}

/// Those that this thread has used; 0 where the system does not tell.
pub fn thread_seconds() -> f64 {
    cpu_seconds_of("thread-self").unwrap_or(0.0)
}

/// Those of the process that /proc names so.
pub fn cpu_seconds_of(process: &str) -> Option<f64> {
    two_ticks(process, 14)
}

/// Processor seconds of the children that this process has waited for, and of theirs.
pub fn cpu_seconds_of_children() -> f64 {
    two_ticks("self", 16).unwrap_or(0.0)
}

/// Two fields of proc(5) stat together, from this one on, which are in ticks of 1/100 s on every
/// Linux port.
fn two_ticks(process: &str, field: usize) -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, is the second field and may hold spaces.
    let after_name = stat.rsplit_once(')')?.1;
    let fields = after_name.split_whitespace().skip(field - 3);
    let ticks = fields.take(2).map(|f| f.parse::<u64>().ok());
    Some(ticks.sum::<Option<u64>>()? as f64 / TICKS_PER_SECOND)
}
