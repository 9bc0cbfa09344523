//! Where kernels are kept, and how one is found.

use super::{guest, BuildError, Kind};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// The folder that kernels are kept in.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    lock: Option<Arc<File>>,
}

/// A kernel that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Which.
    pub kind: Kind,
    /// Version of the source package.
    pub version: String,
    /// The kernel, a program of the host.
    pub vmlinux: PathBuf,
    /// Its first file system with the guest's init. A run appends [`super::cpio::with_script`].
    pub initrd: PathBuf,
}

impl Cache {
    /// In this folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), lock: None }
    }

    /// The same, for one build at a time. Programs of a build get the lock as their input, so that
    /// it is held until the last of them has ended, even if the build was killed.
    pub(super) fn locked(&self, wait: &mut dyn FnMut()) -> Result<Self, BuildError> {
        let path = self.path("lock");
        let file = File::create(&path).map_err(BuildError::io(&path))?;
        if file.try_lock().is_err() {
            wait();
            file.lock().map_err(BuildError::io(&path))?;
        }
        Ok(Self { root: self.root.clone(), lock: Some(Arc::new(file)) })
    }

    /// Input for a program of a build: empty.
    pub(super) fn input(&self) -> Stdio {
        let lock = self.lock.as_ref().and_then(|lock| lock.try_clone().ok());
        lock.map_or_else(Stdio::null, Stdio::from)
    }

    /// `pollproof` in the user's cache directory; none without a home.
    pub fn of_user() -> Option<Self> {
        let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
        Some(Self::at(cache.join("pollproof")))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file or folder in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Folder of a kernel of this version.
    pub(super) fn kernel(&self, kind: Kind, version: &str) -> PathBuf {
        self.path(&format!("kernel-{}-{}-{version}", kind.name(), kind.key()))
    }

    /// The guest's file system.
    pub(super) fn initrd(&self) -> PathBuf {
        self.path(&format!("guest-{}.cpio", guest::key()))
    }

    /// Bytes in the cache, for people to see.
    pub fn bytes(&self) -> u64 {
        fn of(path: &Path) -> u64 {
            let Ok(about) = path.symlink_metadata() else { return 0 };
            if !about.is_dir() {
                return about.len();
            }
            let entries = path.read_dir().into_iter().flatten().flatten();
            entries.map(|entry| of(&entry.path())).sum()
        }
        of(&self.root)
    }

    /// What begins with one of `prefixes` is removed.
    pub(super) fn remove(&self, prefixes: &[&str]) -> Result<(), BuildError> {
        for entry in self.root.read_dir().map_err(BuildError::io(&self.root))?.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if !prefixes.iter().any(|p| name.to_string_lossy().starts_with(p)) {
                continue;
            }
            let is_folder = path.symlink_metadata().is_ok_and(|about| about.is_dir());
            let gone = if is_folder {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            gone.map_err(BuildError::io(&path))?;
        }
        Ok(())
    }
}

/// The newest kernel of a kind that this binary would build, if it is there with its guest.
pub fn find(cache: &Cache, kind: Kind) -> Option<Built> {
    let initrd = cache.initrd();
    initrd.is_file().then_some(())?;
    find_kernel(cache, kind).map(|(version, vmlinux)| Built { kind, version, vmlinux, initrd })
}

/// Version and path of the newest kernel of a kind.
pub(super) fn find_kernel(cache: &Cache, kind: Kind) -> Option<(String, PathBuf)> {
    let prefix = format!("kernel-{}-{}-", kind.name(), kind.key());
    let entries = cache.root.read_dir().ok()?.flatten();
    let versions = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix(&prefix).filter(|v| !v.ends_with(".part"))?;
        let vmlinux = entry.path().join("linux");
        vmlinux.is_file().then(|| (version.to_owned(), vmlinux))
    });
    versions.max_by_key(|(version, _)| numbers(version))
}

/// The numbers of a version, so that 6.12.9 is older than 6.12.117.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter(|part| !part.is_empty()).map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn scratch(name: &str) -> Cache {
        let root = std::env::temp_dir().join(format!("pollproof-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        Cache::at(root)
    }

    fn put(cache: &Cache, kind: Kind, version: &str) {
        let folder = cache.kernel(kind, version);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("linux"), "").unwrap();
    }

    #[test]
    fn a_kernel_is_found_by_kind_and_key_and_the_newest_of_them() {
        let cache = scratch("find");
        assert_eq!(find(&cache, Kind::Plain), None);
        put(&cache, Kind::Plain, "6.12.9-1");
        put(&cache, Kind::Plain, "6.12.117-1");
        put(&cache, Kind::Plain, "6.13.1.part");
        assert_eq!(find(&cache, Kind::Plain), None, "without its guest it cannot run");
        std::fs::write(cache.initrd(), "").unwrap();
        assert_eq!(find(&cache, Kind::Plain).unwrap().version, "6.12.117-1");
        assert_eq!(find(&cache, Kind::Sanitizers), None);
        let other = cache.path(&format!("kernel-sanitizers-{}-6.12.1", Kind::Plain.key()));
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("linux"), "").unwrap();
        assert_eq!(find(&cache, Kind::Sanitizers), None, "its key is another one");
        std::fs::remove_dir_all(cache.root()).unwrap();
    }

    #[test]
    fn a_lock_is_held_until_the_last_program_of_a_build_has_ended() {
        let cache = scratch("lock");
        let build = cache.locked(&mut || panic!("nobody else is there")).unwrap();
        let mut program = Command::new("sleep").arg("1000").stdin(build.input()).spawn().unwrap();
        // As if the build were killed.
        drop(build);
        let mut waited = false;
        let again = cache.locked(&mut || {
            waited = true;
            program.kill().unwrap();
            program.wait().unwrap();
        });
        assert!(again.is_ok() && waited);
        std::fs::remove_dir_all(cache.root()).unwrap();
    }

    #[test]
    fn only_what_begins_so_is_removed() {
        let cache = scratch("remove");
        std::fs::create_dir_all(cache.path("tree-1/deep")).unwrap();
        std::fs::write(cache.path("work-1"), "12345").unwrap();
        put(&cache, Kind::Plain, "1");
        assert_eq!(cache.bytes(), 5);
        cache.remove(&["tree-", "work-"]).unwrap();
        assert_eq!(cache.root().read_dir().unwrap().count(), 1);
        std::fs::remove_dir_all(cache.root()).unwrap();
    }
}
