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
    let known = is_known(super::source::PACKAGE);
    if missing.is_empty() && known {
        return Ok(());
    }
    let packages = missing.join(" ");
    let is_root = ask("id", &["-u"]).as_deref() == Some("0");
    let may_sudo = || ask("sudo", &["-n", "true"]).is_some();
    let (program, first) = match (is_root, is_root || may_sudo()) {
        (true, _) => ("apt-get", vec![]),
        (false, true) => ("sudo", vec!["-n", "apt-get"]),
        // Nobody may bring the lists up to date; whether the source is there is seen later.
        (false, false) if missing.is_empty() => return Ok(()),
        (false, false) => {
            return Err(BuildError::Missing {
                what: format!("packages are missing: {packages}"),
                advice: by_hand(&packages),
            })
        }
    };
    told(if packages.is_empty() { "lists of packages" } else { &packages });
    let apt = |what, name: &str, rest: &[&str]| {
        let log = cache.path(name);
        let run = Run { cache, what, program, folder: cache.root(), log: &log };
        run.run(&[&first[..], rest].concat(), &mut |_| {}).map_err(|error| match error {
            BuildError::Program { .. } => {
                BuildError::Missing { what: error.to_string(), advice: by_hand(&packages) }
            }
            other => other,
        })
    };
    // A fresh machine has no lists, and old ones name packages that are gone.
    let updated = apt("bringing the lists of packages up to date", "log-update", &["update"]);
    if missing.is_empty() {
        // The source may be in the cache; if not, that is said when it is looked for.
        return Ok(());
    }
    updated?;
    let install = [&["install", "--yes", "--no-install-recommends"], &missing[..]].concat();
    apt("installing packages", "log-install", &install)
}

/// The lines that a person types instead.
fn by_hand(packages: &str) -> String {
    let install = format!("sudo apt-get install --no-install-recommends {packages}");
    if packages.is_empty() {
        "sudo apt-get update".into()
    } else {
        format!("sudo apt-get update && {install}")
    }
}

/// Whether apt knows where a package is.
fn is_known(package: &str) -> bool {
    let policy = ask("apt-cache", &["policy", package]).unwrap_or_default();
    policy.lines().any(|line| {
        let candidate = line.trim().strip_prefix("Candidate:").map(str::trim);
        candidate.is_some_and(|version| version != "(none)")
    })
}

/// The compiler of the guest.
pub fn rustc() -> &'static str {
    "rustc"
}
