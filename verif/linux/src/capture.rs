//! Frames of a capture through Linux's driver, up to a packet socket; and a guest that answers.

use crate::boot::Boot;
use crate::packets;
use crate::run::{RunOptions, RunReport};
use crate::traffic::{compare, Seen};
use crate::world::{Phase, MARK_PORT};
use pollproof_sim::Streams;
use pollproof_wire::{Arrivals, Capture, FaultRates, Faults, Frame, Pacing};
use std::sync::Arc;

/// What goes wrong on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// On the wire.
    pub wire: FaultRates,
    /// The function leaves the bus at this register access.
    pub remove_at: Option<u64>,
}

/// Why a text is no fault plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault plan: {what:?}: {why}")]
pub struct FaultPlanError {
    what: String,
    why: &'static str,
}

impl std::str::FromStr for FaultPlan {
    type Err = FaultPlanError;

    /// `loss=PPM,duplicate=PPM,corrupt=PPM,reorder=PPM,truncate=PPM,remove-at=ACCESS`, any of them.
    fn from_str(text: &str) -> Result<Self, FaultPlanError> {
        let mut plan = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = |why| FaultPlanError { what: part.chars().take(60).collect(), why };
            let (name, value) = part.split_once('=').ok_or(wrong("must be NAME=NUMBER"))?;
            let number: u64 = value.parse().map_err(|_| wrong("no number of 64 bits"))?;
            let rate = match name {
                "loss" => &mut plan.wire.loss_ppm,
                "duplicate" => &mut plan.wire.duplicate_ppm,
                "corrupt" => &mut plan.wire.corrupt_ppm,
                "reorder" => &mut plan.wire.reorder_ppm,
                "truncate" => &mut plan.wire.truncate_ppm,
                "remove-at" => {
                    plan.remove_at = Some(number);
                    continue;
                }
                _ => {
                    return Err(wrong(
                        "known are loss, duplicate, corrupt, reorder, truncate and remove-at",
                    ))
                }
            };
            if number > pollproof_wire::PER_MILLION {
                return Err(wrong("a rate is in parts per million"));
            }
            *rate = number;
        }
        Ok(plan)
    }
}

/// Lines of the guest's script, with the number of the one that prints what was captured.
pub struct Script {
    /// The lines.
    pub text: String,
    /// Number of the line `captured`.
    pub captured_line: usize,
}

/// What a guest does to receive a capture: the first lines, then these.
pub fn script(queues: u32, frames: usize, wait_ms: u64) -> Script {
    let mut lines = vec!["device 0000:00:00.0".to_owned()];
    if queues > 1 {
        lines.push(format!("channels combined={queues}"));
    }
    lines.extend(
        [
            "gro off",
            "up",
            "promisc on",
            "address 10.0.0.1",
            "neighbour 10.0.0.2 02:00:00:00:00:02",
            "wait-carrier",
            "capture",
        ]
        .map(str::to_owned),
    );
    lines.push(format!("send 10.0.0.2 {MARK_PORT}"));
    lines.push(format!("wait-captured {frames} timeout-ms={wait_ms}"));
    // What should not come would come now.
    lines.push("sleep 20".to_owned());
    lines.push("captured".to_owned());
    let captured_line = lines.len();
    lines.push("stats".to_owned());
    Script { text: lines.join("\n") + "\n", captured_line }
}

/// The frames of a capture at their times, as the wire delivers them.
pub fn phase(capture: &Capture, faults: FaultRates, seed: u64) -> Phase {
    let mut arrivals = Arrivals::new(Pacing::AsCaptured);
    let mut wire = Faults::new(faults, &Streams::new(seed));
    let mut frames: Vec<(u64, Arc<[u8]>)> = Vec::new();
    let mut last_ps = 0;
    let mut arrived = Vec::new();
    for packet in &capture.packets {
        last_ps = arrivals.next_ps(packet);
        wire.send(Frame::new(0, packet.bytes.clone()), &mut arrived);
        frames.extend(arrived.drain(..).map(|frame| (last_ps, frame.bytes)));
    }
    wire.flush(&mut arrived);
    frames.extend(arrived.drain(..).map(|frame| (last_ps, frame.bytes)));
    Phase { frames, acts: Vec::new() }
}

/// Options of a run that sends this phase to a guest with that script.
pub fn options(boot: Boot, phase: Phase) -> RunOptions {
    RunOptions { phases: vec![phase], ..RunOptions::new(boot) }
}

/// Counters of the device that say that a frame was dropped.
const DROPS: &[&str] = &[
    "rx_bad",
    "rx_off",
    "rx_pause",
    "rx_filtered",
    "rx_missed",
    "rx_queue_off",
    "rx_no_descriptor",
    "rx_lost",
];

