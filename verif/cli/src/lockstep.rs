//! `pollproof lockstep`: the RTL beside the models. Also what `check`, `replay` and `doctor` do
//! with it.

use crate::args::LockstepArgs;
use crate::exit;
use anyhow::{bail, Result};
use pollproof_bugs::check::Status;
use pollproof_lockstep::equivalence::{BlockInfo, BLOCKS};
use pollproof_lockstep::plants::{plant, Plant, Side, PLANTS};
use pollproof_lockstep::{BUILT_IN, MISSING};
use pollproof_report::table;

/// Blocks that an argument names; all without one.
fn blocks(name: Option<&str>) -> Vec<&'static BlockInfo> {
    let wanted = |block: &&&BlockInfo| name.is_none_or(|name| block.id.contains(name));
    BLOCKS.iter().collect::<Vec<_>>().iter().filter(wanted).copied().collect()
}

/// The command.
pub fn lockstep(args: &LockstepArgs, quiet: bool) -> Result<u8> {
    let blocks = blocks(args.block.as_deref());
    if blocks.is_empty() {
        let ids: Vec<_> = BLOCKS.iter().map(|block| block.id).collect();
        eprintln!("pollproof: no block has that name; there are: {}", ids.join(", "));
        return Ok(exit::NOTHING);
    }
    if args.list {
        list(&blocks);
        return Ok(exit::CLEAN);
    }
    let fault = match args.plant.as_deref() {
        None => None,
        Some(id) => match plant(id) {
            Some(fault) if blocks.iter().any(|block| block.id == fault.block) => Some(fault),
            Some(fault) => bail!("{} is planted in {}, which is not run", fault.id, fault.block),
            None => bail!("unknown planted fault '{id}'; 'pollproof lockstep --list' shows them"),
        },
    };
    if !BUILT_IN {
        eprintln!("pollproof: {MISSING}");
        return Ok(exit::ENVIRONMENT);
    }
    if args.cases == 0 {
        eprintln!("pollproof: 0 cases run nothing");
        return Ok(exit::NOTHING);
    }
    built::lockstep(args, &blocks, fault, quiet)
}

fn list(blocks: &[&'static BlockInfo]) {
    for block in blocks {
        outln!("{}: {} (RTL {})", block.id, block.about, block.top);
        let cell = |text: &str| text.to_owned();
        let rows = block.observables.iter().map(|o| vec![cell(o.name), o.relation.text()]);
        let rows: Vec<_> = rows.collect();
        outln!("{}", table(&["observable", "the same means"], &rows));
        let rows: Vec<_> = PLANTS
            .iter()
            .filter(|plant| plant.block == block.id)
            .map(|plant| vec![cell(plant.id), cell(side(plant)), cell(plant.what)])
            .collect();
        outln!("{}", table(&["planted", "in", "what is wrong"], &rows));
    }
}

fn side(plant: &Plant) -> &'static str {
    match plant.side {
        Side::Rtl(_) => "RTL",
        Side::Model => "model",
    }
}

/// What came of it in `check`.
pub struct LockstepCheck {
    /// For people and programs.
    pub said: String,
    /// None where nothing was run, which is no fault of what was.
    pub status: Option<Status>,
}

/// Some cases of each block, unless filters exclude it.
pub fn smoke(filters: &[String], seed: u64) -> Option<LockstepCheck> {
    let is_wanted = |id: &str| {
        let id = format!("lockstep/{id}");
        filters.is_empty() || filters.iter().any(|f| id.contains(&f.to_ascii_lowercase()))
    };
    let wanted: Vec<_> = BLOCKS.iter().filter(|block| is_wanted(block.id)).collect();
    if wanted.is_empty() {
        return None;
    }
    if !BUILT_IN {
        return Some(LockstepCheck { said: format!("lockstep: not run: {MISSING}"), status: None });
    }
    Some(built::smoke(&wanted, seed))
}

/// Whether a replay token is one of lock-step.
pub fn is_token(text: &str) -> bool {
    text.starts_with("lockstep/")
}

/// Runs what such a token names.
pub fn replay(token: &str) -> Result<u8> {
    if !BUILT_IN {
        eprintln!("pollproof: {MISSING}");
        return Ok(exit::ENVIRONMENT);
    }
    built::replay(token)
}

#[cfg(feature = "rtl")]
mod built {
    use super::*;
    use crate::progress::Progress;
    use pollproof_lockstep::run::{run, Found, Options, Report};
    use pollproof_lockstep::token;

    /// Cases of a block in `check`.
    const SMOKE_CASES: u64 = 25;

