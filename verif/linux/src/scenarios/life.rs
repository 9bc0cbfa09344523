//! An interface that goes down and up, a cable, a hang, and a device that is gone.

use super::echo::{every_echo, Burst, ECHO_PORT, US};
use super::script::Script;
use super::{hca, Case, Setting};
use crate::packets::PEER_IP;
use crate::run::RunReport;
use crate::traffic::{compare, Seen};
use crate::world::{Act, Phase};
use std::sync::Arc;

pub(super) const MS: u64 = 1000 * US;
/// A port where nobody listens.
const NOBODY: u16 = 9;
const TIMES: usize = 5;
/// Frames after all is quiet again, which must all arrive.
const LAST: u32 = 40;

/// Traffic goes on while the interface goes down and comes up. What arrives is whole and in order,
/// and afterwards everything arrives.
pub fn down_up(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::up(&["gro off"]);
    script.line("capture");
    let storm = Burst { port: NOBODY, numbers: 0..3000, gap_ps: 300 * US, ..Burst::of(0) };
    let calm = Burst { port: NOBODY, numbers: 5000..5000 + LAST, ..Burst::of(0) };
    script.mark();
    for pause_ms in 0..TIMES {
        script.line(format!("sleep {}", 20 + 7 * pause_ms));
        script.line("down");
        script.line(format!("sleep {pause_ms}"));
        script.line("up");
    }
    script.line("sleep 600");
    script.line("wait-carrier");
    script.neighbour();
    script.mark();
    script.line("sleep 50");
    let captured = script.line("captured");
    let judge = move |report: &RunReport| {
        let seen: Vec<Seen> = report.said(captured).filter_map(Seen::parse).collect();
        let sent: Vec<Arc<[u8]>> = report.arrived.iter().map(|(_, bytes)| bytes.clone()).collect();
        let comparison = compare(&sent, &seen);
        // Any number may be missing, but none of the last.
        let missing = comparison.missing.len() as u64;
        let mut problems: Vec<_> = comparison.problem(missing).into_iter().collect();
        let first_of_last = sent.len().saturating_sub(LAST as usize);
        let late = comparison.missing.iter().filter(|&&n| n >= first_of_last).count();
        if late > 0 || sent.len() < LAST as usize {
            problems.push(format!("{late} of the last {LAST} frames did not arrive"));
        }
        if comparison.matched <= LAST as usize {
            problems.push("nothing arrived between down and up: nothing was tested".to_owned());
        }
        problems
    };
    vec![Case::new(script, vec![storm.phase(), calm.phase()], Box::new(judge))]
}

/// The cable goes out and in; echo works before and after.
pub fn flap(_: &Setting<'_>) -> Vec<Case> {
    let (mut script, mut phases) = (Script::up(&[]), Vec::new());
    script.line(format!("udp {ECHO_PORT}"));
    for number in 0..TIMES {
        Burst::of(number).add(&mut script, &mut phases);
        let again_ps = (20 + 100 * number as u64) * MS;
        let acts = vec![(MS, Act::Cable(false)), (MS + again_ps, Act::Cable(true))];
        phases.push(Phase { frames: Vec::new(), acts });
        script.mark();
        // A short loss may be over before the driver looks.
        script.line("sleep 4000");
        script.line("wait-carrier timeout-ms=20000");
    }
    Burst::of(TIMES).add(&mut script, &mut phases);
    vec![Case::new(script, phases, Box::new(every_echo))]
}

/// Transmit stops in the device; the driver finds out and resets it.
pub fn tx_hang(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::up(&[]);
    script.line(format!("udp {ECHO_PORT}"));
    let hang = Phase { frames: Vec::new(), acts: vec![(MS, Act::HoldTransmit)] };
    let mut phases = vec![hang];
    script.mark();
    script.line("sleep 10");
    script.line(format!("send {PEER_IP} {NOBODY} count=4"));
    script.line("sleep 15000");
    script.line("wait-carrier timeout-ms=20000");
    Burst::of(0).add(&mut script, &mut phases);
    let reports = &["Detected Tx Unit Hang"];
    vec![Case { reports, ..Case::new(script, phases, Box::new(every_echo)) }]
}

/// Register accesses of the script below, when nothing is removed, by ixgbe and mlx4; the last
/// place is behind all.
const ACCESSES: (u64, u64) = (15_000, 2_400);
const PLACES: u64 = 16;

/// The device leaves the bus at an access: in probe, on the way up, under traffic, on the way down.
pub fn removal(setting: &Setting<'_>) -> Vec<Case> {
    let accesses = if setting.is_mlx4() { ACCESSES.1 } else { ACCESSES.0 };
    let case = move |place: u64| {
        // Uneven steps, so that other registers are hit.
        let at = 1 + place * accesses / PLACES + (place * 37) % 101;
        let mut script = Script::up(&[]);
        let mut phases = Vec::new();
        script.line(format!("udp {ECHO_PORT}"));
        Burst::of(0).add(&mut script, &mut phases);
        script.lines(&["stats", "down", "up", "stats", "sleep 3000", "down"]);
        let judge = |_: &RunReport| Vec::new();
        Case {
            name: format!("at access {at}"),
            remove_at: Some(at),
            may_fail: true,
            known: &[hca::RESET_DEADLOCK],
            ..Case::new(script, phases, Box::new(judge))
        }
    };
    (0..PLACES).map(case).collect()
}
