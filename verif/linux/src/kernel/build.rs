//! From nothing to a kernel that runs: packages, source, edits, configuration, make, guest.
//!
//! Every stage can be cut short anywhere and is gone on with by the next build: what is whole has
//! its final name, and make goes on by itself.

use super::cache::find_kernel;
use super::command::{ask, Run};
use super::source::{self, Package};
use super::{config, edits, find, guest, tools, BuildError, Built, Cache, Kind};
use std::fs;
use std::path::{Path, PathBuf};

/// Room that a build takes at its worst, and that is asked for before it begins.
const ROOM_MIB: u64 = 1500;
/// What a build leaves behind unless it is asked to keep it.
const SCRATCH: &[&str] = &["source-", "tree-", "tree.", "work-", "download.", "guest.part", "log-"];

/// How to build.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Processes of make beside each other.
    pub jobs: usize,
    /// Keep source and objects: the next build with other edits is faster.
    pub keep_source: bool,
}

/// What is being done.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Waits for another build, or for what is left of one that was killed.
    Wait,
    /// Installs these packages.
    Install(String),
    /// Downloads this version of the source.
    Download(String),
    /// Unpacks and edits it.
    Unpack,
    /// Configures a kernel.
    Configure(Kind),
    /// Compiles a kernel: files done, and about how many there are.
    Compile(Kind, u32, u32),
    /// Compiles the guest's init.
    Guest,
}

impl Stage {
    /// Processor seconds that this and all that follows for its kernel take, as measured once on a
    /// server of 2026; for an estimate, no more.
    pub fn cpu_seconds_left(&self) -> u32 {
        match self {
            Stage::Compile(kind, done, all) => {
                compile_cpu_seconds(*kind) * (all.saturating_sub(*done)) / (*all).max(1)
            }
            Stage::Configure(kind) => compile_cpu_seconds(*kind),
            _ => 0,
        }
    }
}

/// As measured, see [`Stage::cpu_seconds_left`].
fn compile_cpu_seconds(kind: Kind) -> u32 {
    match kind {
        Kind::Plain => 400,
        Kind::Sanitizers => 750,
        Kind::Planted => 40,
    }
}

/// Files that make compiles, for a fraction to show.
fn files(kind: Kind) -> u32 {
    match kind {
        Kind::Plain => 690,
        Kind::Sanitizers => 720,
        Kind::Planted => 25,
    }
}

/// Told of each stage as it begins, and of the files of a compilation.
pub type Watch<'a> = dyn FnMut(&Stage) + 'a;

