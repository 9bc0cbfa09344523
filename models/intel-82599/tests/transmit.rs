//! The transmit path, case by case: descriptors, offloads, write-back, order.

#[allow(dead_code)]
mod host;

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use host::{udp, Host, TX_BUF, TX_RING};
use pollproof_events::What;
use pollproof_intel_82599::{IdleWriteBack, Misuse, Params};
use pollproof_regs::ixgbe::{eitr, fc, fctrl, hlreg0, queue, rdma};
use pollproof_regs::ixgbe_desc::{rx, tx};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;

const US: u64 = 1_000_000;
/// PTHRESH 32, HTHRESH 1, as Linux has it.
const LINUX: u32 = 32 | 1 << queue::HTHRESH_SHIFT;

fn sender(txdctl: u32) -> Host {
    let mut host = Host::new(Params::zero());
    host.interrupts(1);
    host.start_tx(64, txdctl);
    host
}

const DATA: u32 = tx::DTYP_DATA << tx::DTYP_SHIFT | tx::DEXT | tx::IFCS;
const LAST: u32 = DATA | tx::EOP | tx::RS;

/// A data descriptor for `len` bytes at `at`.
fn data(at: u64, len: usize, command: u32, olinfo: u32) -> [u32; 4] {
    [at as u32, 0, command | len as u32, olinfo]
}

/// A whole frame in one descriptor.
fn whole(host: &mut Host, at: u64, frame: &[u8]) -> [u32; 4] {
    host.put(at, frame);
    data(at, frame.len(), LAST, (frame.len() as u32) << tx::PAYLEN_SHIFT)
}

/// A context for Ethernet and IP of these lengths.
fn context(ip_len: u32, ipv4: bool, l4_type: u32, l4_len: u32, mss: u32, vlan: u32) -> [u32; 4] {
    let tucmd = if ipv4 { tx::TUCMD_IPV4 } else { 0 } | l4_type << tx::TUCMD_L4T_SHIFT;
    let kind = tx::DTYP_CONTEXT << tx::DTYP_SHIFT | tx::DEXT;
    let sizes = l4_len << tx::L4LEN_SHIFT | mss << tx::MSS_SHIFT;
    [ip_len | 14 << 9 | vlan << 16, 0, kind | tucmd, sizes]
}

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
fn a_frame_is_read_sent_and_its_descriptor_written_back_with_a_message() {
    let mut host = sender(LINUX);
    let frame = udp(1, &[9; 100]);
    let d = whole(&mut host, TX_BUF, &frame);
    host.queue_tx(&[d]);
    host.run();
    assert!(host.sent.is_empty(), "the tail was not written");
    host.kick();
    host.run();
    assert_eq!(host.sent, std::slice::from_ref(&frame));
    assert!(host.tx_done(0));
    assert_eq!(host.msix, [0]);
    assert_eq!(host.get(map::TDH), 1);
    let kinds: Vec<_> = host.writes.iter().map(|w| (w.0, w.2)).collect();
    assert_eq!(kinds, [(What::Cqe, 16)]);
    assert_eq!((host.get(stat::GPTC), host.get(stat::QPTC)), (1, 1));
    assert_eq!(host.get(stat::GOTCL), frame.len() as u32 + 4);
    assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
}

#[test]
fn fragments_are_put_together_and_short_frames_padded() {
    let mut host = sender(LINUX);
    let frame = udp(1, b"x");
    host.put(TX_BUF, &frame[..20]);
    host.put(TX_BUF + 0x1000, &frame[20..]);
    let paylen = (frame.len() as u32) << tx::PAYLEN_SHIFT;
    host.queue_tx(&[
        data(TX_BUF, 20, DATA, paylen),
        data(TX_BUF + 0x1000, frame.len() - 20, LAST, paylen),
    ]);
    host.kick();
    host.run();
    let mut padded = frame.clone();
    padded.resize(60, 0);
    assert_eq!(host.sent, [padded]);
    assert!(!host.tx_done(0) && host.tx_done(1), "only RS is written back");
}

