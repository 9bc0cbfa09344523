//! `pollproof run`: a capture through the house.

use crate::args::{GroMode, RunArgs};
use crate::exit;
use crate::gro_modes;
use crate::progress::Progress;
use anyhow::{anyhow, bail, Context};
use pollproof_bench::timed::{
    run_capture, CaptureReport, IxgbeTimedOptions, QueueReport, SfcTimedOptions, TimedError,
    TimedOptions, TimedReport,
};
use pollproof_bench::GroOptions;
use pollproof_bugs::check::Status;
use pollproof_report::{table, CaptureJson};
use pollproof_wire::write_pcap;
use std::path::{Path, PathBuf};

/// A capture that was run as part of a check.
pub struct CaptureRow {
    /// How it came out.
    pub status: Status,
    /// What is told of it.
    pub json: CaptureJson,
}

/// Longest busy poll: a second.
const BUSY_POLL_MAX_US: u64 = 1_000_000;
/// Queues that the committed capture goes through, one run each.
const QUEUES: [u32; 3] = [1, 4, 16];

/// A capture in the repository, where the binary can still find it.
pub fn committed(name: &str) -> Option<PathBuf> {
    let beside_sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    let here = Path::new("testdata").join(name);
    [here, beside_sources].into_iter().find(|path| path.exists())
}

/// The committed captures, as part of a check.
pub fn committed_captures(
    filters: &[String],
    seed: u64,
    progress: &mut Progress,
) -> Vec<CaptureRow> {
    let wanted = filters.is_empty() || filters.iter().any(|f| "capture".contains(f.as_str()));
    let Some(path) = committed("tcp_udp.pcap").filter(|_| wanted) else { return Vec::new() };
    let merged = merged_captures(seed, progress);
    QUEUES
        .iter()
        .flat_map(|&queues| {
            progress.tell(&format!("capture through {queues} queues"));
            let plural = if queues == 1 { "" } else { "s" };
            let id = format!("tcp_udp.pcap, {queues} queue{plural}");
            let mlx4 = run_capture(&path, &mlx4(queues, 0, seed)).map_err(|e| anyhow!("{e}"));
            let ixgbe = run_capture(&path, &ixgbe(queues, 0, seed)).map_err(|e| anyhow!("{e}"));
            let sfc = run_capture(&path, &sfc(queues, seed)).map_err(|e| anyhow!("{e}"));
            [row(id.clone(), "mlx4", mlx4), row(id.clone(), "ixgbe", ixgbe), row(id, "sfc", sfc)]
        })
        .chain(merged)
        .collect()
}

/// The committed captures with what GRO makes of them.
fn merged_captures(seed: u64, progress: &mut Progress) -> Vec<CaptureRow> {
    let mut rows = Vec::new();
    for name in ["tcp_udp.pcap", "many_flows.pcap"] {
        let Some(path) = committed(name) else { continue };
        for mode in [GroMode::On, GroMode::Batched] {
            progress.tell(&format!("{name} with GRO"));
            let how = if mode == GroMode::On { "on" } else { "batched" };
            let id = format!("{name}, gro {how}");
            let gro = mode.options();
            let run = run_capture(&path, &mlx4(1, 0, seed).with_gro(gro));
            rows.push(row(id.clone(), "mlx4", run.map_err(|e| anyhow!("{e}"))));
            let run = run_capture(&path, &ixgbe(1, 0, seed).with_gro(gro));
            rows.push(row(id.clone(), "ixgbe", run.map_err(|e| anyhow!("{e}"))));
            let run = run_capture(&path, &sfc(1, seed).with_gro(gro));
            rows.push(row(id, "sfc", run.map_err(|e| anyhow!("{e}"))));
        }
    }
    rows
}

