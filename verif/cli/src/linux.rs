//! `pollproof linux`: kernels, built and run.

use crate::args::{LinuxBuildArgs, LinuxCommand};
use crate::exit;
use crate::progress::{cpu_seconds_of_children, Progress};
use anyhow::{anyhow, bail};
use pollproof_linux::kernel::{self, Cache, Kind, Options, Stage};
use std::time::{Duration, Instant};

/// One command of `linux`.
pub fn linux(command: &LinuxCommand, quiet: bool) -> anyhow::Result<u8> {
    match command {
        LinuxCommand::Build(args) => build(args, quiet),
        LinuxCommand::Run(args) => crate::linux_run::run(args, quiet),
        LinuxCommand::Explore(args) => crate::linux_explore::explore(args, quiet),
        LinuxCommand::Conformance(args) => crate::linux_explore::conformance(args, quiet),
        LinuxCommand::Scenarios(args) => crate::linux_scenarios::scenarios(args, quiet),
    }
}

/// The cache that a command line names, or the user's.
pub fn cache(named: Option<&std::path::Path>) -> anyhow::Result<Cache> {
    match named {
        Some(path) => Ok(Cache::at(std::path::absolute(path)?)),
        None => Cache::of_user()
            .ok_or_else(|| anyhow!("neither XDG_CACHE_HOME nor HOME is set; name a --cache")),
    }
}

// What is told of the time is for people, and no output that is compared.
#[allow(clippy::disallowed_methods)]
fn build(args: &LinuxBuildArgs, quiet: bool) -> anyhow::Result<u8> {
    let cache = cache(args.cache.as_deref())?;
    let kinds = kinds(&args.kernel)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options { jobs: args.jobs.unwrap_or(cores), keep_source: args.keep_source };
    let (began, mut progress) = (Instant::now(), Progress::new(quiet));
    let (mut last, mut rate) = (None, Rate::new(options.jobs));
    let result = kernel::build(&cache, &kinds, &options, &mut |stage| {
        let elapsed = began.elapsed();
        let line = format!("{}  {}", clock(elapsed), tell(stage, rate.left(stage, elapsed)));
        if !quiet
            && last.replace(std::mem::discriminant(stage)) != Some(std::mem::discriminant(stage))
        {
            progress.done();
            eprintln!("{line}");
        }
        progress.tell(&line);
    });
    progress.done();
    let built = match result {
        Ok(built) => built,
        Err(error) if error.is_environment() => {
            eprintln!("pollproof: {error}");
            return Ok(exit::ENVIRONMENT);
        }
        Err(error) => bail!("{error}"),
    };
    for kernel in &built {
        outln!("{:<11} linux {}  {}", kernel.kind.name(), kernel.version, kernel.vmlinux.display());
    }
    let mib = cache.bytes() as f64 / f64::from(1 << 20);
    outln!(
        "built in {} of wall time, {:.0} s of processor time; the cache has {mib:.0} MiB: {}",
        clock(began.elapsed()),
        cpu_seconds_of_children(),
        cache.root().display(),
    );
    Ok(exit::CLEAN)
}

/// `all`, or names of kernels.
pub fn kinds(named: &[String]) -> anyhow::Result<Vec<Kind>> {
    let mut kinds = Vec::new();
    for name in named {
        match Kind::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => kinds.push(kind),
            None if name == "all" => kinds.extend(Kind::ALL),
            None => bail!("no kernel is called '{name}': plain, sanitizers, planted or all"),
        }
    }
    Ok(kinds)
}

fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

fn tell(stage: &Stage, left: Option<Duration>) -> String {
    let about = left.map_or(String::new(), |left| format!(", about {} left", clock(left)));
    match stage {
        Stage::Wait => "another build is at work in this cache, waiting for its end".into(),
        Stage::Install(packages) => format!("installing {packages}"),
        Stage::Download(version) => format!("downloading linux-source {version}, 150 MB"),
        Stage::Unpack => "unpacking, about 0:30".into(),
        Stage::Configure(kind) => format!("{}: configuring{about}", kind.name()),
        Stage::Compile(kind, done, all) => {
            format!("{}: {done} of about {all} files{about}", kind.name())
        }
        Stage::Guest => "compiling the guest's init".into(),
    }
}

/// How long is left: by what was measured once, then by how fast this machine turns out to be.
struct Rate {
    jobs: u32,
    began: Option<(Kind, Duration)>,
}

impl Rate {
    fn new(jobs: usize) -> Self {
        Self { jobs: jobs.clamp(1, 64) as u32, began: None }
    }

    fn left(&mut self, stage: &Stage, now: Duration) -> Option<Duration> {
        let left = Duration::from_secs(stage.cpu_seconds_left().into()) / self.jobs;
        match *stage {
            Stage::Configure(_) => Some(left),
            Stage::Compile(kind, done, all) => {
                if self.began.is_none_or(|(of, _)| of != kind) {
                    self.began = Some((kind, now));
                }
                let (_, began) = self.began?;
                // Of what was compiled before a build was cut short make says nothing.
                let is_known = done * 20 >= all && done > 0;
                Some(if is_known { (now - began) * (all - done) / done } else { left })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_the_speed_of_this_machine() {
        let mut rate = Rate::new(2);
        let seconds = Duration::from_secs;
        let begin = Stage::Compile(Kind::Plain, 0, 1000);
        let guess = rate.left(&begin, seconds(10)).unwrap();
        assert_eq!(guess, seconds(u64::from(begin.cpu_seconds_left()) / 2));
        let fifth = rate.left(&Stage::Compile(Kind::Plain, 200, 1000), seconds(40)).unwrap();
        assert_eq!(fifth, seconds(120));
        let over = rate.left(&Stage::Compile(Kind::Plain, 1000, 1000), seconds(160)).unwrap();
        assert_eq!(over, seconds(0));
        assert_eq!(rate.left(&Stage::Unpack, seconds(0)), None);
    }

    #[test]
    fn kernels_are_named() {
        assert_eq!(kinds(&["plain".into()]).unwrap(), [Kind::Plain]);
        assert_eq!(kinds(&["all".into()]).unwrap(), Kind::ALL);
        assert!(kinds(&["mine".into()]).unwrap_err().to_string().contains("planted or all"));
    }
}