    pub fn lockstep(
        args: &LockstepArgs,
        blocks: &[&'static BlockInfo],
        fault: Option<&'static Plant>,
        quiet: bool,
    ) -> Result<u8> {
        if args.planted {
            return planted(args, blocks, quiet);
        }
        let mut progress = Progress::new(quiet);
        let mut reports = Vec::new();
        for block in blocks.iter().filter(|b| fault.is_none_or(|f| f.block == b.id)) {
            progress.tell(block.id);
            let (cases, seed, wave) = (args.cases, args.seed, args.wave.clone());
            reports.push(run(block, &Options { cases, first: 0, seed, plant: fault, wave })?);
            if reports.last().is_some_and(|report| report.found.is_some()) {
                break;
            }
        }
        progress.done();
        let row = |r: &Report| {
            let counts = [r.cases, r.cycles, r.compared].map(|n| n.to_string());
            let verdict = match r.found {
                Some(_) => "FOUND".to_owned(),
                None => format!("SAMPLED ({} cases, seed {})", r.cases, args.seed),
            };
            [vec![r.block.id.to_owned()], counts.to_vec(), vec![verdict]].concat()
        };
        let rows: Vec<_> = reports.iter().map(row).collect();
        out!("{}", table(&["block", "cases", "cycles", "compared", "verdict"], &rows));
        for report in &reports {
            if let Some(found) = &report.found {
                print_found(report.block, found);
            }
        }
        let clean = reports.iter().all(|report| report.found.is_none());
        Ok(if clean { exit::CLEAN } else { exit::FINDINGS })
    }

    fn print_found(block: &BlockInfo, found: &Found) {
        outln!("\nFOUND  {}: {}", block.id, found.difference.text(block.observables).trim_end());
        outln!("  replay  pollproof replay '{}'", found.token);
    }

    /// Every planted fault of the blocks: each must be found.
    fn planted(args: &LockstepArgs, blocks: &[&'static BlockInfo], quiet: bool) -> Result<u8> {
        let mut progress = Progress::new(quiet);
        let mut rows = Vec::new();
        let mut missed = 0;
        for fault in PLANTS {
            let Some(block) = blocks.iter().find(|block| block.id == fault.block) else { continue };
            progress.tell(fault.id);
            let options = Options {
                cases: args.cases,
                seed: args.seed,
                plant: Some(fault),
                ..Options::default()
            };
            let report = run(block, &options)?;
            missed += usize::from(report.found.is_none());
            let told = match &report.found {
                Some(found) => {
                    let name = found.difference.observable.map_or("assertion", |o| o.name);
                    vec!["found".to_owned(), report.cycles.to_string(), name.to_owned()]
                }
                None => vec!["MISSED".to_owned(), report.cycles.to_string(), String::new()],
            };
            let about = [fault.id, side(fault), fault.what].map(str::to_owned);
            rows.push([about.to_vec(), told].concat());
        }
        progress.done();
        let head = ["planted", "in", "what is wrong", "", "cycles", "seen in"];
        out!("{}", table(&head, &rows));
        outln!("\n{} planted, {missed} missed", rows.len());
        Ok(if missed == 0 { exit::CLEAN } else { exit::FINDINGS })
    }

    pub fn smoke(blocks: &[&'static BlockInfo], seed: u64) -> LockstepCheck {
        let mut said = Vec::new();
        let mut status = Status::Clean;
        for block in blocks {
            match run(block, &Options { cases: SMOKE_CASES, seed, ..Options::default() }) {
                Ok(Report { found: None, cycles, .. }) => {
                    said.push(format!("lockstep/{}: {cycles} cycles, no difference", block.id));
                }
                Ok(Report { found: Some(found), .. }) => {
                    status = Status::Findings;
                    let what = found.difference.headline();
                    let token = found.token;
                    said.push(format!("lockstep/{}: {what}; pollproof replay '{token}'", block.id));
                }
                Err(error) => {
                    said.push(format!("lockstep/{}: not run: {error}", block.id));
                    return LockstepCheck {
                        said: said.join("\n"),
                        status: Some(Status::Inconclusive),
                    };
                }
            }
        }
        LockstepCheck { said: said.join("\n"), status: Some(status) }
    }

    pub fn replay(text: &str) -> Result<u8> {
        let (block, options) = token::parse(text)?;
        let with = options.plant.map_or(String::new(), |fault| format!(" with {}", fault.id));
        outln!("replay lock-step of {}{with}", block.id);
        match run(block, &options)?.found {
            Some(found) => {
                print_found(block, &found);
                Ok(exit::FINDINGS)
            }
            None => {
                outln!("nothing was found");
                Ok(exit::CLEAN)
            }
        }
    }
}

#[cfg(not(feature = "rtl"))]
mod built {
    use super::*;

    pub fn lockstep(
        _args: &LockstepArgs,
        _blocks: &[&'static BlockInfo],
        _fault: Option<&'static Plant>,
        _quiet: bool,
    ) -> Result<u8> {
        Ok(exit::ENVIRONMENT)
    }

    pub fn smoke(_blocks: &[&'static BlockInfo], _seed: u64) -> LockstepCheck {
        LockstepCheck { said: String::new(), status: None }
    }

    pub fn replay(_token: &str) -> Result<u8> {
        Ok(exit::ENVIRONMENT)
    }
}