fn row(id: String, nic: &'static str, report: anyhow::Result<CaptureReport>) -> CaptureRow {
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            let finding = Some(error.to_string());
            let json = CaptureJson { id, nic, frames: 0, delivered: 0, dropped: 0, finding };
            return CaptureRow { status: Status::Findings, json };
        }
    };
    let finding = problem(&report);
    let run = report.judged.outcome.as_ref().ok();
    let count = |of: fn(&TimedReport) -> u64| run.map_or(0, of);
    let json = CaptureJson {
        id,
        nic,
        frames: count(|r| r.frames_in),
        delivered: count(|r| r.delivered),
        dropped: count(TimedReport::dropped),
        finding: finding.clone(),
    };
    let status = match finding {
        Some(_) => Status::Findings,
        None if json.delivered == 0 => Status::Inconclusive,
        None => Status::Clean,
    };
    CaptureRow { status, json }
}

/// The first thing that is wrong with a run.
fn problem(report: &CaptureReport) -> Option<String> {
    if let Some(finding) = report.judged.findings.first() {
        return Some(format!("{}: {}", finding.rule, finding.message));
    }
    report.judged.outcome.as_ref().err().map(ToString::to_string)
}

impl GroMode {
    /// What it means to the core.
    fn options(self) -> Option<GroOptions> {
        match self {
            Self::Off => None,
            Self::On => Some(GroOptions { normal_batch: 1, ..GroOptions::default() }),
            Self::Batched => Some(GroOptions::default()),
        }
    }
}

fn mlx4(queues: u32, busy_poll_us: u64, seed: u64) -> TimedOptions {
    let log_ring_size = 10;
    let mut options = TimedOptions { seed, busy_poll_us, ..TimedOptions::default() };
    options.nic.busy_poll_lock = busy_poll_us > 0;
    options.with_rings(queues, log_ring_size, queues).keeping_bytes()
}

fn ixgbe(queues: u32, busy_poll_us: u64, seed: u64) -> IxgbeTimedOptions {
    let ring_count = 512;
    let options = IxgbeTimedOptions { seed, ..IxgbeTimedOptions::default() };
    options.with_queues(queues, ring_count, queues).busy_polling(busy_poll_us).keeping_bytes()
}

fn sfc(channels: u32, seed: u64) -> SfcTimedOptions {
    let options = SfcTimedOptions { seed, ..SfcTimedOptions::default() };
    options.with_channels(channels, 512, channels).keeping_bytes()
}

/// The capture through the NIC that is asked for.
pub fn run_nic(args: &RunArgs, mode: GroMode) -> anyhow::Result<CaptureReport> {
    let (queues, us, seed) = (args.queues, args.busy_poll, args.seed);
    if us > BUSY_POLL_MAX_US {
        bail!("--busy-poll {us}: must be at most {BUSY_POLL_MAX_US}");
    }
    if us > 0 && args.gro.is_some() {
        bail!("--gro: not with --busy-poll; what a socket polls does not go through GRO");
    }
    let gro = mode.options();
    let report = match args.nic.as_str() {
        "mlx4" if !queues.is_power_of_two() || queues > 64 => {
            bail!("--queues {queues}: must be a power of two up to 64")
        }
        "mlx4" => run_capture(&args.pcap, &mlx4(queues, us, seed).with_gro(gro).counting_lines()),
        "ixgbe" if !(1..=16).contains(&queues) => bail!("--queues {queues}: must be 1 to 16"),
        "ixgbe" => run_capture(&args.pcap, &ixgbe(queues, us, seed).with_gro(gro).counting_lines()),
        "sfc" if !(1..=32).contains(&queues) => bail!("--queues {queues}: must be 1 to 32"),
        "sfc" if us > 0 => bail!("--busy-poll: sfc has no method of its own for it"),
        "sfc" => run_capture(&args.pcap, &sfc(queues, seed).with_gro(gro).counting_lines()),
        nic => bail!("--nic {nic}: unknown NIC; this version knows mlx4, ixgbe and sfc"),
    };
    report.map_err(|error| anyhow!("{error}"))
}

