//! The modes of GRO beside each other: the same capture, with counts, and the same sockets.

use crate::args::{GroMode, RunArgs};
use crate::run::run_nic;
use pollproof_bench::timed::{CaptureReport, TimedReport};
use pollproof_report::table;

const MODES: [(GroMode, &str); 3] =
    [(GroMode::Off, "off"), (GroMode::On, "on"), (GroMode::Batched, "batched")];

/// A count with its name.
type Count = (&'static str, fn(&TimedReport) -> u64);

/// What it took to get packets up, for each that was delivered.
const COSTS: [Count; 4] = [
    ("list operations", |r| r.costs.list_ops),
    ("calls between layers", |r| r.costs.calls),
    ("cache lines touched", |r| r.costs.lines),
    ("  that were missing", |r| r.costs.misses),
];

/// Counts of a run that are shown.
const COUNTS: [Count; 4] = [
    ("delivered", |r| r.delivered),
    ("merged into others", |r| r.merged),
    ("calls up", |r| r.calls_up),
    ("polls", |r| r.polls),
];

/// Runs the capture in each mode and prints what it took; whether all is well and each socket got
/// the same.
pub fn show(args: &RunArgs) -> anyhow::Result<bool> {
    let runs: Vec<CaptureReport> =
        MODES.iter().map(|(mode, _)| run_nic(args, *mode)).collect::<Result<_, _>>()?;
    let mut head = vec!["gro"];
    head.extend(MODES.iter().map(|(_, name)| *name));
    let row = |(what, of): &Count| {
        let cell = |run: &CaptureReport| match &run.judged.outcome {
            Ok(report) => of(report).to_string(),
            Err(_) => "-".to_owned(),
        };
        std::iter::once((*what).to_owned()).chain(runs.iter().map(cell)).collect::<Vec<_>>()
    };
    let cost = |(what, of): &Count| {
        let cell = |run: &CaptureReport| match &run.judged.outcome {
            Ok(report) => format!("{:.2}", report.per_packet(of(report))),
            Err(_) => "-".to_owned(),
        };
        std::iter::once((*what).to_owned()).chain(runs.iter().map(cell)).collect::<Vec<_>>()
    };
    let mut rows: Vec<Vec<String>> = COUNTS.iter().map(row).collect();
    rows.push(vec!["for each packet:".into(), String::new(), String::new(), String::new()]);
    rows.extend(COSTS.iter().map(cost));
    outln!("\n{}", table(&head, &rows));
    let mut well = true;
    for (run, (_, name)) in runs.iter().zip(MODES) {
        if let Some(finding) = run.judged.findings.first() {
            outln!("FOUND  gro {name}: {}: {}", finding.rule, finding.message);
            well = false;
        }
        if run.ledger() != runs[0].ledger() {
            outln!("FOUND  gro {name}: sockets do not get what they get without it");
            well = false;
        }
    }
    if well {
        outln!("each socket gets the same packets, byte for byte, in all three");
    }
    Ok(well)
}
