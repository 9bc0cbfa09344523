//! TCP streams through GRO: whatever it puts together, the bytes of each stream stay as they were.

use super::echo::US;
use super::script::Script;
use super::{Case, Setting};
use crate::packets::{tcp_of, tcp_segment, PEER_IP};
use crate::run::{board, RunReport};
use crate::world::Phase;
use std::collections::BTreeMap;

const FLOWS: u16 = 3;
const SEGMENTS: u32 = 48;
const SEGMENT: u32 = 1000;
/// Streams of a phase begin at this sequence number times the number of the phase, plus one.
const PHASE: u32 = 1 << 24;
const SERVICE: u16 = 80;

/// Settings, each for one phase, and whether segments must come put together.
const WAYS: &[(&[&str], bool)] = &[
    (&["gro off"], false),
    (&["gro on"], true),
    (&["write /sys/class/net/IFACE/gro_flush_timeout 50000"], true),
    (
        &[
            "write /sys/class/net/IFACE/napi_defer_hard_irqs 3",
            "write /sys/class/net/IFACE/gro_flush_timeout 200000",
        ],
        true,
    ),
    (&["coalesce rx-usecs=100"], true),
    (&["lro on"], true),
];

pub fn gro(setting: &Setting<'_>) -> Vec<Case> {
    // LRO comes last, and mlx4 has none.
    let ways = if setting.is_mlx4() { &WAYS[..WAYS.len() - 1] } else { WAYS };
    let (mut script, mut phases) = (Script::up(&[]), Vec::new());
    script.line("capture hex");
    let mut captured = Vec::new();
    for (number, (settings, _)) in ways.iter().enumerate() {
        script.lines(settings);
        // A change of LRO resets the adapter, which takes the link down.
        script.line("wait-carrier");
        script.mark();
        script.line("sleep 60");
        captured.push(script.line("captured"));
        phases.push(phase(number as u32));
    }
    let judge = move |report: &RunReport| {
        let each = captured.iter().enumerate();
        each.flat_map(|(number, &line)| problems(report, number, line)).collect()
    };
    vec![Case::new(script, phases, Box::new(judge))]
}

fn byte(flow: u16, place: u32) -> u8 {
    (place.wrapping_mul(7) ^ (place >> 8) ^ (u32::from(flow) * 85)) as u8
}

/// Trains of six segments of each flow in turn, close behind each other.
fn phase(number: u32) -> Phase {
    const TRAIN: u32 = 6;
    let mut frames = Vec::new();
    for train in 0..SEGMENTS / TRAIN {
        for flow in 0..FLOWS {
            for segment in train * TRAIN..(train + 1) * TRAIN {
                let place = segment * SEGMENT;
                let payload: Vec<u8> = (place..place + SEGMENT).map(|at| byte(flow, at)).collect();
                let sequence = (number + 1) * PHASE + place;
                let ports = (50_000 + flow, SERVICE);
                let at_ps = 10 * US + frames.len() as u64 * US + u64::from(train) * 100 * US;
                frames.push((at_ps, tcp_segment(board().mac, PEER_IP, ports, sequence, &payload)));
            }
        }
    }
    Phase { frames, acts: Vec::new() }
}

/// What is wrong with the streams of one phase.
fn problems(report: &RunReport, number: usize, line: usize) -> Vec<String> {
    let mut streams: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
    let (mut packets, mut problems) = (0, Vec::new());
    let name = format!("phase {number} ({})", WAYS[number].0.join(", "));
    for frame in report.said(line).filter_map(bytes_of) {
        let Some((from, to, sequence, payload)) = tcp_of(&frame) else { continue };
        let base = (number as u32 + 1) * PHASE;
        let flow = from.wrapping_sub(50_000);
        if to != SERVICE || flow >= FLOWS {
            problems.push(format!("{name}: a segment of ports {from} to {to}, which nobody sent"));
            continue;
        }
        let stream = streams.entry(flow).or_default();
        if sequence.wrapping_sub(base) as usize != stream.len() {
            let there = stream.len();
            let here = sequence.wrapping_sub(base);
            problems.push(format!("{name}: flow {flow}: byte {here} comes where {there} is due"));
        }
        stream.extend(payload);
        packets += 1;
    }
    for flow in 0..FLOWS {
        let wanted: Vec<u8> = (0..SEGMENTS * SEGMENT).map(|at| byte(flow, at)).collect();
        let got = streams.get(&flow).map_or(&[][..], Vec::as_slice);
        if got != wanted {
            let same = wanted.iter().zip(got).take_while(|(a, b)| a == b).count();
            let (all, got) = (wanted.len(), got.len());
            problems.push(format!("{name}: flow {flow}: {got} of {all} bytes, {same} are right"));
        }
    }
    let sent = u32::from(FLOWS) * SEGMENTS;
    if (packets < sent) != WAYS[number].1 {
        problems.push(format!("{name}: {packets} packets of {sent} segments"));
    }
    problems.truncate(4);
    problems
}

/// The bytes of a line `frame N len=L hash=H hex=...`.
fn bytes_of(said: &str) -> Option<Vec<u8>> {
    let digits = said.strip_prefix("frame ")?.split(" hex=").nth(1)?.trim();
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_bytes_is_read() {
        assert_eq!(bytes_of("frame 3 len=2 hash=00 hex=0aff"), Some(vec![10, 255]));
        assert_eq!(bytes_of("frame 3 len=2 hash=00 hex=0af"), None);
        assert_eq!(bytes_of("frame 3 len=2 hash=00"), None);
    }
}
