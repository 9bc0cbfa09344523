//! Questions and answers: ARP, ICMP, and UDP echo, which other scenarios use as their traffic.

use super::script::Script;
use super::{Case, Setting};
use crate::capture::{smoke, smoke_problem, smoke_script};
use crate::packets::{datagram, datagram_of};
use crate::run::{board, RunReport};
use crate::world::Phase;
use std::collections::BTreeMap;
use std::ops::Range;

/// Port of the guest's echo server.
pub const ECHO_PORT: u16 = 7;
/// Source ports of the street begin here, one a flow.
const FIRST_PORT: u16 = 40_000;
/// Microseconds in picoseconds.
pub const US: u64 = 1_000_000;

pub fn arp_icmp(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::default();
    script.lines(&smoke_script().lines().collect::<Vec<_>>());
    let mac = board().mac;
    let judge = move |report: &RunReport| smoke_problem(report, mac).into_iter().collect();
    vec![Case::new(script, vec![smoke(mac)], Box::new(judge))]
}

/// The same traffic with interrupts at once, adaptively, and with longer and longer pauses.
pub fn moderation(_: &Setting<'_>) -> Vec<Case> {
    let mut script = Script::up(&[]);
    script.line(format!("udp {ECHO_PORT}"));
    let mut phases = Vec::new();
    for (number, rx_usecs) in [0, 1, 10, 100, 500].into_iter().enumerate() {
        script.line(format!("coalesce rx-usecs={rx_usecs}"));
        let burst = Burst { port: ECHO_PORT, ..Burst::of(number) };
        burst.add(&mut script, &mut phases);
    }
    vec![Case::new(script, phases, Box::new(every_echo))]
}

/// Datagrams of a few flows, in one phase.
#[derive(Clone)]
pub struct Burst {
    /// Port that they go to.
    pub port: u16,
    /// Their numbers, which nobody else has.
    pub numbers: Range<u32>,
    /// Flows that they belong to in turn.
    pub flows: u16,
    /// From one to the next, picoseconds.
    pub gap_ps: u64,
    /// How long the guest then waits, milliseconds.
    pub wait_ms: u32,
}

impl Burst {
    /// Number `n` of several alike.
    pub fn of(n: usize) -> Self {
        let first = n as u32 * 10_000;
        Self { port: ECHO_PORT, numbers: first..first + 96, flows: 3, gap_ps: 5 * US, wait_ms: 50 }
    }

    /// The frames.
    pub fn phase(&self) -> Phase {
        let frame = |number: u32| {
            let after = u64::from(number - self.numbers.start);
            let from = FIRST_PORT + (number % u32::from(self.flows.max(1))) as u16;
            let bytes = datagram(board().mac, (from, self.port), &payload(number));
            (10 * US + after * self.gap_ps, bytes)
        };
        Phase { frames: self.numbers.clone().map(frame).collect(), acts: Vec::new() }
    }

    /// The guest says that it is ready, and waits.
    pub fn add(&self, script: &mut Script, phases: &mut Vec<Phase>) {
        phases.push(self.phase());
        script.mark();
        script.line(format!("sleep {}", self.wait_ms));
    }
}

/// What datagram `number` holds: its number, then bytes that others have otherwise.
fn payload(number: u32) -> Vec<u8> {
    let len = 4 + (number as usize * 37) % 1200;
    let filler = (4..len).map(|at| (at as u32).wrapping_mul(number + 1) as u8);
    number.to_be_bytes().into_iter().chain(filler).collect()
}

/// Every datagram that arrived was answered once, in the order of its flow, with its bytes.
pub fn every_echo(report: &RunReport) -> Vec<String> {
    let mut waiting: BTreeMap<(u16, u16), Vec<Vec<u8>>> = BTreeMap::new();
    for (from, to, payload) in report.arrived.iter().filter_map(|(_, bytes)| datagram_of(bytes)) {
        waiting.entry((from, to)).or_default().push(payload);
    }
    let mut answers: BTreeMap<(u16, u16), Vec<Vec<u8>>> = BTreeMap::new();
    for (from, to, payload) in report.sent.iter().filter_map(|frame| datagram_of(&frame.bytes)) {
        answers.entry((to, from)).or_default().push(payload);
    }
    if waiting.is_empty() {
        return vec!["no datagram reached the port".to_owned()];
    }
    let wrong = waiting.iter().filter_map(|(flow, asked)| {
        let got = answers.get(flow).map_or(&[][..], Vec::as_slice);
        if got == asked {
            return None;
        }
        let (from, to) = flow;
        let first = asked.iter().zip(got).take_while(|(a, b)| a == b).count();
        Some(format!(
            "port {from} to {to}: {} datagrams, {} answers, the first {first} are right",
            asked.len(),
            got.len()
        ))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_datagrams_are_alike() {
        let phase = Burst::of(1).phase();
        let mut payloads: Vec<_> =
            phase.frames.iter().filter_map(|(_, bytes)| datagram_of(bytes)).map(|d| d.2).collect();
        assert_eq!(payloads.len(), 96);
        payloads.sort();
        payloads.dedup();
        assert_eq!(payloads.len(), 96);
        assert!(phase.frames.windows(2).all(|two| two[0].0 < two[1].0));
    }
}
