//! `pollproof linux run`: Linux's own driver on our device, once.

use crate::args::{LinuxKernelArgs, LinuxRunArgs, Time};
use crate::exit;
use crate::linux::cache;
use crate::progress::Progress;
use anyhow::{anyhow, bail};
use pollproof_linux::boot::Boot;
use pollproof_linux::capture::{self, FaultPlan};
use pollproof_linux::kernel::{self, Built, Kind};
use pollproof_linux::run::{board, run as run_kernel, Device, RunOptions, RunReport};
use pollproof_linux::serve::ServeError;
use pollproof_linux::timing::Plan;
use pollproof_wire::read_file;

/// Milliseconds of the kernel's time that a guest waits for all frames of a capture.
const CAPTURE_WAIT_MS: u64 = 10_000;
/// Bugs of the planted kernel, with their bits.
pub const PLANTS: [(&str, u32); 2] = [("full-budget", 1), ("early-refill", 2)];

/// A kernel that was built, with the bugs that are switched on in it.
pub struct Chosen {
    /// It.
    pub built: Built,
    /// Bits.
    pub plant: u32,
}

impl Chosen {
    /// What is booted.
    pub fn boot(&self, simulated: bool) -> Boot {
        let mut boot = Boot::new(&self.built, simulated);
        if self.plant != 0 {
            boot.arguments.push(format!("ixgbe.plant={}", self.plant));
        }
        boot
    }
}

/// The kernel that a command line names; none, with the reason said, if it was not built.
pub fn choose(args: &LinuxKernelArgs) -> anyhow::Result<Option<Chosen>> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == args.kernel);
    let kind = kind.ok_or_else(|| {
        anyhow!("no kernel is called '{}': plain, sanitizers or planted", args.kernel)
    })?;
    let mut plant = 0;
    for name in &args.plant {
        let bit = PLANTS.iter().find(|(known, _)| known == name).map(|(_, bit)| bit);
        plant |=
            bit.ok_or_else(|| anyhow!("no bug is called '{name}': full-budget, early-refill"))?;
    }
    if plant != 0 && kind != Kind::Planted {
        bail!("--plant needs --kernel planted: the others are Linux as it is");
    }
    let cache = cache(args.cache.as_deref())?;
    let Some(built) = kernel::find(&cache, kind) else {
        eprintln!(
            "pollproof: no {} kernel in {}; 'pollproof linux build --kernel {}' makes one",
            kind.name(),
            cache.root().display(),
            kind.name(),
        );
        return Ok(None);
    };
    Ok(Some(Chosen { built, plant }))
}

/// Drivers that are known here.
pub fn check_nic(nic: &str) -> anyhow::Result<()> {
    if nic != "ixgbe" {
        bail!("{nic}: unknown driver here; this version knows ixgbe");
    }
    Ok(())
}

/// The device of a driver that a kernel can be given.
pub fn device(nic: &str) -> anyhow::Result<Device> {
    Device::of(nic).ok_or_else(|| anyhow!("{nic}: unknown driver; known are ixgbe and mlx4"))
}

/// What to look for at the end of a run.
enum Wanted {
    Capture { captured_line: usize },
    Smoke,
}

/// Runs a kernel once and prints what became of it.
pub fn run(args: &LinuxRunArgs, quiet: bool) -> anyhow::Result<u8> {
    let device = device(&args.nic)?;
    let faults: FaultPlan = args.faults.parse()?;
    let plan: Plan = args.timing.parse()?;
    let simulated = args.time == Time::Simulated;
    if !simulated && plan != Plan::default() {
        bail!("--timing needs --time simulated: the machine's time can not be planned");
    }
    let capture = args.pcap.as_deref().map(read_file).transpose()?;
    let Some(chosen) = choose(&args.kernel)? else { return Ok(exit::ENVIRONMENT) };
    let mut progress = Progress::new(quiet);
    progress.tell(&format!("booting linux {}", chosen.built.version));
    let mac = board().mac;
    let (script, phase, wanted) = match &capture {
        Some(capture) => {
            let phase = capture::phase(capture, faults.wire, args.seed);
            let script = capture::script(1, phase.frames.len(), CAPTURE_WAIT_MS);
            let captured_line = script.captured_line;
            (script.text, phase, Wanted::Capture { captured_line })
        }
        None => (capture::smoke_script(), capture::smoke(mac), Wanted::Smoke),
    };
    let mut options = RunOptions::new(chosen.boot(simulated).with(&script));
    (options.phases, options.plan) = (vec![phase], plan);
    (options.remove_at, options.device) = (faults.remove_at, device);
    let report = match run_kernel(options) {
        Ok(report) => report,
        Err(error) => bail!("{error}"),
    };
    progress.done();
    if args.show_log {
        outln!("{}", report.output.console);
    }
    let mut problems = capture::problems(&report);
    // A device that left is not asked for its frames.
    if faults.remove_at.is_none() {
        problems.extend(match wanted {
            Wanted::Capture { captured_line } => capture::capture_problem(&report, captured_line),
            Wanted::Smoke => capture::smoke_problem(&report, mac),
        });
    }
    print(&report, simulated, &chosen);
    for problem in &problems {
        outln!("FOUND  {problem}");
    }
    Ok(if report.error.as_ref().is_some_and(ServeError::is_limit) && problems.len() == 1 {
        exit::INCONCLUSIVE
    } else if !problems.is_empty() {
        exit::FINDINGS
    } else if report.arrived.is_empty() {
        exit::NOTHING
    } else {
        outln!("every frame arrived whole and in order, or was dropped and counted; no rule was");
        outln!("broken, and the kernel's log has no report");
        exit::CLEAN
    })
}

/// What a run was.
fn print(report: &RunReport, simulated: bool, chosen: &Chosen) {
    let count = |name: &str| report.counts.get(name).copied().unwrap_or(0);
    let (version, kernel) = (&chosen.built.version, chosen.built.kind.name());
    outln!("linux {version} ({kernel}), {}", report.device.name());
    outln!(
        "frames {} to the port, {} to memory, {} sent; interrupts {}",
        report.arrived.len(),
        count("rx_packets"),
        count("tx_packets"),
        count("msix"),
    );
    outln!("register accesses {}, events {}", report.accesses, report.events);
    if simulated {
        let ms = report.end_ps / 1_000_000_000;
        outln!("simulated time {ms} ms, trace {:016x}", report.trace_hash);
    }
    let asked: Vec<String> = report
        .not_modelled
        .iter()
        .map(|(at, name)| name.map_or_else(|| format!("{at:#x}"), str::to_owned))
        .collect();
    if !asked.is_empty() {
        outln!("registers that are storage alone: {}", asked.join(" "));
    }
}
