//! The source: Debian's package, unpacked without what a User Mode Linux kernel never compiles.

use super::command::{ask, Run};
use super::edits::{apply, Edit};
use super::{key, BuildError, Cache};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The package, of bookworm and trixie.
pub const PACKAGE: &str = "linux-source-6.12";
/// What is left out belongs to the key: change this with the lists below.
pub const LEFT_OUT_VERSION: &str = "1";

/// Folders of which only Kconfig and make files are unpacked: 411 MB of 1.7 GB are left.
const WITHOUT_CODE: &[&str] = &[
    "arch/alpha",
    "arch/arc",
    "arch/arm",
    "arch/arm64",
    "arch/csky",
    "arch/hexagon",
    "arch/loongarch",
    "arch/m68k",
    "arch/microblaze",
    "arch/mips",
    "arch/nios2",
    "arch/openrisc",
    "arch/parisc",
    "arch/powerpc",
    "arch/riscv",
    "arch/s390",
    "arch/sh",
    "arch/sparc",
    "arch/xtensa",
    "drivers/accel",
    "drivers/bluetooth",
    "drivers/clk",
    "drivers/crypto",
    "drivers/gpu",
    "drivers/hid",
    "drivers/hwmon",
    "drivers/iio",
    "drivers/infiniband",
    "drivers/input",
    "drivers/md",
    "drivers/media",
    "drivers/mfd",
    "drivers/mtd",
    "drivers/net/wireless",
    "drivers/nvme",
    "drivers/phy",
    "drivers/pinctrl",
    "drivers/platform",
    "drivers/power",
    "drivers/regulator",
    "drivers/scsi",
    "drivers/soc",
    "drivers/staging",
    "drivers/target",
    "drivers/usb",
    "drivers/video",
    "fs/bcachefs",
    "fs/btrfs",
    "fs/ext4",
    "fs/f2fs",
    "fs/ocfs2",
    "fs/smb",
    "fs/xfs",
    "sound",
];
const CODE: &[&str] = &["c", "h", "S", "dts", "dtsi"];
const WHOLLY_OUT: &[&str] = &["Documentation/*.rst", "Documentation/*.yaml", "Documentation/*.svg"];
const FOLDERS_OUT: &[&str] = &["Documentation/ABI", "tools/testing", "tools/perf"];

/// The package file in the cache.
pub struct Package {
    /// Its version.
    pub version: String,
    /// The `.deb`, not yet there maybe.
    pub file: PathBuf,
}

/// The version that a build takes: one that is in the cache already, else the newest that apt has.
pub fn package(cache: &Cache) -> Result<Package, BuildError> {
    let of = |version: String| {
        let file = cache.path(&format!("source-{version}.deb"));
        Package { version, file }
    };
    let entries = cache.root().read_dir().map_err(BuildError::io(cache.root()))?;
    let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
    let kept = names.filter_map(|name| {
        let middle = name.strip_prefix("source-")?.strip_suffix(".deb")?;
        Some(middle.to_owned())
    });
    if let Some(version) = kept.max() {
        return Ok(of(version));
    }
    let policy = ask("apt-cache", &["policy", PACKAGE]).unwrap_or_default();
    let candidate = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate:"));
    match candidate.map(str::trim) {
        Some(version) if version != "(none)" && is_plain(version) => Ok(of(version.into())),
        _ => Err(BuildError::Missing {
            what: format!("apt knows no package {PACKAGE}"),
            advice: "Debian 12 or 13 has it; 'apt-get update' as root may help".into(),
        }),
    }
}

/// Whether a version can be part of a file's name.
fn is_plain(version: &str) -> bool {
    let ok = |c: char| c.is_ascii_alphanumeric() || ".+~-".contains(c);
    !version.is_empty() && version.chars().all(ok)
}

/// Brings the package into the cache; needs no root.
pub fn download(cache: &Cache, package: &Package) -> Result<(), BuildError> {
    if package.file.is_file() {
        return Ok(());
    }
    let part = fresh(cache.path("download.part"))?;
    let (log, args) = (cache.path("log-download"), ["download", &at_version(&package.version)]);
    let run = Run {
        cache,
        what: "downloading the kernel's source",
        program: "apt-get",
        folder: &part,
        log: &log,
    };
    run.run(&args, &mut |_| {}).map_err(|error| match error {
        BuildError::Program { .. } => BuildError::Missing {
            what: error.to_string(),
            advice: "the kernel's source comes from Debian's archive: is it reachable?".into(),
        },
        other => other,
    })?;
    let got = part.read_dir().map_err(BuildError::io(&part))?.flatten().next();
    let got = got.ok_or_else(|| BuildError::Source {
        version: package.version.clone(),
        what: format!("apt-get download brought no file; see {}", log.display()),
    })?;
    fs::rename(got.path(), &package.file).map_err(BuildError::io(&package.file))?;
    fs::remove_dir_all(&part).map_err(BuildError::io(&part))
}