#[test]
fn packets_leave_in_order_whatever_the_order_of_completions() {
    let mut host = sender(LINUX);
    host.hold_reads = true;
    let frames: Vec<Vec<u8>> = (0..6).map(|n| udp(n, &[n as u8; 80])).collect();
    for (n, frame) in frames.iter().enumerate() {
        let d = whole(&mut host, TX_BUF + 0x1000 * n as u64, frame);
        host.queue_tx(&[d]);
    }
    host.kick();
    host.run();
    while let Some((tag, bytes)) = host.held.pop() {
        host.dev.dma_complete(tag, &bytes);
        host.run();
    }
    assert_eq!(host.sent, frames);
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
fn wthresh_holds_write_backs_until_enough_or_until_moderation_lets_them() {
    let mut host = Host::new(Params { tx_wb_idle: IdleWriteBack::OneInterval, ..Params::zero() });
    host.interrupts(1);
    host.set(map::EITR, 40 | eitr::CNT_WDIS);
    host.start_tx(64, LINUX | 8 << queue::WTHRESH_SHIFT);
    let frame = udp(1, &[1; 60]);
    let send = |host: &mut Host, n: u32| {
        (0..n).for_each(|_| {
            let d = whole(host, TX_BUF, &frame);
            host.queue_tx(&[d]);
        });
        host.kick();
        host.run();
    };
    send(&mut host, 7);
    assert_eq!((host.sent.len(), host.msix.len(), host.tx_done(0)), (7, 0, false));
    send(&mut host, 1);
    assert_eq!((host.msix.len(), host.tx_done(7)), (1, true));
    host.set(map::EIMS_EX, 1);
    send(&mut host, 3);
    assert!(!host.tx_done(10));
    assert_eq!(host.dev.pending_vectors(), [0]);
    host.run_until(10 * US);
    assert!(host.tx_done(10), "the interval's end writes them back");
    assert_eq!(host.msix, [0, 0]);
}

#[test]
fn when_moderation_is_idle_held_write_backs_follow_the_parameter() {
    for (idle, at_once) in [
        (IdleWriteBack::AtOnce, true),
        (IdleWriteBack::OneInterval, false),
        (IdleWriteBack::Never, false),
    ] {
        let mut host = Host::new(Params { tx_wb_idle: idle, ..Params::zero() });
        host.interrupts(1);
        host.set(map::EITR, 40 | eitr::CNT_WDIS);
        host.start_tx(64, LINUX | 8 << queue::WTHRESH_SHIFT);
        let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
        host.queue_tx(&[d]);
        host.kick();
        host.run_until(1);
        assert_eq!(host.tx_done(0), at_once, "{idle:?}");
        host.run_until(100 * US);
        assert_eq!(host.tx_done(0), idle != IdleWriteBack::Never, "{idle:?}");
        host.set(map::EICS_EX, 1); // the watchdog's kick
        host.run();
        assert!(host.tx_done(0), "{idle:?}");
    }
}

#[test]
fn head_write_back_writes_the_head_and_no_descriptor() {
    let mut host = sender(LINUX);
    host.set(map::TDWBAL, 0x20_0000 | queue::HEAD_WB);
    host.put(0x20_0000, &[0; 4]);
    for _ in 0..3 {
        let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
        host.queue_tx(&[d]);
    }
    host.kick();
    host.run();
    assert_eq!(host.mem[0x20_0000..0x20_0004], [3, 0, 0, 0]);
    assert!(!host.tx_done(0) && !host.tx_done(2));
    assert!(host.writes.iter().all(|w| (w.0, w.2) == (What::Record, 4)));
}

#[test]
fn a_pause_frame_holds_the_transmitter_for_its_time() {
    let params = Params { wire_byte_ps: 800, ..Params::zero() };
    let mut host = Host::receiving(params, 1, 8);
    host.start_tx(64, LINUX);
    host.set(map::MFLCN, fc::MFLCN_RFCE);
    let mut pause = vec![0; 60];
    pause[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 1]);
    pause[12..18].copy_from_slice(&[0x88, 0x08, 0, 1, 0, 100]);
    host.frame(&pause);
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert!(host.sent.is_empty());
    assert_eq!(host.get(map::TFCS), 1);
    host.run_until(100 * 64 * 800 - 1);
    assert!(host.sent.is_empty());
    host.run_until(100 * 64 * 800);
    assert_eq!((host.sent.len(), host.get(stat::LXOFFRXCNT)), (1, 1));
    assert_eq!(host.dev.stats().rx_pause, 1);
}

