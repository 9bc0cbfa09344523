//! `pollproof linux explore` and `linux conformance`: searches over delays, and both drivers side
//! by side.

use crate::args::{LinuxConformanceArgs, LinuxExploreArgs, LinuxKernelArgs};
use crate::exit;
use crate::linux_run::{check_nic, choose, Chosen, PLANTS};
use crate::progress::Progress;
use anyhow::{anyhow, bail, Context};
use pollproof_linux::capture;
use pollproof_linux::conformance::{self, difference, PATTERNS};
use pollproof_linux::search::{minimise, search, Searched, Setup, Token, Which};
use pollproof_linux::timing::DELAY_MAX_NS;

fn setup(chosen: &Chosen, ring: u32, rx_usecs: u32) -> Setup {
    Setup { boot: chosen.boot(true), ring, rx_usecs }
}

fn token(chosen: &Chosen, setup: &Setup, which: Which) -> Token {
    let kernel = chosen.built.kind.name().to_owned();
    let (ring, rx_usecs) = (setup.ring, setup.rx_usecs);
    Token { kernel, plant: chosen.plant, ring, rx_usecs, which }
}

/// What a command line wants to be searched.
fn wanted(args: &LinuxExploreArgs) -> anyhow::Result<Which> {
    let (seed, episodes) = (args.seed, args.episodes);
    let Some(base) = &args.around else { return Ok(Which::Search { seed, episodes }) };
    if args.delay > DELAY_MAX_NS {
        bail!("--delay {}: must be at most {DELAY_MAX_NS}", args.delay);
    }
    Ok(Which::Around { base: base.parse()?, delay_ns: args.delay })
}

/// Searches, makes what was found small, and prints its token.
pub fn explore(args: &LinuxExploreArgs, quiet: bool) -> anyhow::Result<u8> {
    check_nic(&args.nic)?;
    let which = wanted(args)?;
    let Some(chosen) = choose(&args.kernel)? else { return Ok(exit::ENVIRONMENT) };
    let setup = setup(&chosen, args.ring, args.rx_usecs);
    let mut progress = Progress::new(quiet);
    progress.tell("searching");
    let found = search(&setup, which.clone())?;
    progress.done();
    print_searched(&found);
    let Some((number, _, what)) = &found.failure else {
        print_clean(&which, &found);
        return Ok(if found.passed == 0 { exit::NOTHING } else { exit::CLEAN });
    };
    outln!("FOUND  episode {number}: {what}");
    let small = minimise(&setup, &found.history, |tried| {
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
            which
        }
    };
    outln!("replay pollproof replay '{}'", token(&chosen, &setup, which));
    Ok(exit::FINDINGS)
}

/// The verdict of a search that found nothing.
fn print_clean(which: &Which, found: &Searched) {
    match which {
        Which::Around { base, delay_ns } => outln!(
            "BOUNDED: {base} passes, and with each of its {} points delayed by {delay_ns} ns",
            found.passed.saturating_sub(1),
        ),
        Which::Search { seed, .. } => {
            outln!("SAMPLED: {} episodes of seed {seed}, nothing was found", found.passed);
        }
        Which::These(_) => outln!("nothing was found"),
    }
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
