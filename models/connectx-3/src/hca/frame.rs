//! What the device does to a frame that it sends: checksums and padding.

use super::SHORTEST;
use crate::parse::{fold, sum};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Fills checksums in, as far as there is something to sum, and pads.
pub(super) fn finish(frame: &mut Vec<u8>, ip: bool, l4: bool) {
    if let Some(headers) = find(frame) {
        if ip && !headers.v6 {
            ip_checksum(frame, headers.ip, headers.l4);
        }
        if l4 {
            l4_checksum(frame, &headers);
        }
    }
    if frame.len() < SHORTEST {
        frame.resize(SHORTEST, 0);
    }
}

/// Where headers begin.
struct Headers {
    v6: bool,
    ip: usize,
    l4: usize,
    end: usize,
    protocol: u8,
}

fn be16(frame: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?)))
}

/// IPv4 or IPv6 behind one VLAN tag at most.
fn find(frame: &[u8]) -> Option<Headers> {
    let (kind, ip) = match be16(frame, 12)? {
        0x8100 => (be16(frame, 16)?, 18),
        kind => (kind, 14),
    };
    match kind {
        0x0800 => {
            let l4 = ip + 4 * usize::from(frame.get(ip)? & 15);
            let end = (ip + be16(frame, ip + 2)?).min(frame.len());
            Some(Headers { v6: false, ip, l4, end, protocol: *frame.get(ip + 9)? })
        }
        0x86dd => {
            let end = (ip + 40 + be16(frame, ip + 4)?).min(frame.len());
            Some(Headers { v6: true, ip, l4: ip + 40, end, protocol: *frame.get(ip + 6)? })
        }
        _ => None,
    }
}

fn ip_checksum(frame: &mut [u8], ip: usize, l4: usize) {
    let Some(header) = frame.get_mut(ip..l4).filter(|header| header.len() >= 20) else { return };
    header[10..12].fill(0);
    let checksum = !(fold(sum(header)) as u16);
    header[10..12].copy_from_slice(&checksum.to_ne_bytes());
}

fn l4_checksum(frame: &mut [u8], headers: &Headers) {
    let (at, least) = match headers.protocol {
        TCP => (16, 20),
        UDP => (6, 8),
        _ => return,
    };
    let addresses =
        if headers.v6 { headers.ip + 8..headers.ip + 40 } else { headers.ip + 12..headers.ip + 20 };
    let Some(addresses) = frame.get(addresses).map(sum) else { return };
    let Some(segment) = frame.get_mut(headers.l4..headers.end).filter(|s| s.len() >= least) else {
        return;
    };
    segment[at..at + 2].fill(0);
    let pseudo = addresses
        + u64::from(u16::from_ne_bytes([0, headers.protocol]))
        + u64::from((segment.len() as u16).to_be());
    let checksum = match !(fold(pseudo + sum(segment)) as u16) {
        0 if headers.protocol == UDP => 0xffff,
        checksum => checksum,
    };
    segment[at..at + 2].copy_from_slice(&checksum.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    #[test]
    fn checksums_are_those_of_a_second_source() {
        for len in 0..70 {
            let data = vec![0x5a; len];
            let eth = || PacketBuilder::ethernet2([2; 6], [4; 6]);
            let mut frames = vec![Vec::new(); 4];
            let v4 = || eth().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
            let v6 = || eth().ipv6([1; 16], [2; 16], 64);
            v4().tcp(1, 2, 3, 4).write(&mut frames[0], &data).expect("a packet");
            v4().udp(1, 2).write(&mut frames[1], &data).expect("a packet");
            v6().tcp(1, 2, 3, 4).write(&mut frames[2], &data).expect("a packet");
            v6().udp(1, 2).write(&mut frames[3], &data).expect("a packet");
            for whole in frames {
                let (ip, mut frame) = (whole[12] == 8, whole.clone());
                if ip {
                    frame[24..26].fill(0xee);
                }
                let l4 = if ip { 34 } else { 54 };
                let protocol = frame[if ip { 23 } else { 20 }];
                let at = l4 + if protocol == TCP { 16 } else { 6 };
                frame[at..at + 2].fill(0xee);
                finish(&mut frame, true, true);
                assert_eq!(frame[..whole.len()], whole);
                assert_eq!(frame.len(), whole.len().max(60));
            }
        }
    }

    #[test]
    fn what_is_no_packet_is_only_padded() {
        for len in 0..100 {
            for first in [0x08, 0x86, 0xff] {
                let mut frame = vec![0xff; len];
                if let Some(kind) = frame.get_mut(12..14) {
                    kind.copy_from_slice(&[first, if first == 8 { 0 } else { 0xdd }]);
                }
                finish(&mut frame, true, true);
                assert_eq!(frame.len(), len.max(60));
            }
        }
    }
}
