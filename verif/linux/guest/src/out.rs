//! What the host reads: whole lines, one write each.
//!
//! They go to the first terminal, which is the host's standard output. The kernel's console, and
//! with it standard output of init, is another one, so that its log does not run into them.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

const TERMINAL: &str = "/dev/tty0";

/// A line that belongs to line `number` of the script.
pub fn line(number: usize, text: &str) {
    raw(&format!("@{number} {text}"));
}

/// A line as it is. A terminal that is gone cannot be told so.
pub fn raw(text: &str) {
    static OUT: OnceLock<Mutex<Box<dyn Write + Send>>> = OnceLock::new();
    let open = || -> Mutex<Box<dyn Write + Send>> {
        match File::options().write(true).open(TERMINAL) {
            Ok(terminal) => Mutex::new(Box::new(terminal)),
            Err(_) => Mutex::new(Box::new(std::io::stdout())),
        }
    };
    let mut out = OUT.get_or_init(open).lock().unwrap_or_else(PoisonError::into_inner);
    let _ = out.write_all(format!("{text}\n").as_bytes());
    let _ = out.flush();
}
