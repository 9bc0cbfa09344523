//! Running cargo and git.

use anyhow::{bail, Context, Result};
use std::path::Path;
use std::process::Command;

/// `cargo` with arguments, in the workspace.
pub fn cargo(root: &Path, args: &[&str]) -> Command {
    // Set by cargo for what it runs: the same toolchain goes on.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root);
    command
}

/// Runs a command with our output; fails when it does.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("cannot run {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// Runs a command and gives what it printed; fails when it does.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("{shown}: {}: {}", output.status, why.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} printed no UTF-8"))
}

/// A command as one would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
