//! `pollproof linux scenarios`: Linux's own driver through everything that a scenario does to it.

use crate::args::{LinuxScenariosArgs, Time};
use crate::exit;
use crate::linux_run::{choose, device};
use crate::progress::Progress;
use anyhow::{bail, Context};
use pollproof_linux::boot::BootError;
use pollproof_linux::scenarios::{select, Case, Outcome, Scenario, Setting};
use pollproof_wire::{read_capture, Capture};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// The capture that is sent unless another is named.
const CAPTURE: &[u8] = include_bytes!("../../../testdata/tcp_udp.pcap");
/// One case of one round.
struct Job {
    scenario: &'static Scenario,
    case: Case,
}

/// Runs what was selected, `--repeat` times.
pub fn scenarios(args: &LinuxScenariosArgs, quiet: bool) -> anyhow::Result<u8> {
    let device = device(&args.nic)?;
    let selected: Vec<_> = if args.scenarios.is_empty() {
        select(&args.nic, "all")
    } else {
        let mut all = Vec::new();
        for name in &args.scenarios {
            match &select(&args.nic, name)[..] {
                [] => bail!("{} has no scenario called '{name}'; 'all' runs them all", args.nic),
                some => all.extend_from_slice(some),
            }
        }
        all
    };
    let Some(chosen) = choose(&args.kernel)? else { return Ok(exit::ENVIRONMENT) };
    let simulated = args.time == Time::Simulated;
    let boot = chosen.boot(simulated);
    let capture = capture(args.pcap.as_deref())?;
    let setting = Setting { boot: &boot, capture: &capture, plan: Default::default(), device };
    let mut jobs = Vec::new();
    for _ in 0..args.repeat.max(1) {
        for &scenario in &selected {
            let cases = (scenario.cases)(&setting).into_iter();
            jobs.extend(cases.map(|case| Job { scenario, case }));
        }
    }
    let rows = match run_all(jobs, &setting, args.jobs, quiet) {
        Ok(rows) => rows,
        Err((name, error)) => {
            eprintln!("pollproof: {name}: {error}");
            return Ok(exit::ENVIRONMENT);
        }
    };
    if let Some(folder) = &args.logs {
        keep_logs(folder, &rows)?;
    }
    Ok(report(&rows, simulated))
}

fn capture(named: Option<&Path>) -> anyhow::Result<Capture> {
    match named {
        Some(path) => Ok(pollproof_wire::read_file(path)?),
        None => Ok(read_capture("tcp_udp.pcap", CAPTURE)?),
    }
}

/// What ran, by name, in the order of the jobs.
type Rows = Vec<(String, Outcome)>;

fn run_all(
    jobs: Vec<Job>,
    setting: &Setting<'_>,
    workers: Option<usize>,
    quiet: bool,
) -> Result<Rows, (String, BootError)> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = jobs.len();
    let names: Vec<_> = jobs
        .iter()
        .map(|job| match job.case.name.as_str() {
            "" => job.scenario.id.to_owned(),
            case => format!("{} {case}", job.scenario.id),
        })
        .collect();
    let jobs: Vec<_> = jobs.into_iter().map(|job| std::sync::Mutex::new(Some(job))).collect();
    let (next, (done, outcomes)) = (AtomicUsize::new(0), mpsc::channel());
    let mut rows: Vec<Option<Outcome>> = vec![None; count];
    let mut progress = Progress::new(quiet);
    std::thread::scope(|scope| {
        for _ in 0..workers.unwrap_or(cores).clamp(1, 64) {
            let (next, jobs, done) = (&next, &jobs, done.clone());
            scope.spawn(move || loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at).and_then(|job| job.lock().ok()?.take()) else { break };
                if done.send((at, job.case.run(setting))).is_err() {
                    break;
                }
            });
        }
        drop(done);
        for (number, (at, outcome)) in outcomes.iter().enumerate() {
            progress.tell(&format!("{} of {count}: {}", number + 1, names[at]));
            rows[at] = Some(outcome.map_err(|error| (names[at].clone(), error))?);
        }
        Ok(())
    })?;
    progress.done();
    Ok(names.into_iter().zip(rows).filter_map(|(name, row)| Some((name, row?))).collect())
}

fn keep_logs(folder: &Path, rows: &Rows) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (number, (name, outcome)) in rows.iter().enumerate() {
        let path = folder.join(format!("{number:03}-{}.log", name.replace(' ', "-")));
        let text = format!("{}\n{}", outcome.console, outcome.log);
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn report(rows: &Rows, simulated: bool) -> u8 {
    let (mut failed, mut hashes) = (0, BTreeMap::new());
    let mut whole = String::new();
    for (name, outcome) in rows {
        let (arrived, sent) = outcome.frames;
        let verdict = if outcome.problems.is_empty() { "ok" } else { "PROBLEM" };
        outln!(
            "{name:<28} {verdict:<8} {arrived:>5} frames in {sent:>4} out {:>6} accesses {:016x}",
            outcome.accesses,
            outcome.trace_hash
        );
        for problem in outcome.problems.iter().take(8) {
            outln!("    {problem}");
        }
        let before = *hashes.entry(name).or_insert(outcome.trace_hash);
        let differs = simulated && before != outcome.trace_hash;
        if differs {
            outln!("    its trace differs from that of the first time");
        }
        failed += usize::from(differs || !outcome.problems.is_empty());
        whole.push_str(&format!("{:016x}", outcome.trace_hash));
    }
    let verdict = if failed == 0 { "all pass" } else { "NOT all pass" };
    outln!("\n{} runs, {failed} with problems: {verdict}", rows.len());
    if simulated {
        outln!("hash over all traces {:016x}", pollproof_linux::fnv1a(whole.as_bytes()));
    }
    if failed == 0 {
        exit::CLEAN
    } else {
        exit::FINDINGS
    }
}
