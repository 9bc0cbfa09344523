//! Captures: good ones of all kinds, and what is said of bad ones.

use pollproof_wire::{read_capture, read_file, write_pcap, Capture, Packet, Problem};
use std::path::Path;
use std::sync::Arc;

fn packets() -> Vec<Packet> {
    let packet = |n: u8, len: usize| Packet {
        time_ns: 1_700_000_000_123_456_000 + u64::from(n) * 1_000,
        bytes: Arc::from(vec![n; len]),
    };
    vec![packet(1, 60), packet(2, 1514), packet(3, 14)]
}

/// A pcap file of any kind.
fn pcap(big: bool, nano: bool, link: u32, records: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let word = |w: u32| if big { w.to_be_bytes() } else { w.to_le_bytes() };
    let mut out = word(if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).to_vec();
    out.extend(if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] });
    out.extend([0; 8]);
    out.extend(word(65_535));
    out.extend(word(link));
    for (fraction, len, bytes) in records {
        out.extend(word(100));
        out.extend(word(*fraction));
        out.extend(word(*len));
        out.extend(word(*len));
        out.extend(bytes);
    }
    out
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len()) as u32;
    [&kind.to_le_bytes()[..], &len.to_le_bytes(), body, &len.to_le_bytes()].concat()
}

fn pcapng(resolution: Option<u8>, units: u64, bytes: &[u8]) -> Vec<u8> {
    let mut section = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    section.extend([1, 0, 0, 0]);
    section.extend([0xff; 8]);
    let mut interface = vec![1, 0, 0, 0, 0, 0, 4, 0];
    if let Some(exponent) = resolution {
        interface.extend([9, 0, 1, 0, exponent, 0, 0, 0, 0, 0, 0, 0]);
    }
    let len = (bytes.len() as u32).to_le_bytes();
    let mut packet = vec![0; 4];
    packet.extend(((units >> 32) as u32).to_le_bytes());
    packet.extend((units as u32).to_le_bytes());
    packet.extend([len, len].concat());
    packet.extend(bytes);
    packet.resize(packet.len().next_multiple_of(4), 0);
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &packet)].concat()
}

fn problem(bytes: &[u8]) -> (Problem, String) {
    let error = read_capture("x.pcap", bytes).expect_err("a bad file");
    let text = error.to_string();
    (error.problem, text)
}

#[test]
fn what_was_written_is_read_again() {
    let read = read_capture("x", &write_pcap(&packets())).expect("a capture");
    assert_eq!(read, Capture { packets: packets(), runts: 0, cut: 0 });
}

#[test]
fn both_byte_orders_and_both_resolutions_are_read() {
    for (big, nano) in [(false, false), (false, true), (true, false), (true, true)] {
        let file = pcap(big, nano, 1, &[(5, 20, vec![7; 20])]);
        let read = read_capture("x", &file).expect("a capture");
        let fraction_ns = if nano { 5 } else { 5_000 };
        assert_eq!(read.packets[0].time_ns, 100_000_000_000 + fraction_ns);
        assert_eq!(&*read.packets[0].bytes, &[7; 20]);
    }
}

#[test]
fn pcapng_times_follow_the_resolution_of_the_interface() {
    for (resolution, units) in [(None, 3_000_000), (Some(9), 3_000_000_000), (Some(0x81), 6)] {
        let read = read_capture("x", &pcapng(resolution, units, &[7; 21])).expect("a capture");
        assert_eq!(read.packets[0].time_ns, 3_000_000_000);
        assert_eq!(&*read.packets[0].bytes, &[7; 21]);
    }
}

#[test]
fn runts_and_cut_frames_are_counted_and_left_out() {
    let mut file = pcap(false, true, 1, &[(0, 13, vec![0; 13]), (0, 20, vec![0; 20])]);
    let at = file.len() - 20 - 4;
    file[at] = 99;
    let read = read_capture("x", &file).expect("a capture");
    assert_eq!((read.packets.len(), read.runts, read.cut), (0, 1, 1));
}

#[test]
fn a_bad_file_is_told_with_its_place() {
    let good = pcap(false, true, 1, &[(0, 20, vec![0; 20]), (0, 20, vec![0; 20])]);
    assert!(matches!(problem(&[]).0, Problem::Empty));
    assert!(matches!(problem(b"GIF89a").0, Problem::NotACapture));
    assert!(matches!(problem(&good[..20]).0, Problem::TruncatedHeader));
    let (what, text) = problem(&good[..good.len() - 1]);
    assert!(matches!(what, Problem::TruncatedPacket { wanted: 20, there: 19 }));
    let end = "ends within a packet: 19 of 20 bytes are there (at byte 60, packet 2)";
    assert_eq!(text, format!("x.pcap: the file {end}"));
    assert!(matches!(problem(&good[..70]).0, Problem::TruncatedHeader));
    let raw_ip = pcap(false, true, 101, &[]);
    assert!(matches!(problem(&raw_ip).0, Problem::LinkType(101)));
    let absurd = pcap(false, true, 1, &[(0, u32::MAX, vec![])]);
    assert!(matches!(problem(&absurd).0, Problem::BadLength(_)));
    let late = pcap(false, true, 1, &[(1_000_000_000, 20, vec![0; 20])]);
    assert!(matches!(problem(&late).0, Problem::BadTime));
    let ng = pcapng(None, 0, &[0; 20]);
    assert!(matches!(problem(&ng[..ng.len() - 4]).0, Problem::TruncatedPacket { .. }));
    assert!(matches!(problem(&ng[..8]).0, Problem::TruncatedHeader));
    assert!(read_file(Path::new("no such file")).is_err());
}

#[test]
fn the_capture_of_this_repository_is_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tcp_udp.pcap");
    let capture = read_file(&path).expect("the capture");
    assert_eq!((capture.runts, capture.cut), (0, 0));
    assert!(capture.packets.len() > 300);
    assert!(capture.packets.iter().all(|p| p.bytes.len() <= 1514));
    let mut flows: Vec<_> = capture.frames().map(|f| f.flow).collect();
    flows.sort_unstable();
    flows.dedup();
    assert!(flows.len() > 15, "{} flows", flows.len());
}