/// Builds what is missing of `kinds`; gives them in the order of [`Kind::ALL`].
pub fn build(
    cache: &Cache,
    kinds: &[Kind],
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Vec<Built>, BuildError> {
    let wanted = || Kind::ALL.into_iter().filter(|kind| kinds.contains(kind));
    let built = || wanted().filter_map(|kind| find(cache, kind)).collect::<Vec<_>>();
    if built().len() == wanted().count() {
        return Ok(built());
    }
    fs::create_dir_all(cache.root()).map_err(BuildError::io(cache.root()))?;
    let cache = &cache.locked(&mut || watch(&Stage::Wait))?;
    tools::provide(cache, &mut |packages| watch(&Stage::Install(packages.into())))?;
    if !cache.initrd().is_file() {
        watch(&Stage::Guest);
        guest::build(cache)?;
    }
    let missing: Vec<_> = wanted().filter(|&kind| find_kernel(cache, kind).is_none()).collect();
    if !missing.is_empty() {
        enough_room(cache)?;
        let package = source::package(cache)?;
        if !package.file.is_file() {
            watch(&Stage::Download(package.version.clone()));
        }
        source::download(cache, &package)?;
        let mut begins = || watch(&Stage::Unpack);
        let tree = source::unpack(cache, &package, edits::COMMON, &mut begins)?;
        for kind in missing {
            kernel(cache, &package, &tree, kind, options.jobs, watch)?;
        }
    }
    if !options.keep_source {
        cache.remove(SCRATCH)?;
    }
    Ok(built())
}

fn enough_room(cache: &Cache) -> Result<(), BuildError> {
    let folder = cache.root().to_owned();
    let told = ask("df", &["-m", "--output=avail", &folder.display().to_string()]);
    let free = told.and_then(|text| text.lines().last()?.trim().parse::<u64>().ok());
    match free {
        Some(free) if free < ROOM_MIB => {
            let what = format!("{free} MiB are free, a build takes up to {ROOM_MIB} MiB");
            Err(BuildError::Full { folder, what })
        }
        // Where df does not tell, a full disk tells itself.
        _ => Ok(()),
    }
}

fn kernel(
    cache: &Cache,
    package: &Package,
    tree: &Path,
    kind: Kind,
    jobs: usize,
    watch: &mut Watch<'_>,
) -> Result<(), BuildError> {
    // The planted kernel is the one with sanitizers but for one driver, and shares its objects.
    let shared = if kind == Kind::Planted { Kind::Sanitizers } else { kind };
    let work = cache.path(&format!("work-{}-{}", shared.key(), package.version));
    fs::create_dir_all(&work).map_err(BuildError::io(&work))?;
    plant(tree, &package.version, kind == Kind::Planted)?;
    let make = Make { cache, tree, work: &work, kind };
    watch(&Stage::Configure(kind));
    make.configure(&package.version)?;
    make.compile(jobs, watch)?;
    let folder = cache.kernel(kind, &package.version);
    let part = source::fresh(folder.with_extension("part"))?;
    let copy = |from: &str, to: &str| {
        let (from, to) = (work.join(from), part.join(to));
        fs::copy(&from, &to).map_err(BuildError::io(&to))
    };
    copy(".config", "config")?;
    copy("linux", "linux")?;
    fs::rename(&part, &folder).map_err(BuildError::io(&folder))
}

/// Puts the planted bugs into the source, or takes them out. The original is kept beside; the file
/// that make reads is written anew only when it changes, so that make compiles it then.
fn plant(tree: &Path, version: &str, planted: bool) -> Result<(), BuildError> {
    let Some(file) = edits::PLANTED.first().map(|edit| tree.join(edit.file)) else { return Ok(()) };
    let sound = file.with_extension("c.sound");
    if !sound.exists() {
        let text = fs::read(&file).map_err(BuildError::io(&file))?;
        source::write_whole(&sound, &text)?;
    }
    let read = |path: &PathBuf| fs::read(path).map_err(BuildError::io(path));
    let original = read(&sound)?;
    if planted {
        source::write_whole(&file, &original)?;
        source::edit(tree, version, edits::PLANTED)
    } else if read(&file)? != original {
        source::write_whole(&file, &original)
    } else {
        Ok(())
    }
}

struct Make<'a> {
    cache: &'a Cache,
    tree: &'a Path,
    work: &'a Path,
    kind: Kind,
}

impl Make<'_> {
    fn run(
        &self,
        what: &str,
        args: &[String],
        line: &mut dyn FnMut(&str),
    ) -> Result<(), BuildError> {
        let log = self.cache.path(&format!("log-{}", self.kind.name()));
        // No name of this machine or this hour in the kernel: the same source gives the same one.
        let fixed = [
            "ARCH=um",
            "KBUILD_BUILD_TIMESTAMP=1970-01-01",
            "KBUILD_BUILD_VERSION=1",
            "KBUILD_BUILD_USER=pollproof",
            "KBUILD_BUILD_HOST=pollproof",
        ];
        let mut all: Vec<String> = fixed.map(String::from).to_vec();
        all.push(format!("O={}", self.work.display()));
        all.extend(args.iter().cloned());
        Run { cache: self.cache, what, program: "make", folder: self.tree, log: &log }
            .run(&all, line)
    }

    fn configure(&self, version: &str) -> Result<(), BuildError> {
        let dot_config = self.work.join(".config");
        let text = || fs::read_to_string(&dot_config).unwrap_or_default();
        // A configuration that is written again makes make look at every file again.
        if !config::dropped(self.kind, &text()).is_empty() {
            let fragment = self.work.join("fragment");
            let wanted = config::fragment(self.kind);
            fs::write(&fragment, wanted).map_err(BuildError::io(&fragment))?;
            let all = format!("KCONFIG_ALLCONFIG={}", fragment.display());
            self.run("configuring the kernel", &[all, "allnoconfig".into()], &mut |_| {})?;
        }
        match config::dropped(self.kind, &text()) {
            dropped if dropped.is_empty() => Ok(()),
            dropped => {
                let what = format!("its configuration drops {}", dropped.join(" "));
                Err(BuildError::Source { version: version.into(), what })
            }
        }
    }

    fn compile(&self, jobs: usize, watch: &mut Watch<'_>) -> Result<(), BuildError> {
        let (mut done, all) = (0, files(self.kind));
        watch(&Stage::Compile(self.kind, done, all));
        let args = [format!("-j{}", jobs.max(1)), "linux".into()];
        self.run("compiling the kernel", &args, &mut |line| {
            if line.trim_start().starts_with("CC ") {
                done += 1;
                watch(&Stage::Compile(self.kind, done, all.max(done)));
            }
        })
    }
}
