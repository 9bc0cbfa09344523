//! Transmit offloads, checked by a second parser: checksums, segmentation, tags.

#[allow(dead_code)]
mod host;

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use host::sender::{context, data, sender, whole, DATA, LAST, LINUX};
use host::{udp, Host, TX_BUF, TX_RING};
use pollproof_intel_82599::Misuse;
use pollproof_regs::ixgbe_desc::tx;
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;

/// Puts the sum of the pseudo header where the checksum belongs, as Linux does.
fn leave_pseudo_sum(frame: &mut [u8], l4_at: usize, field: usize, with_len: bool) {
    let protocol = u32::from(if field == 16 { 6u8 } else { 17 });
    let addresses = if frame[12] == 0x08 { 26..34 } else { 22..54 };
    let len = if with_len { (frame.len() - l4_at) as u32 } else { 0 };
    let words = frame[addresses].chunks(2);
    let mut sum: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    sum += protocol + len;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame[l4_at + field..l4_at + field + 2].copy_from_slice(&(sum as u16).to_be_bytes());
}

/// Parses a frame with etherparse and checks all its checksums; gives payload and TCP header.
fn check(frame: &[u8]) -> (Vec<u8>, Option<etherparse::TcpHeader>) {
    let packet = SlicedPacket::from_ethernet(frame).expect("a packet");
    let (payload, tcp) = match packet.transport.expect("a transport") {
        TransportSlice::Tcp(tcp) => {
            let header = tcp.to_header();
            let sum = match packet.net.as_ref().expect("IP") {
                NetSlice::Ipv4(ip) => {
                    header.calc_checksum_ipv4(&ip.header().to_header(), tcp.payload())
                }
                NetSlice::Ipv6(ip) => {
                    header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload())
                }
                _ => panic!("IP"),
            };
            assert_eq!(header.checksum, sum.expect("a sum"));
            (tcp.payload().to_vec(), Some(header))
        }
        TransportSlice::Udp(udp) => {
            let header = udp.to_header();
            let sum = match packet.net.as_ref().expect("IP") {
                NetSlice::Ipv4(ip) => {
                    header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload())
                }
                NetSlice::Ipv6(ip) => {
                    header.calc_checksum_ipv6(&ip.header().to_header(), udp.payload())
                }
                _ => panic!("IP"),
            };
            assert_eq!(header.checksum, sum.expect("a sum"));
            (udp.payload().to_vec(), None)
        }
        _ => panic!("TCP or UDP"),
    };
    if let Some(NetSlice::Ipv4(ip)) = packet.net {
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        assert!(usize::from(header.total_len) <= frame.len() - 14);
    }
    (payload, tcp)
}

#[test]
fn checksums_are_completed_from_what_the_driver_left() {
    for v6 in [false, true] {
        for is_tcp in [false, true] {
            let eth = PacketBuilder::ethernet2([4; 6], [2; 6]);
            let mut frame = Vec::new();
            let payload: Vec<u8> = (0..77).collect();
            let written = match (v6, is_tcp) {
                (false, true) => eth
                    .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                    .tcp(1, 2, 3, 4)
                    .write(&mut frame, &payload),
                (false, false) => {
                    eth.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(1, 2).write(&mut frame, &payload)
                }
                (true, true) => {
                    eth.ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4).write(&mut frame, &payload)
                }
                (true, false) => {
                    eth.ipv6([1; 16], [2; 16], 64).udp(1, 2).write(&mut frame, &payload)
                }
            };
            written.expect("a packet");
            let good = frame.clone();
            let (l4_at, field) = (if v6 { 54 } else { 34 }, if is_tcp { 16 } else { 6 });
            leave_pseudo_sum(&mut frame, l4_at, field, true);
            if !v6 {
                frame[24..26].copy_from_slice(&[0xaa, 0xaa]);
            }
            let mut host = sender(LINUX);
            let mut d = whole(&mut host, TX_BUF, &frame);
            d[3] |= tx::TXSM | if v6 { 0 } else { tx::IXSM };
            let l4_type = u32::from(is_tcp);
            host.queue_tx(&[context(if v6 { 40 } else { 20 }, !v6, l4_type, 20, 0, 0), d]);
            host.kick();
            host.run();
            assert_eq!(host.sent, [good]);
            assert_eq!(check(&host.sent[0]).0, payload);
            assert!(host.dev.misuses().is_empty());
        }
    }
}