/// Runs one capture and prints what became of it.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let report = run_nic(args, args.gro.unwrap_or(GroMode::Off))?;
    let run = match &report.judged.outcome {
        Ok(run) => run,
        Err(error) => return Ok(print_broken_run(&args.pcap, &report, error)),
    };
    print_report(&report, run);
    let same = match args.gro {
        Some(_) => gro_modes::show(args)?,
        None => true,
    };
    if let Some(out) = &args.out {
        std::fs::write(out, write_pcap(&report.arrivals))
            .with_context(|| format!("{}: can not be written", out.display()))?;
        outln!("{} packets written to {}", report.arrivals.len(), out.display());
    }
    print_findings(&report);
    Ok(if !report.judged.findings.is_empty() || !same {
        exit::FINDINGS
    } else if run.frames_in == 0 {
        exit::NOTHING
    } else {
        outln!("every frame was delivered byte for byte and in order, or dropped and counted");
        exit::CLEAN
    })
}

fn print_findings(report: &CaptureReport) {
    for finding in &report.judged.findings {
        let (file, line) = finding.at;
        outln!("FOUND  {}: {}\n  where   {file}:{line}", finding.rule, finding.message);
    }
}

/// A run without a report: what was found decides, else it was cut.
fn print_broken_run(pcap: &Path, report: &CaptureReport, error: &TimedError) -> u8 {
    outln!("{}: {error}", pcap.display());
    print_findings(report);
    if report.judged.findings.is_empty() {
        exit::INCONCLUSIVE
    } else {
        exit::FINDINGS
    }
}

fn print_report(report: &CaptureReport, run: &TimedReport) {
    outln!("frames in the file        {}", report.packets);
    for (count, why) in [(report.runts, "runts"), (report.cut, "cut by the capture")] {
        if count > 0 {
            outln!("  left out                {count} {why}");
        }
    }
    outln!("frames in                 {}", run.frames_in);
    outln!("delivered                 {}", run.delivered);
    outln!("dropped                   {}", run.dropped());
    for (why, count) in &run.drops {
        outln!("  {why:<23} {count}");
    }
    outln!("simulated time            {:.3} ms", run.duration_ps as f64 / 1e9);
    outln!("polls                     {}", run.polls);
    outln!("  that used the budget    {}", run.full_polls);
    outln!("interrupts                {}", run.interrupts);
    outln!("arms                      {}", run.arms);
    if run.low_latency_packets > 0 {
        outln!("taken by busy polling     {}", run.low_latency_packets);
    }
    outln!("events that rules saw     {}", report.judged.events);
    outln!("for each packet:");
    for (what, count) in [
        ("interrupts", run.interrupts),
        ("arms", run.arms),
        ("register writes", run.mmio_writes),
        ("register reads", run.mmio_reads),
        ("DMA reads", run.dma_reads),
        ("DMA writes", run.dma_writes),
    ] {
        outln!("  {what:<23} {:.3}", run.per_packet(count));
    }
    if run.queues.len() > 1 {
        print_queues(run);
    }
}

fn print_queues(run: &TimedReport) {
    let busy = run.queues.iter().any(|q| q.cleaned + q.misses + q.yields > 0);
    let head = ["queue", "packets", "polls", "full", "interrupts", "cleaned", "misses", "yields"];
    let columns = if busy { head.len() } else { 5 };
    let row = |(index, q): (usize, &QueueReport)| {
        let counts =
            [q.packets, q.polls, q.full_polls, q.interrupts, q.cleaned, q.misses, q.yields];
        let cells = std::iter::once(index.to_string()).chain(counts.iter().map(u64::to_string));
        cells.take(columns).collect()
    };
    let rows: Vec<Vec<String>> = run.queues.iter().enumerate().map(row).collect();
    out!("\n{}", table(&head[..columns], &rows));
}
