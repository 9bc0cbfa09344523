//! What only a device with firmware does: it gives up, it does not answer; and the bugs of Linux's
//! mlx4 that a run finds, which must stay found until a kernel mends them (docs/FOUND.md).

use super::echo::{every_echo, Burst, ECHO_PORT};
use super::life::MS;
use super::script::Script;
use super::{Case, Setting};
use crate::run::{board, Device, RunReport};
use crate::world::{Act, Phase};
use pollproof_connectx_3::HcaParams;

/// Echo, something that happens, and echo again when the interface is back.
fn echo_around(act: Act, wait: &str) -> (Script, Vec<Phase>) {
    let (mut script, mut phases) = (Script::up(&[]), Vec::new());
    script.line(format!("udp {ECHO_PORT}"));
    Burst::of(0).add(&mut script, &mut phases);
    phases.push(Phase { frames: Vec::new(), acts: vec![(MS, act)] });
    script.mark();
    script.line(wait);
    // The network device is a new one.
    script.lines(&["device 0000:00:00.0", "up", "address 10.0.0.1"]);
    script.line("wait-carrier timeout-ms=20000");
    script.neighbour();
    Burst::of(1).add(&mut script, &mut phases);
    (script, phases)
}

/// The driver says why, resets, and all is well again.
fn resets(script: Script, phases: Vec<Phase>, says: &'static str) -> Case {
    let judge = move |report: &RunReport| {
        let mut problems = every_echo(report);
        // Whoever leaves behind a reset meets Linux's own deadlock, too.
        for words in [says, RESET_DEADLOCK.1] {
            if !report.output.says(words) {
                problems.push(format!("the kernel's log does not say '{words}'"));
            }
        }
        problems
    };
    Case { known: &[RESET_DEADLOCK], ..Case::new(script, phases, Box::new(judge)) }
}

/// A reset that comes while the driver leaves: each waits for the other.
pub(super) const RESET_DEADLOCK: (&str, &str) = (
    "possible circular locking dependency",
    "(wq_completion)mlx4_health --> (work_completion)(&dev->persist->catas_work) --> &devlink",
);

/// The buffer of catastrophic errors is filled; the driver looks at it every five seconds or so.
pub fn catas(_: &Setting<'_>) -> Vec<Case> {
    let (script, phases) = echo_around(Act::Fail, "sleep 20000");
    vec![resets(script, phases, "Internal error detected")]
}

/// A command's answer is lost; the driver waits for a minute and resets.
pub fn command_timeout(_: &Setting<'_>) -> Vec<Case> {
    let (script, phases) = echo_around(Act::LoseAnswer, "sleep 90000");
    vec![resets(script, phases, "timed out (go bit not cleared)")]
}

/// Three results are asked for, five are cleared.
pub fn self_test(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::up(&[]);
    script.line("self-test");
    let reports = &["mlx4_en_ex_selftest"];
    vec![Case { reports, ..Case::new(script, Vec::new(), Box::new(|_| Vec::new())) }]
}

/// The port goes down as the driver leaves, and says so: what is queued by that outlives the
/// network device.
pub fn late_link(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::up(&[]);
    script.lines(&["down", "up", "sleep 3000", "down"]);
    let params = HcaParams { close_tells: true, ..HcaParams::new(board().mac) };
    let (device, reports) = (Some(Device::Mlx4(params)), &["__linkwatch_run_queue"]);
    vec![Case { device, reports, ..Case::new(script, Vec::new(), Box::new(|_| Vec::new())) }]
}
