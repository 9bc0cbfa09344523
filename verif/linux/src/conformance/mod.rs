//! What a driver does on its data path, as steps that can be compared: Linux's against ours.
//!
//! Steps are taken from events, which both give: frames that arrive, descriptors that the device
//! writes back, interrupts, and what the driver writes to tails, moderation and masks. Times are
//! left out: under simulated time Linux computes in no time, and so does our driver here, so that
//! the order says it all. Service task, statistics and everything before the first frame are not
//! compared.

mod sides;

pub use sides::{linux, ours};

use crate::world::Coming;
use etherparse::PacketBuilder;
use pollproof_events::{Event, Record};
use pollproof_regs::ixgbe::pci::BAR_CSR;
use pollproof_regs::ixgbe_map as map;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One step on the data path.
#[allow(missing_docs, reason = "the fields say what they are")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A frame reaches the port.
    Frame(u64),
    /// The device writes a descriptor of a queue back: its index since the queue began.
    WriteBack { queue: u32, index: u32 },
    /// A message reaches the CPU.
    Interrupt(u32),
    /// The driver writes the tail of a receive ring: refill.
    Tail { queue: u32, tail: u32 },
    /// It sets the moderation of a vector.
    Moderation { vector: u32, interval: u32 },
    /// It enables vectors: re-arm.
    Rearm { first: u32, vectors: u32 },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(number) => write!(f, "frame {number}"),
            Self::WriteBack { queue, index } => write!(f, "back {queue} {index}"),
            Self::Interrupt(vector) => write!(f, "irq {vector}"),
            Self::Tail { queue, tail } => write!(f, "tail {queue} {tail}"),
            Self::Moderation { vector, interval } => write!(f, "itr {vector} {interval}"),
            Self::Rearm { first, vectors } => write!(f, "arm {first} {vectors}"),
        }
    }
}

/// A line that is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text:?} is no step")]
pub struct StepError {
    line: usize,
    text: String,
}

impl FromStr for Step {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split_whitespace();
        let name = words.next().ok_or(())?;
        let numbers: Result<Vec<u64>, _> = words.map(str::parse).collect();
        let numbers = numbers.map_err(|_| ())?;
        let small = |n: u64| u32::try_from(n).map_err(|_| ());
        Ok(match (name, numbers.as_slice()) {
            ("frame", &[number]) => Self::Frame(number),
            ("irq", &[vector]) => Self::Interrupt(small(vector)?),
            ("back", &[queue, index]) => {
                Self::WriteBack { queue: small(queue)?, index: small(index)? }
            }
            ("tail", &[queue, tail]) => Self::Tail { queue: small(queue)?, tail: small(tail)? },
            ("itr", &[vector, interval]) => {
                Self::Moderation { vector: small(vector)?, interval: small(interval)? }
            }
            ("arm", &[first, vectors]) => {
                Self::Rearm { first: small(first)?, vectors: small(vectors)? }
            }
            _ => return Err(()),
        })
    }
}

/// The text of a trace: one step a line.
pub fn text(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}

/// Steps of a trace, one a line; lines that begin with `#` are for people.
pub fn parse(text: &str) -> Result<Vec<Step>, StepError> {
    let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let steps = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let step = |(line, text): (usize, &str)| {
        let short = || text.chars().take(60).collect();
        text.parse().map_err(|()| StepError { line, text: short() })
    };
    steps.map(step).collect()
}

/// Bits of EITR that are an interval (8.2.3.5.12).
const INTERVAL: u32 = 0xff8;

/// What a register write on the data path is.
fn write_step(bar: u8, offset: u64, value: u32) -> Option<Step> {
    let offset = u32::try_from(offset).ok().filter(|_| bar == BAR_CSR)?;
    let array = |base: u32, count: u32, stride: u32| {
        let at = offset.checked_sub(base)?;
        (at.is_multiple_of(stride) && at / stride < count).then_some(at / stride)
    };
    if let Some(queue) = array(map::RDT, 64, 64) {
        return Some(Step::Tail { queue, tail: value });
    }
    if let Some(vector) = array(map::EITR, 24, 4) {
        return Some(Step::Moderation { vector, interval: value & INTERVAL });
    }
    array(map::EIMS_EX, 2, 4).map(|half| Step::Rearm { first: 32 * half, vectors: value })
}

/// The data path of a run, from its second frame on: the first warms it up.
pub fn data_path(records: &[Record]) -> Vec<Step> {
    let step = |record: &Record| match record.event {
        Event::WireRx { number, .. } => Some(Step::Frame(number)),
        Event::CqeWrite { cq, index, .. } => Some(Step::WriteBack { queue: cq, index }),
        Event::Msix { vector, delivered: true } => Some(Step::Interrupt(vector)),
        Event::MmioWrite { bar, offset, value } => write_step(bar, offset, value as u32),
        _ => None,
    };
    let steps = records.iter().filter_map(step);
    steps.skip_while(|step| *step != Step::Frame(1)).collect()
}

