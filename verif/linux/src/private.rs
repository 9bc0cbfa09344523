//! A folder of a run's own, for the sockets that a kernel connects to: gone when the run is, or
//! earlier. A run that was killed can not clean up; the next one does it, by the process id in the
//! name.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const PREFIX: &str = "pollproof-linux-";
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed with this value.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
}

impl PrivateDir {
    /// A new folder among the system's temporary files.
    pub fn create() -> io::Result<Self> {
        Self::create_in(&std::env::temp_dir())
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        let number = NEXT.fetch_add(1, Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // Nothing can be done about a folder that does not go away; the next run tries again.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes folders whose process is no more.
fn sweep(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = owner.and_then(|rest| rest.split_once('-')).and_then(|(pid, _)| pid.parse().ok());
        let is_left = pid.is_some_and(|pid: u32| !Path::new(&format!("/proc/{pid}")).exists());
        if is_left {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_value_and_what_others_left_is_swept() {
        let outer = PrivateDir::create().expect("a folder");
        // No process has this id: it is above what Linux gives.
        let left = outer.path().join(format!("{PREFIX}4194305-0"));
        std::fs::create_dir(&left).expect("a folder");
        let inner = PrivateDir::create_in(outer.path()).expect("a folder");
        std::fs::write(inner.path().join("dev.sock"), "").expect("a file");
        assert!(!left.exists());
        let path = inner.path().to_owned();
        drop(inner);
        assert!(!path.exists());
    }
}
