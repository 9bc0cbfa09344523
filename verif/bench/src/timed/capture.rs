//! A real capture through the house: what comes out is compared with what went in.

use super::judged::{run_kept, Judged, Kept};
use super::{CaptureError, Nic, Options};
use pollproof_netcore::Keep;
use pollproof_rules::Finding;
use pollproof_wire::{flow_of, read_file, Packet};
use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;

const RULE: &str = "PAYLOAD-FIDELITY";

/// What a capture run gave.
#[derive(Debug)]
pub struct CaptureReport {
    /// The run; its findings include those of `PAYLOAD-FIDELITY`.
    pub judged: Judged,
    /// What arrived at the sockets, in order of delivery; times are simulated.
    pub arrivals: Vec<Packet>,
    /// Packets in the file.
    pub packets: u64,
    /// Frames of the file that were left out as runts.
    pub runts: u64,
    /// Frames of the file that were left out because the capture cut them.
    pub cut: u64,
}

impl CaptureReport {
    /// What each socket got, in order, a socket being a flow: what must not depend on how packets
    /// went up. The hash of the device would not do: it may leave ports out.
    pub fn ledger(&self) -> BTreeMap<u32, Vec<&[u8]>> {
        let mut ledger = BTreeMap::<u32, Vec<&[u8]>>::new();
        for packet in &self.arrivals {
            ledger.entry(flow_of(&packet.bytes)).or_default().push(&packet.bytes);
        }
        ledger
    }
}

/// Reads a capture, runs it, and compares what arrived at the sockets with what reached the port:
/// byte for byte, and in order for each flow.
pub fn run_capture<N: Nic>(
    path: &Path,
    options: &Options<N>,
) -> Result<CaptureReport, CaptureError> {
    let capture = read_file(path)?;
    let mut options = options.clone();
    options.net.keep = Keep::Bytes;
    // A frame takes some tens of steps at most; a driver that goes round in circles is cut.
    let steps_max = 1_000_000 + 1_000 * capture.packets.len() as u64;
    options.max_events = options.max_events.min(steps_max);
    let (mut judged, kept) = run_kept(capture.packets.iter().cloned(), &options);
    judged.findings.extend(compare(&kept));
    let packet = |arrival: pollproof_netcore::Arrival| Packet {
        time_ns: arrival.time_ns.saturating_sub(kept.opened_ns),
        bytes: arrival.bytes.into(),
    };
    Ok(CaptureReport {
        judged,

        arrivals: kept.arrivals.into_iter().map(packet).collect(),
        packets: capture.packets.len() as u64,
        runts: capture.runts,
        cut: capture.cut,
    })
}

/// The first difference, if there is any.
fn compare(kept: &Kept) -> Option<Finding> {
    let mut last_of_flow = BTreeMap::new();
    kept.arrivals.iter().find_map(|arrival| {
        let number = kept.frame_of.get(&arrival.number).copied();
        let frame = number.and_then(|n| kept.frames.get(usize::try_from(n).ok()?));
        let Some(frame) = frame else {
            return Some(finding(format!("packet {:#x} is no frame that came in", arrival.number)));
        };
        let number = frame.number;
        if *frame.bytes != *arrival.bytes {
            let place = first_difference(&frame.bytes, &arrival.bytes);
            return Some(finding(format!("frame {number} differs at byte {place}")));
        }
        let before = last_of_flow.insert(frame.flow, number)?;
        (before >= number)
            .then(|| finding(format!("frame {number} is delivered after {before} of its flow")))
    })
}

fn first_difference(one: &[u8], other: &[u8]) -> usize {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b);
    same.count()
}

#[track_caller]
fn finding(message: String) -> Finding {
    let at = Location::caller();
    Finding { rule: RULE, message, at: (at.file(), at.line()), thread: 0, event: None, other: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pollproof_netcore::Arrival;
    use pollproof_wire::Frame;
    use std::sync::Arc;

    fn kept(bytes: &[&[u8]], order: &[u64]) -> Kept {
        let frames = (0..2).map(|n| Frame::new(n, Arc::from([7, 7, 7]))).collect();
        let arrival = |(bytes, number): (&&[u8], &u64)| Arrival {
            socket: 0,
            number: 10 + number,
            time_ns: 0,
            napi_id: 1,
            bytes: bytes.to_vec(),
        };
        Kept {
            frames,
            frame_of: (0..2).map(|n| (10 + n, n)).collect(),
            opened_ns: 0,
            arrivals: bytes.iter().zip(order).map(arrival).collect(),
        }
    }

    #[test]
    fn a_changed_byte_a_wrong_order_and_an_unknown_packet_are_found() {
        let same: &[u8] = &[7, 7, 7];
        assert_eq!(compare(&kept(&[same, same], &[0, 1])), None);
        let message = |kept| compare(&kept).map(|f| f.message).unwrap_or_default();
        assert!(message(kept(&[same, &[7, 7, 8]], &[0, 1])).contains("byte 2"));
        assert!(message(kept(&[same, &[7, 7]], &[0, 1])).contains("byte 2"));
        assert!(message(kept(&[same, same], &[1, 0])).contains("after 1"));
        assert!(message(kept(&[same], &[5])).contains("no frame"));
    }
}
