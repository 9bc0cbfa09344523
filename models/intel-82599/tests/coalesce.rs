//! Receive side coalescing, rule by rule.

#[allow(dead_code)]
mod host;

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use host::{tcp, Got, Host};
use pollproof_intel_82599::{Misuse, Params};
use pollproof_regs::ixgbe::{eitr, queue};
use pollproof_regs::ixgbe_desc::rx;
use pollproof_regs::ixgbe_map as map;

const US: u64 = 1_000_000;

/// One ring that coalesces up to 16 descriptors, interval 100 us.
fn coalescing(params: Params) -> Host {
    let mut host = Host::receiving(params, 1, 64);
    host.set(map::RXDCTL, 0);
    host.set(map::RSCCTL, queue::RSCEN | 3 << queue::MAXDESC_SHIFT);
    host.set(map::EITR, 400 | eitr::CNT_WDIS);
    host.start_rx(0, 64);
    host.post(0, 60);
    host.run();
    host
}

fn data(n: u32, len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i * 3 + n) as u8).collect()
}

/// TCP payload of a delivered packet, after a look at its headers.
fn payload(got: &Got) -> (Vec<u8>, etherparse::TcpHeader) {
    let packet = SlicedPacket::from_ethernet(&got.data).expect("a packet");
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("IPv4") };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("TCP") };
    (tcp.payload().to_vec(), tcp.to_header())
}

#[test]
fn segments_in_sequence_become_one_packet_that_closes_before_the_interrupt() {
    let mut host = coalescing(Params::zero());
    let parts: Vec<Vec<u8>> = (0..5).map(|n| data(n, 1448)).collect();
    for (n, part) in parts.iter().enumerate() {
        host.frame(&tcp(1000, 1 + 1448 * n as u32, false, part));
    }
    host.run();
    assert_eq!((host.msix.len(), host.dev.held()), (0, 1));
    assert!(host.poll(0).is_none());
    host.run_until(4 * US); // RSC_DELAY 0 is 4 us; moderation is idle
    assert_eq!(host.msix, [0]);
    let got = host.poll_all(0);
    assert_eq!(got.len(), 1);
    let (all, header) = payload(&got[0]);
    assert!(all == parts.concat());
    assert_eq!((header.sequence_number, header.psh), (1, false));
    let begun: u32 = got[0].chain.iter().map(|c| c.1 - 1).sum();
    assert_eq!(begun, 5, "RSCCNT less one is what begins in a buffer");
    assert_eq!((host.dev.stats().rsc_aggregates, host.dev.stats().rsc_frames), (1, 5));
    assert!(host.dev.misuses().is_empty());
}

#[test]
fn a_running_interval_closes_by_its_end_less_the_delay() {
    let mut host = coalescing(Params::zero());
    host.frame(&tcp(1, 1, true, b"first, goes alone"));
    host.run();
    assert_eq!(host.msix, [0]);
    host.set(map::EIMS_EX, 1);
    host.run_until(50 * US);
    host.frame(&tcp(1, 100, false, &data(0, 100)));
    host.frame(&tcp(1, 200, false, &data(1, 100)));
    host.run_until(96 * US - 1);
    assert_eq!(host.dev.held(), 1);
    host.run_until(96 * US);
    assert_eq!((host.dev.held(), host.msix.len()), (0, 1), "closed, and not told yet");
    host.run_until(100 * US);
    assert_eq!(host.msix.len(), 2);
    assert_eq!(host.poll_all(0).len(), 2);
}

#[test]
fn two_connections_interleave_and_nextp_leads_through() {
    let mut host = coalescing(Params::zero());
    let parts: Vec<Vec<u8>> = (0..8).map(|n| data(n, 1400)).collect();
    for (n, part) in parts.iter().enumerate() {
        let port = 1000 + (n as u16 % 2);
        host.frame(&tcp(port, 1 + 1400 * (n as u32 / 2), false, part));
    }
    host.run_until(4 * US);
    let mut got = host.poll_all(0);
    // The harness follows chains as Linux does; what is left was seen on the way.
    got.sort_by_key(|g| g.chain[0].0);
    assert_eq!(got[0].chain.len(), 3);
    let steps: Vec<u32> = got[0].chain.windows(2).map(|w| w[1].0 - w[0].0).collect();
    assert!(steps.iter().any(|&s| s > 1), "{:?}", got[0].chain);
    let even: Vec<u8> = parts.iter().step_by(2).flatten().copied().collect();
    assert!(payload(&got[0]).0 == even);
}

#[test]
fn push_ends_an_aggregate_and_shows() {
    let mut host = coalescing(Params::zero());
    host.frame(&tcp(1, 1, false, &data(0, 500)));
    host.frame(&tcp(1, 501, true, &data(1, 500)));
    host.run();
    let got = host.poll(0).expect("no need to wait");
    let (all, header) = payload(&got);
    assert_eq!((all, header.psh), ([data(0, 500), data(1, 500)].concat(), true));
}

/// Sends two segments and gives how many packets became of them.
fn packets_of(params: Params, first: &[u8], second: &[u8]) -> usize {
    let mut host = coalescing(params);
    host.frame(first);
    host.frame(second);
    host.run_until(4 * US);
    assert_eq!(host.dev.held(), 0);
    host.poll_all(0).len()
}

