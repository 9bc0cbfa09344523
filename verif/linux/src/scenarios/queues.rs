//! Several receive queues: which one a flow goes to, and a whole capture over four of them.

use super::echo::US;
use super::script::Script;
use super::{Case, Setting};
use crate::capture::{capture_problem, phase, script as capture_script};
use crate::packets::{tcp_segment, GUEST_IP};
use crate::run::{board, RunReport};
use crate::world::Phase;
use pollproof_wire::FaultRates;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const QUEUES: u32 = 4;
const FLOWS: u16 = 64;
const FRAMES_A_FLOW: u64 = 4;
/// Longest pause that the guest waits for the end of a capture.
const WAIT_MS: u64 = 20_000;

pub fn capture(setting: &Setting<'_>) -> Vec<Case> {
    // Only ixgbe is told of more CPUs than there are.
    let ways: &[u32] = if setting.is_mlx4() { &[1] } else { &[1, QUEUES] };
    ways.iter()
        .map(|&queues| {
            let frames = phase(setting.capture, FaultRates::default(), 7);
            let lines = capture_script(queues, frames.frames.len(), WAIT_MS);
            let mut script = Script::default();
            script.lines(&lines.text.lines().collect::<Vec<_>>());
            let captured = lines.captured_line;
            let judge =
                move |report: &RunReport| capture_problem(report, captured).into_iter().collect();
            let name = format!("queues={queues}");
            Case { name, cpus: queues, ..Case::new(script, vec![frames], Box::new(judge)) }
        })
        .collect()
}

/// Flows of TCP, told apart by address and port.
fn flow(n: u16) -> (Ipv4Addr, u16) {
    (Ipv4Addr::new(10, 0, 0, 20 + (n % 50) as u8), 30_000 + n * 7)
}

const SERVICE: u16 = 80;

/// As many queues as it takes by itself, then a number that is set.
pub fn queues(_: &Setting<'_>) -> Vec<Case> {
    [(QUEUES, QUEUES), (16, QUEUES - 1)].map(|(cpus, queues)| case(cpus, queues)).into()
}

fn case(cpus: u32, queues: u32) -> Case {
    let channels = format!("channels combined={queues}");
    let settings = if cpus == queues { vec!["gro off"] } else { vec![&*channels, "gro off"] };
    let mut script = Script::up(&settings);
    let rss = script.line("rss");
    script.line("capture");
    script.mark();
    script.line("sleep 100");
    let captured = script.line("captured");
    let stats = script.line("stats rx_queue_");
    let mut frames = Vec::new();
    for round in 0..FRAMES_A_FLOW {
        for n in 0..FLOWS {
            let at_ps = 10 * US + (round * u64::from(FLOWS) + u64::from(n)) * 20 * US;
            let (address, port) = flow(n);
            let payload = [round as u8, n as u8, 1, 2];
            let sequence = 1000 + 4 * round as u32;
            let ports = (port, SERVICE);
            frames.push((at_ps, tcp_segment(board().mac, address, ports, sequence, &payload)));
        }
    }
    let judge = move |report: &RunReport| {
        let mut problems: Vec<_> = capture_problem(report, captured).into_iter().collect();
        problems.extend(queue_problems(report, queues, rss, stats));
        problems
    };
    let phases = vec![Phase { frames, acts: Vec::new() }];
    Case { name: format!("queues={queues}"), cpus, ..Case::new(script, phases, Box::new(judge)) }
}

/// Frames of each queue as the key and the table say, against the driver's counters.
fn queue_problems(report: &RunReport, queues: u32, rss: usize, stats: usize) -> Vec<String> {
    let Some((table, key)) = report.said(rss).find_map(parse_rss) else {
        return vec!["the guest told no RSS key".to_owned()];
    };
    let mut wanted = BTreeMap::new();
    for (address, port) in (0..FLOWS).map(flow) {
        let mut input = address.octets().to_vec();
        input.extend(GUEST_IP.octets());
        input.extend(port.to_be_bytes());
        input.extend(SERVICE.to_be_bytes());
        let entry = toeplitz(&key, &input) as usize % table.len().max(1);
        *wanted.entry(table.get(entry).copied().unwrap_or(0)).or_insert(0) += FRAMES_A_FLOW;
    }
    let counted = |queue: u32| {
        let name = format!("stat rx_queue_{queue}_packets ");
        let value = report.said(stats).find_map(|said| said.strip_prefix(&name));
        value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    let mut problems = Vec::new();
    for queue in 0..queues {
        let (wanted, got) = (wanted.get(&queue).copied().unwrap_or(0), counted(queue));
        if wanted != got {
            problems.push(format!("queue {queue}: {got} frames, by their hashes {wanted}"));
        }
    }
    if wanted.len() != queues as usize {
        problems.push(format!("flows hash to {} queues of {queues}", wanted.len()));
    }
    problems
}

/// `rss table=0,1,... key=hex`.
fn parse_rss(said: &str) -> Option<(Vec<u32>, Vec<u8>)> {
    let (table, key) = said.strip_prefix("rss table=")?.split_once(" key=")?;
    let table = table.split(',').map(|entry| entry.parse().ok()).collect::<Option<_>>()?;
    let digits = key.trim();
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let key = (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>()?;
    Some((table, key))
}

/// The hash of Microsoft's RSS: for each bit of the input that is set, the 32 bits of the key from
/// there on.
fn toeplitz(key: &[u8], input: &[u8]) -> u32 {
    let bit =
        |bytes: &[u8], at: usize| bytes.get(at / 8).is_some_and(|b| b << (at % 8) & 0x80 != 0);
    let window = |at: usize| (0..32).fold(0, |word, i| word << 1 | u32::from(bit(key, at + i)));
    (0..input.len() * 8).filter(|&at| bit(input, at)).fold(0, |hash, at| hash ^ window(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and the first vector of Microsoft's "Verifying the RSS Hash Calculation".
    #[test]
    fn the_hash_is_that_of_the_published_vectors() {
        let key = [
            0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
            0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
            0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
        ];
        let mut input = vec![66, 9, 149, 187, 161, 142, 100, 80];
        assert_eq!(toeplitz(&key, &input), 0x323e_8fc2);
        input.extend(2794u16.to_be_bytes());
        input.extend(1766u16.to_be_bytes());
        assert_eq!(toeplitz(&key, &input), 0x51cc_c178);
    }

    #[test]
    fn what_the_guest_says_of_rss_is_read() {
        assert_eq!(parse_rss("rss table=0,1 key=0aff"), Some((vec![0, 1], vec![10, 255])));
        assert_eq!(parse_rss("rss table=0,x key=0a"), None);
        assert_eq!(parse_rss("rss table=0 key=0a1"), None);
    }
}
