//! Exit codes, all of them.

use pollproof_bugs::check::Status;

/// Something was checked and nothing found.
pub const CLEAN: u8 = 0;
/// A rule was broken, or a bug was missed.
pub const FINDINGS: u8 = 1;
/// The command line or an input makes no sense.
pub const USAGE: u8 = 2;
/// A limit was hit, or a point that must be reached was not.
pub const INCONCLUSIVE: u8 = 3;
/// Nothing was selected.
pub const NOTHING: u8 = 4;
/// The machine lacks what was asked for.
pub const ENVIRONMENT: u8 = 5;
/// Nobody read the output to its end; what a shell gives for SIGPIPE.
pub const CLOSED_PIPE: i32 = 141;
/// A fault of the suite itself.
pub const INTERNAL: u8 = 70;

/// The code of a status.
pub fn of(status: Status) -> u8 {
    match status {
        Status::Clean => CLEAN,
        Status::Findings => FINDINGS,
        Status::Inconclusive => INCONCLUSIVE,
        Status::NothingSelected => NOTHING,
    }
}