/// Sends `payload` by segmentation and gives what went out.
fn segmented(v6: bool, mss: u32, payload: &[u8]) -> (Host, Vec<(Vec<u8>, etherparse::TcpHeader)>) {
    let mut frame = Vec::new();
    let eth = PacketBuilder::ethernet2([4; 6], [2; 6]);
    let tcp = |ip: etherparse::PacketBuilderStep<etherparse::IpHeaders>| {
        ip.tcp(1, 2, 0xffff_fff0, 500).ack(9).psh().fin()
    };
    let packet = if v6 {
        tcp(eth.ipv6([1; 16], [2; 16], 64))
    } else {
        tcp(eth.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64))
    };
    packet.write(&mut frame, payload).expect("a packet");
    let (ip_len, l4_at) = if v6 { (40, 54) } else { (20, 34) };
    leave_pseudo_sum(&mut frame, l4_at, 16, false);
    let mut host = sender(LINUX);
    let mut parts = vec![context(ip_len, !v6, 1, 20, mss, 0)];
    let olinfo = tx::TXSM | tx::IXSM | (payload.len() as u32) << tx::PAYLEN_SHIFT;
    let olinfo = if v6 { olinfo & !tx::IXSM } else { olinfo };
    let chunks: Vec<&[u8]> = frame.chunks(1000).collect();
    for (n, chunk) in chunks.iter().enumerate() {
        let at = TX_BUF + 0x1000 * n as u64;
        host.put(at, chunk);
        let command = if n + 1 == chunks.len() { LAST } else { DATA };
        parts.push(data(at, chunk.len(), command | tx::TSE, olinfo));
    }
    host.queue_tx(&parts);
    host.kick();
    host.run();
    let sent = host.sent.iter().map(|f| {
        let (payload, tcp) = check(f);
        (payload, tcp.expect("TCP"))
    });
    let sent = sent.collect();
    (host, sent)
}

#[test]
fn segments_carry_the_whole_with_numbers_flags_and_checksums_of_their_own() {
    for v6 in [false, true] {
        let payload: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8).collect();
        let (mut host, sent) = segmented(v6, 1448, &payload);
        assert_eq!(sent.len(), 4);
        let all: Vec<u8> = sent.iter().flat_map(|s| s.0.clone()).collect();
        assert!(all == payload);
        for (n, (_, tcp)) in sent.iter().enumerate() {
            let number = 0xffff_fff0u32.wrapping_add(1448 * n as u32);
            assert_eq!(tcp.sequence_number, number);
            assert_eq!((tcp.psh, tcp.fin, tcp.ack), (n == 3, n == 3, true));
        }
        assert_eq!(host.get(stat::GPTC), 4);
        assert!(host.tx_done(6) && !host.tx_done(1), "one report for the whole");
        assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
        if !v6 {
            let id = |f: &[u8]| u16::from_be_bytes([f[18], f[19]]);
            assert_eq!(id(&host.sent[3]), id(&host.sent[0]) + 3);
        }
    }
}

#[test]
fn a_wrong_pseudo_header_shows_on_the_wire() {
    let mut host = sender(LINUX);
    let mut frame = udp(1, &[1; 60]);
    leave_pseudo_sum(&mut frame, 34, 6, false); // the length is missing
    let mut d = whole(&mut host, TX_BUF, &frame);
    d[3] |= tx::TXSM;
    host.queue_tx(&[context(20, true, 0, 8, 0, 0), d]);
    host.kick();
    host.run();
    let headers = pollproof_intel_82599::Headers::of(&host.sent[0], 0x8100);
    assert_eq!(headers.l4_ok, Some(false));
}

