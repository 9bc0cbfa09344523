//! What `cargo xtask` does, as a library so that its checks can be tested.

pub mod coverage;
pub mod docs;
pub mod explore_fuzz;
pub mod formal;
pub mod lockstep;
pub mod miri;
pub mod run;
pub mod suite;
pub mod tidy;

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The workspace that this crate is part of.
pub fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).context("xtask lies two folders below the root")?;
    Ok(root.to_path_buf())
}