#[test]
fn what_does_not_fit_goes_by_itself_and_keeps_the_order() {
    let zero = Params::zero();
    let first = tcp(1, 1, false, &data(0, 100));
    let next = |edit: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = tcp(1, 101, false, &data(1, 100));
        edit(&mut frame);
        let at = 14;
        // Header and TCP checksums anew, so that only the edit counts.
        let mut packet = Vec::new();
        let ip = etherparse::Ipv4Header::from_slice(&frame[at..]).expect("IPv4").0;
        let mut tcp = etherparse::TcpHeader::from_slice(&frame[34..]).expect("TCP").0;
        let payload = frame[34 + tcp.header_len()..].to_vec();
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, &payload).expect("a sum");
        packet.extend_from_slice(&frame[..14]);
        let mut ip = ip;
        ip.header_checksum = ip.calc_header_checksum();
        ip.write(&mut packet).expect("IPv4");
        tcp.write(&mut packet).expect("TCP");
        packet.extend(payload);
        packet
    };
    assert_eq!(packets_of(zero, &first, &next(&|_| {})), 1);
    assert_eq!(packets_of(zero, &first, &next(&|f| f[41] += 1)), 2, "a gap");
    assert_eq!(packets_of(zero, &first, &next(&|f| f[47] |= 1)), 2, "FIN");
    assert_eq!(packets_of(zero, &first, &next(&|f| f[47] |= 0x20)), 2, "URG");
    assert_eq!(packets_of(zero, &first, &next(&|f| f[45] -= 5)), 2, "an older acknowledgement");
    let tos = next(&|f| f[15] = 4);
    assert_eq!(packets_of(zero, &first, &tos), 2, "type of service");
    assert_eq!(packets_of(Params { rsc_tos_closes: false, ..zero }, &first, &tos), 1);
    let ttl = next(&|f| f[22] = 5);
    assert_eq!(packets_of(zero, &first, &ttl), 2, "time to live");
    assert_eq!(packets_of(Params { rsc_ttl_closes: false, ..zero }, &first, &ttl), 1);
    let ack = tcp(1, 101, false, &[]);
    assert_eq!(packets_of(zero, &first, &ack), 2, "a pure acknowledgement");
    let other = tcp(2, 101, false, &data(1, 100));
    assert_eq!(packets_of(zero, &first, &other), 2, "another connection");
}

#[test]
fn the_set_of_descriptors_and_of_contexts_is_limited() {
    let mut host = coalescing(Params::zero());
    host.set(map::RSCCTL, queue::RSCEN | 1 << queue::MAXDESC_SHIFT); // 4 descriptors
    for n in 0..10 {
        host.frame(&tcp(1, 1 + 1448 * n, false, &data(n, 1448)));
    }
    host.run_until(200 * US);
    let got = host.poll_all(0);
    assert!(got.iter().all(|g| g.chain.len() <= 4));
    let all: Vec<u8> = got.iter().flat_map(|g| payload(g).0).collect();
    assert!(all == (0..10).flat_map(|n| data(n, 1448)).collect::<Vec<_>>());

    let mut host = coalescing(Params { rsc_contexts: 2, ..Params::zero() });
    // With the count of the vector running, closing one does not interrupt and close all.
    host.frame(&tcp(9, 1, true, b"alone"));
    (0..3).for_each(|n| host.frame(&tcp(n, 1, false, b"opens")));
    host.run();
    assert_eq!(host.dev.held(), 2, "the oldest made room");
    assert_eq!(host.poll_all(0).len(), 2);
}

#[test]
fn one_segment_alone_looks_like_any_frame() {
    let mut host = coalescing(Params::zero());
    let frame = tcp(1, 1, false, &data(0, 100));
    host.frame(&frame);
    host.run_until(4 * US);
    let got = host.poll(0).expect("a frame");
    assert_eq!((got.data, got.chain), (frame, vec![(0, 0)]));
    assert_eq!(got.status & (rx::L4CS | rx::IPCS), rx::L4CS | rx::IPCS);
}

#[test]
fn without_a_clock_an_aggregate_ends_when_its_vector_may_interrupt() {
    let mut host = coalescing(Params::zero());
    host.frame(&tcp(1, 1, false, &data(0, 100)));
    host.frame(&tcp(1, 101, false, &data(1, 100)));
    host.run();
    assert_eq!(host.dev.pending_vectors(), [0]);
    assert!(host.dev.expire_vector(0) && !host.dev.expire_vector(0));
    host.run();
    assert_eq!((host.poll_all(0).len(), host.msix.len()), (1, 1));
}

#[test]
fn coalescing_with_too_little_time_or_too_much_room_is_told() {
    let mut host = coalescing(Params::zero());
    host.set(map::RXDCTL, 0);
    host.set(map::EITR, eitr::CNT_WDIS);
    host.set(map::SRRCTL, 8 | 4 << 8 | 1 << queue::DESCTYPE_SHIFT);
    host.set(map::RXDCTL, queue::ENABLE);
    assert_eq!(host.misused(Misuse::RscInterval), 1);
    assert_eq!(host.misused(Misuse::RscTooLarge), 1);
    host.set(map::RXDCTL, 0);
    host.set(map::SRRCTL, 2);
    host.set(map::RXDCTL, queue::ENABLE);
    assert_eq!(host.misused(Misuse::RscRequirements), 1);
}

#[test]
fn ipv6_segments_coalesce_too() {
    let mut host = coalescing(Params::zero());
    for n in 0..3u32 {
        let mut bytes = Vec::new();
        PacketBuilder::ethernet2([4; 6], [2; 6])
            .ipv6([1; 16], [2; 16], 64)
            .tcp(1, 2, 1 + 900 * n, 500)
            .ack(9 + n)
            .write(&mut bytes, &data(n, 900))
            .expect("a packet");
        host.frame(&bytes);
    }
    host.run_until(4 * US);
    let got = host.poll(0).expect("a packet");
    let packet = SlicedPacket::from_ethernet(&got.data).expect("a packet");
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("TCP") };
    assert!(tcp.payload() == (0..3).flat_map(|n| data(n, 900)).collect::<Vec<_>>());
    assert_eq!(tcp.acknowledgment_number(), 11);
}
