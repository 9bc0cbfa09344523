//! One run: a kernel boots, its guest does what the script says, the street does its part, and
//! everything is watched.

use crate::boot::{Boot, BootError, Output};
use crate::calendar::Calendar;
use crate::log;
use crate::nic::Nic;
use crate::serve::{Door, Limits, ServeError, Server, Time};
use crate::timing::Plan;
use crate::wall::Wall;
use crate::world::{Partner, Phase, SentFrame, Street, World};
use pollproof_connectx_3::{Hca, HcaParams};
use pollproof_events::{with_visitor, Record, Visitor};
use pollproof_intel_82599::{Intel82599, Medium, Params};
use pollproof_pcie::{LinkParams, GEN2_X8};
use pollproof_rules::{Finding, Judge};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Time on the wall that a kernel has to end after it left the device: on a busy machine 10 s were
/// not enough, once in 60 runs.
const FAREWELL: Duration = Duration::from_secs(60);

/// What a kernel says when it switches itself off.
const POWER_DOWN: &str = "reboot: Power down";
const SIGABRT: i32 = 6;

/// Rules that a trace of Linux can break: registers, rings and DMA show what they need. All other
/// rules need events that only a driver of ours emits: NAPI, lists, packets, sockets, its knowledge
/// of the port.
pub const SEEN: [&str; 3] = ["RING-TAIL", "BUFFER-OWNERSHIP", "DEVICE-RULES"];

/// What is run.
pub struct RunOptions {
    /// Kernel and guest.
    pub boot: Boot,
    /// What the street does at each mark of the guest.
    pub phases: Vec<Phase>,
    /// Who answers at the other end.
    pub partner: Option<Box<dyn Partner>>,
    /// Delays; under simulated time alone.
    pub plan: Plan,
    /// Device.
    pub device: Device,
    /// Bus, under simulated time; in real time it takes no time of its own.
    pub link: LinkParams,
    /// The function leaves the bus at this register access.
    pub remove_at: Option<u64>,
    /// Bounds.
    pub limits: Limits,
    /// Keeps every event.
    pub keep_events: bool,
}

impl RunOptions {
    /// A run with nothing on the street.
    pub fn new(boot: Boot) -> Self {
        Self {
            boot,
            phases: Vec::new(),
            partner: None,
            plan: Plan::default(),
            device: Device::Ixgbe(board()),
            link: GEN2_X8,
            remove_at: None,
            limits: Limits::default(),
            keep_events: false,
        }
    }
}

/// Device that a kernel finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// An 82599, which ixgbe drives.
    Ixgbe(Params),
    /// A ConnectX-3, which mlx4_core and mlx4_en drive.
    Mlx4(HcaParams),
}

impl Device {
    /// Driver and device, for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ixgbe(_) => "ixgbe on an 82599",
            Self::Mlx4(_) => "mlx4 on a ConnectX-3",
        }
    }

    /// Its receive rings have tail registers, which rules on rings see.
    pub fn has_tails(&self) -> bool {
        matches!(self, Self::Ixgbe(_))
    }

    /// The name of its driver, and its board.
    pub fn of(driver: &str) -> Option<Self> {
        match driver {
            "ixgbe" => Some(Self::Ixgbe(board())),
            "mlx4" => Some(Self::Mlx4(HcaParams::new(board().mac))),
            _ => None,
        }
    }
}

/// The board that Linux is given: SFP+ with a module, short frames taken as captures hold them.
pub fn board() -> Params {
    Params { medium: Medium::Sfp { module: true }, pad_short: true, ..Params::default() }
}