#[test]
fn loopback_brings_frames_back_marked() {
    let mut host = Host::receiving(Params::zero(), 1, 8);
    host.start_tx(64, LINUX);
    host.post(0, 7);
    host.dev.set_cable(false);
    host.set(map::HLREG0, host.dev.peek(map::HLREG0) | hlreg0::LPBK);
    let frame = udp(1, &[1; 60]);
    let d = whole(&mut host, TX_BUF, &frame);
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    let got = host.poll(0).expect("a frame");
    assert_eq!((got.data, got.status & rx::LB), (frame, rx::LB));
    assert!(host.sent.is_empty());
    assert_eq!(host.get(map::FCTRL), fctrl::UPE | fctrl::MPE | fctrl::BAM);
    assert_eq!(host.get(map::RXCTRL), rdma::RXEN);
}

#[test]
fn without_link_frames_wait() {
    let mut host = sender(LINUX);
    host.dev.set_cable(false);
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert!(host.sent.is_empty() && host.get(map::TDH) != host.get(map::TDT));
    host.dev.set_cable(true);
    host.run();
    assert_eq!(host.sent.len(), 1);
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
fn more_than_40_descriptors_without_report_are_told() {
    let mut host = sender(LINUX);
    let frame = udp(1, &[1; 60]);
    let mut d = whole(&mut host, TX_BUF, &frame);
    d[2] &= !tx::RS;
    host.queue_tx(&[d; 40]);
    host.kick();
    host.run();
    assert_eq!(host.misused(Misuse::TxReportDistance), 0);
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    assert_eq!(host.misused(Misuse::TxReportDistance), 1);
    assert_eq!(host.sent.len(), 41);
    assert!(host.msix.is_empty());
}

#[test]
fn queues_take_turns_packet_by_packet() {
    let mut host = Host::new(Params { tx_jobs: 1, ..Params::zero() });
    host.start_tx(64, LINUX);
    let q = 0x40;
    host.put(0x9_0000, &[0; 512]);
    host.set(map::TDBAL + q, 0x9_0000);
    host.set(map::TDLEN + q, 512);
    host.set(map::TXDCTL + q, LINUX | queue::ENABLE);
    host.hold_reads = true;
    for n in 0..3u16 {
        let d = whole(&mut host, TX_BUF + 0x1000 * u64::from(n), &udp(n, &[1; 60]));
        host.queue_tx(&[d]);
        let d = whole(&mut host, TX_BUF + 0x8000 + 0x1000 * u64::from(n), &udp(100 + n, &[1; 60]));
        host.put(0x9_0000 + 16 * u64::from(n), &pollproof_regs::ixgbe_desc::build(d));
    }
    host.kick();
    host.set(map::TDT + q, 3);
    host.run();
    host.hold_reads = false;
    for (tag, bytes) in std::mem::take(&mut host.held) {
        host.dev.dma_complete(tag, &bytes);
    }
    host.run();
    let ports: Vec<u16> = host.sent.iter().map(|f| u16::from_be_bytes([f[34], f[35]])).collect();
    let mut sorted = ports.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 100, 101, 102]);
    let of = |low: bool| ports.iter().copied().filter(|&p| (p < 100) == low).collect::<Vec<_>>();
    assert_eq!((of(true), of(false)), (vec![0, 1, 2], vec![100, 101, 102]));
    assert_ne!(ports, [0, 1, 2, 100, 101, 102], "no queue waits for the whole of another");
}

#[test]
fn a_disabled_queue_ends_when_its_packets_have() {
    let mut host = sender(LINUX);
    host.hold_reads = true;
    let d = whole(&mut host, TX_BUF, &udp(1, &[1; 60]));
    host.queue_tx(&[d]);
    host.kick();
    host.run();
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes); // the descriptor; its data is read now
    host.run();
    host.set(map::TXDCTL, 0);
    assert_ne!(host.get(map::TXDCTL) & queue::ENABLE, 0);
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes);
    host.run();
    assert_eq!(host.get(map::TXDCTL) & queue::ENABLE, 0);
    assert!(host.tx_done(0));
}

#[test]
fn the_wire_takes_its_time() {
    let params = Params { wire_byte_ps: 800, ..Params::zero() };
    let mut host = Host::new(params);
    host.start_tx(64, LINUX);
    for _ in 0..4 {
        let d = whole(&mut host, TX_BUF, &udp(1, &[1; 18]));
        host.queue_tx(&[d]);
    }
    host.kick();
    let mut done = vec![];
    while host.step() {}
    while let Some(sent) = host.dev.pop_frame() {
        done.push(sent.done_ps);
    }
    assert_eq!(done, [67_200, 134_400, 201_600, 268_800], "14.88 million a second");
}
