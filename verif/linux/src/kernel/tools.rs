//! What a build needs of the machine, and how it gets there.

use super::command::{ask, Run};
use super::{BuildError, Cache};
use std::path::Path;

/// Programs, and the packages that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
    ("tar", "tar"),
];
/// A file that gcc finds if the C library's static half is there.
const STATIC_LIBRARY: (&str, &str) = ("libc.a", "libc6-dev");

/// Packages that are missing.
pub fn missing() -> Vec<&'static str> {
    let on_path = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    let mut missing: Vec<_> =
        PROGRAMS.iter().filter(|(program, _)| !on_path(program)).map(|p| p.1).collect();
    // gcc gives the bare name back when it finds nothing.
    let name = format!("-print-file-name={}", STATIC_LIBRARY.0);
    let found = ask("gcc", &[&name]).is_some_and(|path| Path::new(&path).is_absolute());
    if !found {
        missing.push(STATIC_LIBRARY.1);
    }
    missing
}

/// Installs what is missing where this user may, else says how.
pub fn provide(cache: &Cache, told: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
    if ask("apt-get", &["--version"]).is_none() {
        return Err(BuildError::Missing {
            what: "there is no apt-get here, and the kernel's source is a package of Debian".into(),
            advice: "build on Debian 12 or 13, and copy the cache".into(),
        });
    }
    if ask(rustc(), &["--version"]).is_none() {
        return Err(BuildError::Missing {
            what: "rustc is not on PATH; the guest's init is compiled with it".into(),
            advice: "install Rust, see rustup.rs".into(),
        });
    }
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages = missing.join(" ");
    let is_root = ask("id", &["-u"]).as_deref() == Some("0");
    let may_sudo = || ask("sudo", &["-n", "true"]).is_some();
    let (program, first) = match (is_root, is_root || may_sudo()) {
        (true, _) => ("apt-get", vec![]),
        (false, true) => ("sudo", vec!["-n", "apt-get"]),
        (false, false) => {
            return Err(BuildError::Missing {
                what: format!("packages are missing: {packages}"),
                advice: format!("sudo apt-get install --no-install-recommends {packages}"),
            })
        }
    };
    told(&packages);
    let log = cache.path("log-install");
    let what = "installing packages";
    let run = Run { cache, what, program, folder: cache.root(), log: &log };
    let rest = ["install", "--yes", "--no-install-recommends"];
    let args: Vec<&str> = first.into_iter().chain(rest).chain(missing.iter().copied()).collect();
    run.run(&args, &mut |_| {})
}

/// The compiler of the guest.
pub fn rustc() -> &'static str {
    "rustc"
}