/// The first difference of two data paths: where it is, and a few lines from each.
pub fn difference(linux: &[Step], ours: &[Step]) -> Option<String> {
    let length = linux.len().max(ours.len());
    let at = (0..length).find(|&n| linux.get(n) != ours.get(n))?;
    let show =
        |steps: &[Step], n: usize| steps.get(n).map_or_else(|| "(end)".to_owned(), Step::to_string);
    let from = at.saturating_sub(4);
    let lines = (from..at + 6).map(|n| {
        let mark = if linux.get(n) == ours.get(n) { ' ' } else { '*' };
        format!("{mark} {n:>6}  {:<16}  {}\n", show(linux, n), show(ours, n))
    });
    let lines: String = lines.collect();
    Some(format!("step {at} of {}: Linux, ours\n{lines}", linux.len()))
}

/// A pattern of frames to which both drivers are put.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Name: of its trace too.
    pub name: &'static str,
    /// Receive descriptors.
    pub ring: u32,
    /// `rx-usecs`: 0 is no moderation, 1 is adaptive.
    pub rx_usecs: u32,
    /// Bursts: pause before it in microseconds, frames, gap in nanoseconds, bytes of a frame.
    pub bursts: &'static [(u64, u32, u64, usize)],
}

/// All patterns.
pub const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "steady",
        ring: 512,
        rx_usecs: 100,
        bursts: &[WARM_UP, (300_000, 40, 1_000_000, 60)],
    },
    Pattern { name: "bursts", ring: 128, rx_usecs: 100, bursts: BURSTS },
    Pattern { name: "unmoderated", ring: 64, rx_usecs: 0, bursts: BURSTS },
    Pattern { name: "adaptive", ring: 512, rx_usecs: 1, bursts: BURSTS },
];

/// A first frame that is not compared: near it the watchdogs look at a port that has just come up.
const WARM_UP: (u64, u32, u64, usize) = (1000, 1, 0, 60);

/// Around what the driver counts to: a refill of 16, a budget of 64, a ring.
const BURSTS: &[(u64, u32, u64, usize)] = &[
    WARM_UP,
    (300_000, 1, 0, 60),
    (40_000, 15, 67, 60),
    (40_000, 17, 67, 1500),
    (40_000, 63, 67, 60),
    (40_000, 64, 67, 60),
    (40_000, 65, 67, 60),
    (40_000, 130, 67, 60),
    (40_000, 100, 15_000, 60),
    (40_000, 400, 67, 1500),
    (40_000, 30, 120_000, 60),
    (40_000, 6, 200_000, 300),
    (40_000, 6, 200_000, 900),
    (40_000, 6, 200_000, 1500),
    (40_000, 300, 200, 900),
];

impl Pattern {
    /// The frames with their times from the start, picoseconds: datagrams to a port that nobody
    /// listens to and to all, so that nothing is answered. There is one queue: on one CPU Linux
    /// takes no more (`ixgbe_max_channels`).
    pub fn frames(&self) -> Coming {
        let mut at_ps = 0;
        let mut frames: Coming = Vec::new();
        for &(pause_us, count, gap_ns, len) in self.bursts {
            at_ps += pause_us * 1_000_000;
            for _ in 0..count {
                let number = frames.len() as u32;
                frames.push((at_ps, datagram(number, len)));
                at_ps += gap_ns * 1000;
            }
        }
        frames
    }
}

/// A datagram of so many bytes, headers included, from one of 32 senders.
fn datagram(number: u32, len: usize) -> Arc<[u8]> {
    const HEADERS: usize = 42;
    let from = [10, 0, 0, 32 + (number % 32) as u8];
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 2], [0xff; 6])
        .ipv4(from, [10, 0, 0, 255], 64)
        .udp(1000, 9);
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(len.saturating_sub(HEADERS), number as u8);
    let mut bytes = Vec::with_capacity(len);
    // Writing to a vector can not fail.
    let _ = builder.write(&mut bytes, &payload);
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_its_text() {
        let text = "# a trace\nframe 0\nback 0 7\nirq 1\ntail 3 15\nitr 0 400\narm 0 1\n";
        let steps = parse(text).expect("steps");
        let again: String = steps.iter().map(|step| format!("{step}\n")).collect();
        assert_eq!(format!("# a trace\n{again}"), text);
        for wrong in ["fire 1", "frame", "frame x", "tail 1", "irq 99999999999"] {
            let error = parse(&format!("frame 0\n{wrong}")).expect_err(wrong).to_string();
            assert!(error.starts_with("line 2"), "{error}");
        }
    }

    #[test]
    fn registers_of_the_data_path_are_known() {
        let step = |offset, value| write_step(0, u64::from(offset), value);
        assert_eq!(step(map::RDT + 64, 9), Some(Step::Tail { queue: 1, tail: 9 }));
        let itr = Step::Moderation { vector: 2, interval: 400 };
        assert_eq!(step(map::EITR + 8, 1 << 31 | 400), Some(itr));
        assert_eq!(step(map::EIMS_EX, 1), Some(Step::Rearm { first: 0, vectors: 1 }));
        assert_eq!(step(map::RDH, 1), None);
        assert_eq!(write_step(4, u64::from(map::EIMS_EX), 1), None);
    }

    #[test]
    fn the_first_difference_is_shown_with_what_is_around_it() {
        let linux = parse("frame 0\nirq 0\ntail 0 1\narm 0 1").expect("steps");
        assert_eq!(difference(&linux, &linux), None);
        let shown = difference(&linux, &linux[..3]).expect("a difference");
        assert!(shown.contains("step 3 of 4") && shown.contains("(end)"), "{shown}");
    }
}