#[test]
fn tags_come_from_the_context_or_from_a_legacy_descriptor() {
    let mut host = sender(LINUX);
    let frame = udp(1, &[1; 60]);
    let mut d = whole(&mut host, TX_BUF, &frame);
    d[2] |= tx::VLE;
    let legacy = tx::EOP | tx::IFCS | tx::RS | tx::VLE | frame.len() as u32;
    host.queue_tx(&[context(20, true, 0, 8, 0, 0x2064), d, [TX_BUF as u32, 0, legacy, 5 << 16]]);
    host.kick();
    host.run();
    for (sent, tag) in host.sent.iter().zip([[0x20, 0x64], [0, 5]]) {
        assert_eq!((&sent[12..14], &sent[14..16]), (&[0x81, 0x00][..], &tag[..]));
        assert_eq!((&sent[..12], &sent[16..]), (&frame[..12], &frame[12..]));
    }
    assert!(host.tx_done(1) && host.tx_done(2));
    let d = host.descriptor(TX_RING + 32);
    assert_eq!(&d[..8], &[(TX_BUF as u32).to_le_bytes(), [0; 4]].concat()[..], "legacy keeps it");
}

#[test]
fn a_legacy_checksum_goes_where_it_is_told() {
    let mut host = sender(LINUX);
    let good = udp(1, &[5; 61]);
    let mut frame = good.clone();
    leave_pseudo_sum(&mut frame, 34, 6, true);
    host.put(TX_BUF, &frame);
    let command = tx::EOP | tx::IFCS | tx::RS | tx::IC | 40 << 16 | frame.len() as u32;
    host.queue_tx(&[[TX_BUF as u32, 0, command, 34 << 8]]);
    host.kick();
    host.run();
    assert_eq!(host.sent, [good]);
}

#[test]
fn what_a_driver_does_wrong_with_packets_is_told_and_nothing_hangs() {
    let mut host = sender(LINUX);
    let frame = udp(1, &[1; 60]);
    let good = whole(&mut host, TX_BUF, &frame);
    let cases: [(Vec<[u32; 4]>, Misuse); 7] = [
        (vec![[good[0], 0, good[2], good[3] | tx::TXSM]], Misuse::TxNoContext),
        (vec![[good[0], 0, good[2], 5 << tx::PAYLEN_SHIFT]], Misuse::TxPaylen),
        (vec![[good[0], 0, good[2] & !(15 << 20) | 7 << 20, good[3]]], Misuse::TxDescriptorType),
        (vec![[0, 0, good[2], good[3]]], Misuse::NullBuffer),
        (
            vec![context(300, true, 1, 20, 100, 0), [good[0], 0, good[2] | tx::TSE, good[3]]],
            Misuse::TxHeaderLength,
        ),
        (
            vec![context(20, true, 1, 20, 0, 0), [good[0], 0, good[2] | tx::TSE, 48 << 14]],
            Misuse::TxMss,
        ),
        (vec![data(TX_BUF, 0xffff, LAST, 0xffff << 14)], Misuse::TxTooLong),
    ];
    for (descriptors, misuse) in cases {
        host.queue_tx(&descriptors);
        host.kick();
        host.run();
        assert!(host.misused(misuse) >= 1, "{misuse:?}: {:?}", host.dev.misuses());
    }
    host.sent.clear();
    host.queue_tx(&[good]);
    host.kick();
    host.run();
    assert_eq!(host.sent, [frame], "it goes on");
    let (head, tail) = (host.get(map::TDH), host.get(map::TDT));
    assert_eq!(head, tail);
}

#[test]
fn a_udp_checksum_of_zero_goes_out_as_all_ones() {
    // Two bytes of the payload are chosen so that the sum comes out as 0xffff.
    let mut frame = udp(1, &[0; 60]);
    let sum = !u16::from_be_bytes([frame[40], frame[41]]);
    frame[100..102].copy_from_slice(&(!sum).to_be_bytes());
    leave_pseudo_sum(&mut frame, 34, 6, true);
    let mut host = sender(LINUX);
    let mut d = whole(&mut host, TX_BUF, &frame);
    d[3] |= tx::TXSM;
    host.queue_tx(&[context(20, true, 0, 8, 0, 0), d]);
    host.kick();
    host.run();
    assert_eq!(host.sent[0][40..42], [0xff, 0xff]);
}
