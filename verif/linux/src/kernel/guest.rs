//! The guest's first file system: our init, compiled from the source that this binary carries.

use super::command::Run;
use super::cpio::Archive;
use super::source::{fresh, write_whole};
use super::{tools, BuildError, Cache};
use std::fs;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../guest/src/", $name)))),*]
    };
}

const SOURCES: &[(&str, &str)] = sources![
    "main.rs",
    "command.rs",
    "ethtool.rs",
    "iface.rs",
    "netlink.rs",
    "out.rs",
    "packet.rs",
    "ping.rs",
    "sockets.rs",
    "sys.rs",
];

/// Static, and at a fixed place: a kernel in user mode has less to do. A panic ends init, which the
/// kernel then tells.
const FLAGS: &[&str] = &[
    "--edition=2021",
    "-O",
    "-Ctarget-feature=+crt-static",
    "-Crelocation-model=static",
    "-Cpanic=abort",
    "-Cstrip=symbols",
    "main.rs",
    "-oinit",
];

/// What it is made of.
pub fn key() -> String {
    let parts: Vec<&str> =
        SOURCES.iter().flat_map(|s| [s.0, s.1]).chain(FLAGS.iter().copied()).collect();
    super::key(&parts)
}

/// Compiles init and packs it, unless that was done.
pub fn build(cache: &Cache) -> Result<(), BuildError> {
    let initrd = cache.initrd();
    if initrd.is_file() {
        return Ok(());
    }
    let folder = fresh(cache.path("guest.part"))?;
    for (name, text) in SOURCES {
        let path = folder.join(name);
        fs::write(&path, text).map_err(BuildError::io(&path))?;
    }
    let log = cache.path("log-guest");
    let what = "compiling the guest's init";
    Run { cache, what, program: tools::rustc(), folder: &folder, log: &log }
        .run(FLAGS, &mut |_| {})?;
    let init = folder.join("init");
    let init = fs::read(&init).map_err(BuildError::io(&init))?;
    write_whole(&initrd, &archive(&init))?;
    fs::remove_dir_all(&folder).map_err(BuildError::io(&folder))
}

fn archive(init: &[u8]) -> Vec<u8> {
    // The kernel opens the console before init can mount anything; std wants the other, if that
    // fails.
    let folders = ["dev", "proc", "sys"];
    let archive = folders.iter().fold(Archive::default(), |archive, name| archive.directory(name));
    archive.device("dev/console", 5, 1).device("dev/null", 1, 3).program("init", init).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_guest_is_carried() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/src");
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut there: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        let mut carried: Vec<_> = SOURCES.iter().map(|s| s.0.to_owned()).collect();
        there.sort();
        carried.sort();
        assert_eq!(there, carried);
    }
}
