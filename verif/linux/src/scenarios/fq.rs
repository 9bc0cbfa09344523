//! Paced sockets through fq: no datagram leaves before its time, nor long after.

use super::script::Script;
use super::{Case, Setting};
use crate::packets::{datagram_of, PEER_IP};
use crate::run::RunReport;

const COUNT: usize = 60;
const PAYLOAD: u64 = 958;
/// With its headers, as fq counts it.
const BYTES: u64 = PAYLOAD + 42;
const PS_PER_S: u64 = 1_000_000_000_000;
/// Sender's ports; the first is that of the first way.
const FIRST_PORT: u16 = 9100;

/// Bytes a second, and the slack of fq's timer in nanoseconds.
const WAYS: &[(u64, u64)] = &[(1_000_000, 0), (1_000_000, 500_000), (200_000, 10_000)];

pub fn fq(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::up(&[]);
    for (number, (rate, slack_ns)) in WAYS.iter().enumerate() {
        // Every datagram is paced by itself, not a quantum of them.
        script.line(format!("fq slack-ns={slack_ns} low-rate-threshold=100000000"));
        let port = FIRST_PORT + number as u16;
        script.line(format!("send {PEER_IP} {port} count={COUNT} payload={PAYLOAD} pace={rate}"));
        let whole_ms = COUNT as u64 * (BYTES * 1000 / rate + slack_ns / 1_000_000) + 100;
        script.line(format!("sleep {whole_ms}"));
    }
    script.line("no-fq");
    let judge = |report: &RunReport| {
        let each = WAYS.iter().enumerate();
        each.flat_map(|(number, way)| pacing(report, number, *way)).collect()
    };
    vec![Case::new(script, Vec::new(), Box::new(judge))]
}

fn pacing(report: &RunReport, number: usize, (rate, slack_ns): (u64, u64)) -> Vec<String> {
    let port = FIRST_PORT + number as u16;
    let to_port = report.sent.iter().filter_map(|frame| {
        let (_, to, payload) = datagram_of(&frame.bytes)?;
        let number = payload.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))?;
        (to == port).then_some((frame.at_ps, number as usize))
    });
    let sent: Vec<(u64, usize)> = to_port.collect();
    let name = format!("{rate} bytes a second, slack {slack_ns} ns");
    if sent.iter().map(|s| s.1).ne(0..COUNT) {
        return vec![format!("{name}: {} of {COUNT} datagrams left, or not in order", sent.len())];
    }
    let due_ps = BYTES * PS_PER_S / rate;
    let (first, last) = (sent[0].0, sent[COUNT - 1].0);
    let whole_ps = due_ps * (COUNT as u64 - 1);
    let mut problems = Vec::new();
    // fq gives back half of what a timer was late, so a gap may be short, but not the sum.
    if last - first < whole_ps - due_ps {
        problems.push(format!(
            "{name}: all left within {} us, {} us were due",
            (last - first) / 1_000_000,
            whole_ps / 1_000_000
        ));
    }
    // Late by the slack, and by what the timer and the device take.
    let late_ps = (slack_ns * 1000 + 200_000_000) * COUNT as u64;
    if last - first > whole_ps + late_ps {
        problems.push(format!(
            "{name}: it took {} us, {} us were due",
            (last - first) / 1_000_000,
            whole_ps / 1_000_000
        ));
    }
    problems
}