/// What became of it.
#[derive(Debug)]
pub struct RunReport {
    /// What the guest printed and the kernel logged.
    pub output: Output,
    /// Device.
    pub device: Device,
    /// The kernel switched itself off.
    pub finished: bool,
    /// How its process ended.
    pub ending: String,
    /// Why serving ended early.
    pub error: Option<ServeError>,
    /// Frames that the driver sent, marks apart.
    pub sent: Vec<SentFrame>,
    /// Frames that arrived at the port, with their times.
    pub arrived: Vec<(u64, Arc<[u8]>)>,
    /// When the guest said that it was ready, picoseconds.
    pub marks: Vec<u64>,
    /// What the device counted.
    pub counts: BTreeMap<&'static str, u64>,
    /// What the driver did wrong, as the device tells it.
    pub misuses: Vec<(&'static str, u64)>,
    /// Registers that were asked for what is not modelled.
    pub not_modelled: Vec<(u32, Option<&'static str>)>,
    /// Rules that were broken.
    pub findings: Vec<Finding>,
    /// Points of rules that were reached.
    pub reached: BTreeSet<(&'static str, &'static str)>,
    /// Reports in the kernel's log.
    pub log_reports: Vec<String>,
    /// Register accesses.
    pub accesses: u64,
    /// Points of the timing plan that were passed.
    pub points: u64,
    /// Events.
    pub events: u64,
    /// Hash over all events with their times.
    pub trace_hash: u64,
    /// The device's time at the end, picoseconds.
    pub end_ps: u64,
    /// All events, if they were to be kept.
    pub records: Vec<Record>,
}

impl RunReport {
    /// Lines of the guest's output that belong to a line of the script.
    pub fn said(&self, line: usize) -> impl Iterator<Item = &str> {
        let prefix = format!("@{line} ");
        let lines = self.output.console.lines();
        lines.filter_map(move |text| text.trim_end().strip_prefix(&prefix))
    }

    /// Lines of the script that failed: number and what was said.
    pub fn failed_lines(&self) -> Vec<(usize, String)> {
        let failed = |text: &str| {
            let (number, rest) = text.trim_end().strip_prefix('@')?.split_once(' ')?;
            let what = rest.strip_prefix("error ")?;
            Some((number.parse().ok()?, what.to_owned()))
        };
        self.output.console.lines().filter_map(failed).collect()
    }
}

/// FNV-1a of what is written to it.
struct Hash(u64);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for &byte in text.as_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

/// Judges, counts and hashes all events.
struct Watch {
    judge: Judge,
    events: u64,
    hash: Hash,
    keep: bool,
    records: Vec<Record>,
}

impl Watch {
    fn new(keep: bool) -> Self {
        let hash = Hash(0xcbf2_9ce4_8422_2325);
        Self { judge: Judge::new(), events: 0, hash, keep, records: Vec::new() }
    }
}

impl Visitor for Watch {
    fn visit(&mut self, record: &Record) {
        self.judge.visit(record);
        self.events += 1;
        // Writing to the hash can not fail.
        let _ = write!(self.hash, "{} {:?}", record.time_ps, record.event);
        if self.keep {
            self.records.push(*record);
        }
    }
}

/// Runs a kernel to its end.
pub fn run(options: RunOptions) -> Result<RunReport, BootError> {
    match options.device {
        Device::Ixgbe(params) => run_with(Intel82599::new(params), options),
        Device::Mlx4(params) => run_with(Hca::new(params), options),
    }
}

fn run_with<N: Nic>(nic: N, options: RunOptions) -> Result<RunReport, BootError> {
    let (device, is_real) = (options.device, !options.boot.simulated);
    let (mut running, doors) = options.boot.start()?;
    let watch = Rc::new(RefCell::new(Watch::new(options.keep_events)));
    let street = Street::new(options.phases, options.partner);
    let (time, link) = match doors.time {
        Some(socket) => (Time::Simulated(socket, Calendar::default()), options.link),
        None => (Time::Real(Wall::start()), LinkParams::zero()),
    };
    let mut world = World::new(nic, street, options.plan, link);
    world.remove_at = options.remove_at;
    let door = Door::Closed(doors.device, Some(doors.dir));
    let mut server = match Server::new(world, door, time, options.limits) {
        Ok(server) => server,
        Err(error) => {
            let (_, output) = running.end();
            let mut report = report::<N>(device, None, Some(error), output, &mut Watch::new(false));
            report.ending = "killed by us before it began".to_owned();
            return Ok(report);
        }
    };
    let error = with_visitor(watch.clone(), || server.serve(running.gone())).err();
    let status = match error {
        None if !server.world.street.is_over() => running.wait(FAREWELL),
        _ => None,
    };
    // The kernel goes first: one whose device leaves has something to say about it.
    let (killed, output) = running.end();
    let status = status.or(killed);
    let world = Some(server.world);
    // User Mode Linux exits with 0 when it is switched off, and by a signal or 1 when it panics.
    let exited = status.is_some_and(|s| s.signal().is_none() && s.success());
    // In real time a timer's signal may find it while it takes itself apart, behind its last word
    // (arch/um/os-Linux/main.c tells of it): it aborts then, in one run of 300.
    let aborted = is_real && status.is_some_and(|s| s.signal() == Some(SIGABRT));
    let finished = error.is_none() && (exited || aborted && output.says(POWER_DOWN));
    drop(running);
    let watch = Rc::try_unwrap(watch).map(RefCell::into_inner);
    let mut watch = watch.unwrap_or_else(|shared| shared.replace(Watch::new(false)));
    let mut report = report(device, world, error, output, &mut watch);
    report.finished = finished;
    report.ending = status.map_or("killed by us: it did not end".to_owned(), |s| s.to_string());
    Ok(report)
}

/// Findings of rules that can see such a trace.
fn seen(findings: &[Finding]) -> Vec<Finding> {
    findings.iter().filter(|finding| SEEN.contains(&finding.rule)).cloned().collect()
}

fn report<N: Nic>(
    device: Device,
    world: Option<World<N>>,
    error: Option<ServeError>,
    output: Output,
    watch: &mut Watch,
) -> RunReport {
    let log_reports = log::reports(&output.kernel_log());
    let mut report = RunReport {
        output,
        device,
        finished: false,
        ending: String::new(),
        error,
        sent: Vec::new(),
        arrived: Vec::new(),
        marks: Vec::new(),
        counts: BTreeMap::new(),
        misuses: Vec::new(),
        not_modelled: Vec::new(),
        findings: seen(watch.judge.findings()),
        reached: watch.judge.reached().clone(),
        log_reports,
        accesses: 0,
        points: 0,
        events: watch.events,
        trace_hash: watch.hash.0,
        end_ps: 0,
        records: std::mem::take(&mut watch.records),
    };
    if let Some(world) = world {
        report.counts = Nic::counts(&world.nic);
        report.misuses = Nic::misuses(&world.nic);
        report.not_modelled = Nic::not_modelled(&world.nic);
        (report.accesses, report.points) = (world.accesses(), world.timing.points());
        report.end_ps = world.now_ps();
        report.sent = world.street.sent;
        report.arrived = world.street.arrived;
        report.marks = world.street.marks;
    }
    report
}
