//! What was sent to a guest against what it received: conservation, order and content.
//!
//! A guest tells length and hash of each frame, and that is what frames are known by. Order holds
//! within a flow: queues are served one after the other.

use pollproof_wire::flow_of;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A frame as the guest tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Length.
    pub len: usize,
    /// FNV-1a of its bytes.
    pub hash: u64,
}

impl Seen {
    /// The frame as it is seen.
    pub fn of(bytes: &[u8]) -> Self {
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self { len: bytes.len(), hash }
    }

    /// From a line `frame N len=L hash=H...`.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("frame ")?.split(' ').skip(1);
        let len = words.next()?.strip_prefix("len=")?.parse().ok()?;
        let hash = u64::from_str_radix(words.next()?.strip_prefix("hash=")?, 16).ok()?;
        Some(Self { len, hash })
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Frames that were sent and seen, in order.
    pub matched: usize,
    /// Frames that were sent and not seen, by number.
    pub missing: Vec<usize>,
    /// Frames that were seen and not sent, by their place in what was seen.
    pub unknown: Vec<usize>,
    /// Frames of one flow that changed their order: the numbers of two.
    pub reordered: Option<(usize, usize)>,
}

/// A frame as the guest sees it: padded, if it was short on the wire.
fn as_received(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() < 60 {
        bytes.resize(60, 0);
    }
    bytes
}

/// Compares frames that were sent with frames that were seen.
pub fn compare(sent: &[Arc<[u8]>], seen: &[Seen]) -> Comparison {
    let mut waiting: BTreeMap<Seen, VecDeque<usize>> = BTreeMap::new();
    for (number, bytes) in sent.iter().enumerate() {
        waiting.entry(Seen::of(&as_received(bytes))).or_default().push_back(number);
    }
    let mut comparison = Comparison::default();
    let mut last_of_flow: BTreeMap<u32, usize> = BTreeMap::new();
    for (place, frame) in seen.iter().enumerate() {
        let Some(number) = waiting.get_mut(frame).and_then(VecDeque::pop_front) else {
            comparison.unknown.push(place);
            continue;
        };
        comparison.matched += 1;
        let flow = sent.get(number).map_or(0, |bytes| flow_of(bytes));
        let before = last_of_flow.insert(flow, number);
        if let Some(before) = before.filter(|&before| before > number) {
            comparison.reordered.get_or_insert((before, number));
        }
    }
    comparison.missing = waiting.into_values().flatten().collect();
    comparison.missing.sort_unstable();
    comparison
}

impl Comparison {
    /// What is wrong, if `dropped` frames may be missing because the device counted them.
    pub fn problem(&self, dropped: u64) -> Option<String> {
        if let Some(place) = self.unknown.first() {
            let count = self.unknown.len();
            return Some(format!(
                "{count} frames were received that nobody sent, the first is number {place}: \
                 changed or duplicated"
            ));
        }
        if let Some((first, second)) = self.reordered {
            return Some(format!("frame {second} of a flow was received after frame {first}"));
        }
        let missing = self.missing.len() as u64;
        if missing != dropped {
            let first = self.missing.first().map_or(0, |n| *n);
            return Some(format!(
                "{missing} frames were not received, the first is number {first}; the device \
                 counts {dropped} as dropped"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(count: u8) -> Vec<Arc<[u8]>> {
        (0..count).map(|n| Arc::from(vec![n; 64])).collect()
    }

    /// One flow: the same addresses and EtherType.
    fn flow(count: u8) -> Vec<Arc<[u8]>> {
        let frame = |n| {
            let mut bytes = vec![1; 64];
            (bytes[12], bytes[13], bytes[40]) = (0x88, 0xb5, n);
            Arc::from(bytes)
        };
        (0..count).map(frame).collect()
    }

    fn seen(frames: &[Arc<[u8]>]) -> Vec<Seen> {
        frames.iter().map(|bytes| Seen::of(bytes)).collect()
    }

    #[test]
    fn what_arrived_as_it_was_sent_is_no_problem() {
        let sent = frames(5);
        let comparison = compare(&sent, &seen(&sent));
        assert_eq!((comparison.matched, comparison.problem(0)), (5, None));
        let line = "frame 3 len=60 hash=000000000000002a hex=00";
        assert_eq!(Seen::parse(line), Some(Seen { len: 60, hash: 42 }));
        assert_eq!(Seen::parse("captured 3 lost=0"), None);
    }

    #[test]
    fn loss_change_duplication_and_order_are_told() {
        let sent = flow(5);
        let said = |seen: &[Seen], dropped| compare(&sent, seen).problem(dropped);
        let all = seen(&sent);
        assert!(said(&all[1..], 0).expect("a loss").contains("first is number 0"));
        assert_eq!(said(&all[1..], 1), None);
        assert!(said(&all, 1).is_some(), "a drop that was counted and did not happen");
        let twice: Vec<_> = all.iter().chain(&all[..1]).copied().collect();
        assert!(said(&twice, 0).expect("a duplicate").contains("nobody sent"));
        let mut swapped = all.clone();
        swapped.swap(1, 2);
        assert!(said(&swapped, 0).expect("an order").contains("frame 1 of a flow"));
        let mut changed = all;
        changed[4].hash ^= 1;
        assert!(said(&changed, 0).expect("a change").contains("nobody sent"));
    }

    #[test]
    fn short_frames_are_seen_padded_and_equal_frames_are_all_counted() {
        let short: Vec<Arc<[u8]>> = vec![Arc::from(vec![5; 42]); 3];
        let padded = Seen::of(&as_received(&short[0]));
        assert_eq!(compare(&short, &[padded; 3]).problem(0), None);
        assert_eq!(compare(&short, &[padded; 2]).missing, [2]);
    }
}
