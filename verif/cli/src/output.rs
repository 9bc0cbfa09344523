//! Standard output that survives a reader who leaves.
//!
//! `println!` panics when a pipe is closed; here the process ends quietly, as others do.

use crate::exit;
use std::fmt::Arguments;
use std::io::Write;

/// Writes to standard output; ends the process when nobody reads any more.
pub fn write(text: Arguments<'_>) {
    // The lock is free again before the process ends, which flushes.
    if std::io::stdout().write_fmt(text).is_err() {
        std::process::exit(exit::CLOSED_PIPE);
    }
}

/// As `print!`.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::output::write(format_args!($($text)*)) };
}

/// As `println!`.
#[macro_export]
macro_rules! outln {
    () => { $crate::out!("\n") };
    ($($text:tt)*) => { $crate::output::write(format_args!("{}\n", format_args!($($text)*))) };
}