/// What is wrong with a run, whatever it did: each in one line.
pub fn problems(report: &RunReport) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(error) = &report.error {
        problems.push(format!("the run was cut: {error}"));
    } else if !report.finished {
        problems.push(format!("the kernel did not switch itself off: {}", report.ending));
    }
    problems.extend(report.log_reports.iter().map(|line| format!("kernel log: {line}")));
    let broken = report.findings.iter().map(|f| format!("{}: {}", f.rule, f.message));
    problems.extend(broken);
    let failed = report.failed_lines();
    problems.extend(failed.iter().map(|(line, what)| format!("script line {line}: {what}")));
    problems
}

/// What is wrong with what the guest captured.
pub fn capture_problem(report: &RunReport, captured_line: usize) -> Option<String> {
    let seen: Vec<Seen> = report.said(captured_line).filter_map(Seen::parse).collect();
    let sent: Vec<Arc<[u8]>> = report.arrived.iter().map(|(_, bytes)| bytes.clone()).collect();
    if report.device.has_tails() && !report.reached.contains(&("RING-TAIL", "receive")) {
        return Some("RING-TAIL saw no tail of a receive ring".to_owned());
    }
    let dropped = DROPS.iter().filter_map(|name| report.counts.get(name)).sum();
    if report.marks.is_empty() {
        return Some("the guest never said that it was ready".to_owned());
    }
    compare(&sent, &seen).problem(dropped)
}

/// Numbers of the echo requests of [`smoke`].
const ECHOES: u16 = 8;

/// What a guest does to answer ARP and ICMP: nothing.
pub fn smoke_script() -> String {
    let lines = [
        "device 0000:00:00.0",
        "up",
        "address 10.0.0.1",
        "neighbour 10.0.0.2 02:00:00:00:00:02",
        "wait-carrier",
        &format!("send 10.0.0.2 {MARK_PORT}"),
        "sleep 100",
        "stats",
    ];
    lines.join("\n") + "\n"
}

/// An ARP request, then echo requests of several sizes.
pub fn smoke(guest: [u8; 6]) -> Phase {
    let mut frames = vec![(1_000_000_000, packets::arp_request())];
    for number in 0..ECHOES {
        let payload: Vec<u8> = (0..200 * number).map(|n| (n + number) as u8).collect();
        let at_ps = 2_000_000_000 + u64::from(number) * 500_000_000;
        frames.push((at_ps, packets::echo_request(guest, number, &payload)));
    }
    Phase { frames, acts: Vec::new() }
}

/// What is wrong with the answers to [`smoke`].
pub fn smoke_problem(report: &RunReport, guest: [u8; 6]) -> Option<String> {
    let answered = report.sent.iter().find_map(|frame| packets::arp_reply(&frame.bytes));
    if answered != Some(guest) {
        return Some(format!("the answer to an ARP request is {answered:02x?}"));
    }
    let mut next = 0;
    for (number, payload) in report.sent.iter().filter_map(|f| packets::echo_reply(&f.bytes)) {
        let wanted: Vec<u8> = (0..200 * number).map(|n| (n + number) as u8).collect();
        if number != next || payload != wanted {
            return Some(format!("echo reply {number} came where {next} was due, or was changed"));
        }
        next += 1;
    }
    (next != ECHOES).then(|| format!("{next} of {ECHOES} echo requests were answered"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_plan_is_read_and_what_is_none_is_told() {
        let plan: FaultPlan = "loss=10,remove-at=77".parse().expect("a plan");
        assert_eq!((plan.wire.loss_ppm, plan.remove_at), (10, Some(77)));
        for (text, why) in [
            ("loss", "must be NAME=NUMBER"),
            ("loss=x", "no number"),
            ("loss=1000001", "parts per million"),
            ("fire=1", "known are loss"),
        ] {
            let error = text.parse::<FaultPlan>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_script_says_which_line_tells_what_came() {
        for queues in [1, 4] {
            let script = script(queues, 10, 1000);
            let line = script.text.lines().nth(script.captured_line - 1);
            assert_eq!(line, Some("captured"));
        }
    }

    #[test]
    fn frames_of_a_capture_keep_their_times() {
        let packet =
            |time_ns, byte| pollproof_wire::Packet { time_ns, bytes: Arc::from(vec![byte; 60]) };
        let capture =
            Capture { packets: vec![packet(500, 1), packet(700, 2)], ..Default::default() };
        let phase = phase(&capture, FaultRates::default(), 7);
        let times: Vec<u64> = phase.frames.iter().map(|(ps, _)| *ps).collect();
        assert_eq!(times, [0, 200_000]);
        let lossy = FaultRates { loss_ppm: 1_000_000, ..FaultRates::default() };
        assert!(super::phase(&capture, lossy, 7).frames.is_empty());
    }
}