fn at_version(version: &str) -> String {
    format!("{PACKAGE}={version}")
}

/// Unpacks the package and makes the edits that every kernel has; gives the top of the source.
/// `begins` is told if there is anything to do.
pub fn unpack(
    cache: &Cache,
    package: &Package,
    edits: &[Edit],
    begins: &mut dyn FnMut(),
) -> Result<PathBuf, BuildError> {
    let made_of = key(&[&format!("{edits:?}"), LEFT_OUT_VERSION]);
    let tree = cache.path(&format!("tree-{}-{made_of}", package.version));
    if tree.is_dir() {
        return Ok(tree);
    }
    begins();
    let part = fresh(cache.path("tree.part"))?;
    let (log, top) = (cache.path("log-unpack"), part.join("linux"));
    fs::create_dir(&top).map_err(BuildError::io(&top))?;
    let run = |program, what, args: &[String]| {
        Run { cache, what, program, folder: &part, log: &log }.run(args, &mut |_| {})
    };
    let file = package.file.display().to_string();
    run("dpkg-deb", "unpacking the package", &["-x".into(), file, ".".into()])?;
    let archive = format!("usr/src/{PACKAGE}.tar.xz");
    let mut args = vec!["-xf".into(), archive, "--strip-components=1".into(), "-Clinux".into()];
    args.extend(excluded());
    run("tar", "unpacking the source", &args)?;
    edit(&top, &package.version, edits)?;
    fs::rename(&top, &tree).map_err(BuildError::io(&tree))?;
    fs::remove_dir_all(&part).map_err(BuildError::io(&part))?;
    Ok(tree)
}

fn excluded() -> Vec<String> {
    let code = WITHOUT_CODE.iter().flat_map(|folder| {
        CODE.iter().map(move |ending| format!("--exclude={PACKAGE}/{folder}/*.{ending}"))
    });
    let whole = WHOLLY_OUT.iter().chain(FOLDERS_OUT).map(|w| format!("--exclude={PACKAGE}/{w}"));
    code.chain(whole).collect()
}

/// Makes edits in an unpacked source. Each file is written once, whole.
pub fn edit(top: &Path, version: &str, edits: &[Edit]) -> Result<(), BuildError> {
    let mut files: Vec<(&str, String)> = Vec::new();
    for edit in edits {
        if !files.iter().any(|f| f.0 == edit.file) {
            let path = top.join(edit.file);
            let text = match fs::read_to_string(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound && edit.function.is_empty() => {
                    String::new()
                }
                read => read.map_err(BuildError::io(&path))?,
            };
            files.push((edit.file, text));
        }
        for (_, text) in files.iter_mut().filter(|f| f.0 == edit.file) {
            let told = |error: super::edits::EditError| BuildError::Source {
                version: version.into(),
                what: format!("{error}: the edits do not fit this kernel"),
            };
            *text = apply(text, edit).map_err(told)?;
        }
    }
    for (file, text) in files {
        write_whole(&top.join(file), text.as_bytes())?;
    }
    Ok(())
}

/// Writes beside the file, then renames. Its time is now, so that make sees it.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        // What is half written helps nobody; if even that fails the first error says more.
        let _ = fs::remove_file(&beside);
        BuildError::io(path)(error)
    })
}

/// An empty folder; what was in it is gone.
pub fn fresh(path: PathBuf) -> Result<PathBuf, BuildError> {
    if path.exists() {
        fs::remove_dir_all(&path).map_err(BuildError::io(&path))?;
    }
    fs::create_dir_all(&path).map_err(BuildError::io(&path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_leads_elsewhere_is_refused() {
        assert!(is_plain("6.12.117-1~deb12u1"));
        assert!(!is_plain("../6.12") && !is_plain("") && !is_plain("6.12 1"));
    }

    #[test]
    fn kconfig_files_are_never_left_out() {
        let all = excluded();
        assert!(all.contains(&format!("--exclude={PACKAGE}/drivers/gpu/*.c")));
        assert!(all.iter().all(|e| !e.contains("Kconfig") && !e.ends_with("drivers/gpu/*")));
    }
}
