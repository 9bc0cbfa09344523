//! Scenarios for a kernel: what its administrator and the world do to a NIC, and what must hold.
//!
//! A scenario is one or more cases, each one boot with a script for the guest, phases for the
//! street and a judge. Whatever a case does, the kernel must switch itself off, its log must hold
//! no report, no rule may be broken and no line of the script may fail, but where the case says so.

mod busy;
mod echo;
mod fq;
mod gro;
mod hca;
mod life;
mod queues;
mod rings;
mod script;

use crate::boot::{Boot, BootError};
use crate::capture;
use crate::kernel::cpio;
use crate::run::{run, Device, RunOptions, RunReport};
use crate::timing::Plan;
use crate::world::Phase;
use pollproof_wire::Capture;
use script::Script;

/// What cases are made from.
pub struct Setting<'a> {
    /// Kernel and guest.
    pub boot: &'a Boot,
    /// A capture to send.
    pub capture: &'a Capture,
    /// Delays, under simulated time.
    pub plan: Plan,
    /// Device.
    pub device: Device,
}

impl Setting<'_> {
    fn is_mlx4(&self) -> bool {
        matches!(self.device, Device::Mlx4(_))
    }
}

/// One scenario.
pub struct Scenario {
    /// Its name.
    pub id: &'static str,
    /// What it does, in a line.
    pub what: &'static str,
    /// Drivers that it is for.
    pub drivers: &'static [&'static str],
    /// Its cases.
    pub cases: fn(&Setting<'_>) -> Vec<Case>,
}

/// What is wrong with what the guest and the street saw, each in a line.
type Judge = Box<dyn Fn(&RunReport) -> Vec<String> + Send>;

/// One boot.
pub struct Case {
    /// What tells it from the others of its scenario.
    pub name: String,
    script: Script,
    phases: Vec<Phase>,
    remove_at: Option<u64>,
    /// Another device than the setting's.
    device: Option<Device>,
    /// CPUs that the driver is told of: it has no more queues.
    cpus: u32,
    /// Lines of the script may fail: nobody promised that they work.
    may_fail: bool,
    /// Reports that the kernel's log must hold, by words in them; they are no problem then.
    reports: &'static [&'static str],
    /// Bugs of Linux that may show: words of the report, and words that only this bug has.
    known: &'static [(&'static str, &'static str)],
    judge: Judge,
}

const BOTH: &[&str] = &["ixgbe", "mlx4"];
const IXGBE: &[&str] = &["ixgbe"];
const MLX4: &[&str] = &["mlx4"];

/// All, in the order in which they are run.
#[rustfmt::skip]
pub const ALL: &[Scenario] = &[
    entry("arp-icmp", BOTH, "ARP and ICMP echo are answered", echo::arp_icmp),
    entry("capture", BOTH, "a capture, to a packet socket", queues::capture),
    entry("queues", IXGBE, "four queues, each flow on that of its Toeplitz hash", queues::queues),
    entry("gro", BOTH, "TCP streams with GRO off, on, and deferred", gro::gro),
    entry("busy-poll", BOTH, "UDP echo with SO_BUSY_POLL and its kin", busy::busy_poll),
    entry("moderation", BOTH, "UDP echo at several rx-usecs", echo::moderation),
    entry("rings", BOTH, "bursts into rings; what is lost was counted", rings::rings),
    entry("down-up", BOTH, "down and up under traffic", life::down_up),
    entry("flap", BOTH, "the cable is pulled and plugged", life::flap),
    entry("tx-hang", IXGBE, "transmit hangs, the driver resets", life::tx_hang),
    entry("catas", MLX4, "firmware gives up, the driver resets", hca::catas),
    entry("command-timeout", MLX4, "the answer to a command is lost", hca::command_timeout),
    entry("self-test", MLX4, "ethtool's self-test (Linux's own bug)", hca::self_test),
    entry("late-link-event", MLX4, "the port says it closed (Linux's own bug)", hca::late_link),
    entry("fq", BOTH, "paced sockets through fq, with and without slack", fq::fq),
    entry("removal", BOTH, "the device is gone at every k-th access", life::removal),
];

const fn entry(
    id: &'static str,
    drivers: &'static [&'static str],
    what: &'static str,
    cases: fn(&Setting<'_>) -> Vec<Case>,
) -> Scenario {
    Scenario { id, what, drivers, cases }
}

/// Which scenarios of a driver a name means: `all`, or one.
pub fn select(driver: &str, name: &str) -> Vec<&'static Scenario> {
    let of_driver = ALL.iter().filter(|scenario| scenario.drivers.contains(&driver));
    of_driver.filter(|scenario| name == "all" || scenario.id == name).collect()
}

/// How a case went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What is wrong, each in a line.
    pub problems: Vec<String>,
    /// Register accesses.
    pub accesses: u64,
    /// Frames that reached the port, and that left it.
    pub frames: (usize, usize),
    /// Hash over all events with their times.
    pub trace_hash: u64,
    /// The kernel's log, for whoever asks why.
    pub log: String,
    /// What the guest printed.
    pub console: String,
}

impl Case {
    fn new(script: Script, phases: Vec<Phase>, judge: Judge) -> Self {
        Self {
            name: String::new(),
            script,
            phases,
            remove_at: None,
            device: None,
            cpus: 1,
            may_fail: false,
            reports: &[],
            known: &[],
            judge,
        }
    }

    /// Runs it to its end.
    pub fn run(self, setting: &Setting<'_>) -> Result<Outcome, BootError> {
        let mut boot = setting.boot.clone();
        boot.script = cpio::with_script(&self.script.text());
        boot.arguments.push(format!("pollproof_cpus={}", self.cpus));
        let options = RunOptions {
            phases: self.phases,
            plan: setting.plan.clone(),
            remove_at: self.remove_at,
            device: self.device.unwrap_or(setting.device),
            ..RunOptions::new(boot)
        };
        let mut report = run(options)?;
        let mut problems = Vec::new();
        for words in self.reports {
            let before = report.log_reports.len();
            report.log_reports.retain(|line| !line.contains(words));
            if before == report.log_reports.len() {
                problems.push(format!("the kernel's log does not say '{words}'"));
            }
        }
        for (words, own) in self.known {
            if report.output.says(own) {
                report.log_reports.retain(|line| !line.contains(words));
            }
        }
        if self.may_fail {
            let lines = report.output.console.lines();
            let kept: Vec<_> = lines.filter(|line| !line.contains(" error ")).collect();
            report.output.console = kept.join("\n");
        }
        problems.extend(capture::problems(&report));
        problems.extend((self.judge)(&report));
        Ok(Outcome {
            problems,
            accesses: report.accesses,
            frames: (report.arrived.len(), report.sent.len()),
            trace_hash: report.trace_hash,
            log: report.output.log,
            console: report.output.console,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_select_one_or_all() {
        let ids: BTreeSet<_> = ALL.iter().map(|scenario| scenario.id).collect();
        assert_eq!(ids.len(), ALL.len());
        assert_eq!(select("ixgbe", "all").len(), 12);
        assert_eq!(select("mlx4", "gro").len(), 1);
        assert!(select("mlx4", "tx-hang").is_empty() && select("ixgbe", "gr").is_empty());
    }
}
