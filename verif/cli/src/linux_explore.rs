//! `pollproof linux explore` and `linux conformance`: searches over delays, and both drivers side
//! by side.

use crate::args::{LinuxConformanceArgs, LinuxExploreArgs, LinuxKernelArgs};
use crate::exit;
use crate::linux_run::{check_nic, choose, Chosen, PLANTS};
use crate::progress::Progress;
use anyhow::{anyhow, Context};
use pollproof_linux::capture;
use pollproof_linux::conformance::{self, difference, PATTERNS};
use pollproof_linux::search::{
    episode as one_of, minimise, search, sweep, Episode, Searched, Setup, Token, Which,
};

fn setup(chosen: &Chosen, ring: u32, rx_usecs: u32) -> Setup {
    Setup { boot: chosen.boot(true), ring, rx_usecs }
}

fn token(chosen: &Chosen, setup: &Setup, which: Which) -> Token {
    let kernel = chosen.built.kind.name().to_owned();
    let (ring, rx_usecs) = (setup.ring, setup.rx_usecs);
    Token { kernel, plant: chosen.plant, ring, rx_usecs, which }
}

/// Searches, makes what was found small, and prints its token.
pub fn explore(args: &LinuxExploreArgs, quiet: bool) -> anyhow::Result<u8> {
    check_nic(&args.nic)?;
    let Some(chosen) = choose(&args.kernel)? else { return Ok(exit::ENVIRONMENT) };
    let setup = setup(&chosen, args.ring, args.rx_usecs);
    let mut progress = Progress::new(quiet);
    progress.tell(&format!("{} episodes", args.episodes));
    let (seed, episodes) = (args.seed, args.episodes);
    let found = search(&setup, Which::Search { seed, episodes })?;
    progress.done();
    print_searched(&found);
    let Some((number, _, what)) = &found.failure else {
        if found.passed == 0 {
            return Ok(exit::NOTHING);
        }
        outln!("SAMPLED: {} episodes of seed {seed}, nothing was found", found.passed);
        return Ok(exit::CLEAN);
    };
    outln!("FOUND  episode {number}: {what}");
    let all = sweep();
    let before: Vec<Episode> = (0..=*number).map(|n| one_of(&all, seed, n)).collect();
    let small = minimise(&setup, &before, |tried| {
        let last = tried.last().map_or_else(String::new, ToString::to_string);
        progress.tell(&format!("smaller: {} of them, the last {last}", tried.len()));
    })?;
    progress.done();
    let which = match small {
        Some(episodes) => {
            let again = search(&setup, Which::These(episodes.clone()))?;
            let said = again.failure.map_or_else(String::new, |(_, _, what)| what);
            outln!("as small as it gets, {} of them: {said}", episodes.len());
            Which::These(episodes)
        }
        None => {
            outln!("the last ones alone pass: all before them are needed");
            Which::Search { seed, episodes: number + 1 }
        }
    };
    outln!("replay pollproof replay '{}'", token(&chosen, &setup, which));
    Ok(exit::FINDINGS)
}

fn print_searched(found: &Searched) {
    let report = &found.report;
    outln!(
        "{} episodes passed; {} frames, {} register accesses, {} choices; trace {:016x}",
        found.passed,
        report.arrived.len(),
        report.accesses,
        report.points,
        report.trace_hash,
    );
}

/// Whether a token is one of a search here.
pub fn is_token(text: &str) -> bool {
    text.starts_with("linux/")
}

/// Runs the episodes of a token again.
pub fn replay(text: &str) -> anyhow::Result<u8> {
    let token: Token = text.parse().map_err(|error| anyhow!("{error}"))?;
    let bugs = PLANTS.iter().filter(|(_, bit)| token.plant & bit != 0);
    let args = LinuxKernelArgs {
        kernel: token.kernel.clone(),
        cache: None,
        plant: bugs.map(|(name, _)| (*name).to_owned()).collect(),
    };
    let Some(chosen) = choose(&args)? else { return Ok(exit::ENVIRONMENT) };
    let found = search(&setup(&chosen, token.ring, token.rx_usecs), token.which)?;
    print_searched(&found);
    let Some((number, episode, what)) = &found.failure else {
        outln!("nothing was found");
        return Ok(exit::CLEAN);
    };
    outln!("FOUND  episode {number} ({episode}): {what}");
    for line in &found.report.log_reports {
        outln!("       kernel log: {line}");
    }
    Ok(exit::FINDINGS)
}

/// Both drivers on the same frames.
pub fn conformance(args: &LinuxConformanceArgs, quiet: bool) -> anyhow::Result<u8> {
    let Some(chosen) = choose(&args.kernel)? else { return Ok(exit::ENVIRONMENT) };
    let mut progress = Progress::new(quiet);
    let mut differs = false;
    for pattern in PATTERNS {
        progress.tell(pattern.name);
        let (linux, report) = conformance::linux(chosen.boot(true), pattern)?;
        let ours = conformance::ours(pattern)?;
        progress.done();
        for problem in capture::problems(&report) {
            differs = true;
            outln!("FOUND  {}: {problem}", pattern.name);
        }
        match difference(&linux, &ours) {
            None => outln!("{:<12} {} steps, all equal", pattern.name, linux.len()),
            Some(difference) => {
                differs = true;
                outln!("FOUND  {}: {difference}", pattern.name);
            }
        }
        if let Some(folder) = &args.bless {
            let path = folder.join(format!("ixgbe-{}.trace", pattern.name));
            let head = format!(
                "# Linux {}, ixgbe on our 82599: `pollproof linux conformance`, pattern {}\n",
                chosen.built.version, pattern.name,
            );
            std::fs::write(&path, head + &conformance::text(&linux))
                .with_context(|| format!("{}: can not be written", path.display()))?;
        }
    }
    Ok(if differs { exit::FINDINGS } else { exit::CLEAN })
}
