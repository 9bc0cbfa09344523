//! The receive path, case by case: rings, drops, chains, filters, RSS, interrupts.

#[allow(dead_code)]
mod host;

use host::{tcp, udp, Host, RX_RING};
use pollproof_events::{record, Event, What};
use pollproof_intel_82599::{MacError, Misuse, Params};
use pollproof_regs::ixgbe::{eicr, eitr, fc, fctrl, hlreg0, mrqc, queue, rdma};
use pollproof_regs::ixgbe_desc::{dword, rx};
use pollproof_regs::ixgbe_map as map;
use pollproof_regs::ixgbe_stat as stat;
use pollproof_wire::Frame;

const US: u64 = 1_000_000;

fn one_ring(size: u32) -> Host {
    Host::receiving(Params::zero(), 1, size)
}

#[test]
fn a_frame_becomes_data_then_one_write_back_of_16_bytes_then_a_message() {
    let mut host = one_ring(8);
    host.post(0, 3);
    host.run();
    host.writes.clear();
    let frame = udp(1, &[7; 100]);
    host.frame(&frame);
    host.run();
    let kinds: Vec<_> = host.writes.iter().map(|w| (w.0, w.2)).collect();
    assert_eq!(kinds, [(What::Data, frame.len()), (What::Cqe, 16)]);
    assert_eq!(host.msix, [0]);
    let got = host.poll(0).expect("a frame");
    assert_eq!(got.data, frame);
    let good = rx::DD | rx::EOP | rx::IPCS | rx::L4CS;
    assert_eq!(got.status, good);
    assert_eq!(got.identity[0] >> 4 & 0x1fff, rx::TYPE_IPV4 | rx::TYPE_UDP);
    assert_eq!(host.get(map::RDH), 1);
    assert_eq!((host.get(stat::GPRC), host.get(stat::QPRC), host.get(stat::GPRC)), (1, 1, 0));
    assert_eq!(host.get(stat::QBRC_L), frame.len() as u32 + 4);
    assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
}

#[test]
fn a_tail_equal_to_the_head_means_no_descriptor() {
    let mut host = one_ring(8);
    host.frame(&udp(1, b"waits"));
    host.run();
    assert_eq!((host.dev.held(), host.reads.len()), (1, 0));
    host.post(0, 7); // all but one: the most that can be
    host.run();
    assert_eq!(host.poll_all(0).len(), 1);
    (0..10).for_each(|n| host.frame(&udp(n, b"x")));
    host.run();
    assert_eq!((host.poll_all(0).len(), host.dev.held()), (6, 4));
}

#[test]
fn without_drop_enable_one_dry_queue_blocks_all_and_with_it_only_its_own_frames_go() {
    for drop in [false, true] {
        let mut host = Host::receiving(Params::zero(), 2, 8);
        host.set(map::MRQC, mrqc::MODE_RSS | mrqc::UDP4);
        for n in 0..10 {
            host.set(map::RSSRK + 4 * n, 0x1234_5678u32.rotate_left(n));
        }
        for n in 0..32 {
            host.set(map::RETA + 4 * n, 0x0100_0100);
        }
        if drop {
            let srrctl = host.get(map::SRRCTL) | queue::DROP_EN;
            host.set(map::SRRCTL, srrctl);
            host.set(map::SRRCTL + 0x40, srrctl);
        }
        host.post(1, 7);
        host.run();
        for port in 0..12 {
            host.frame(&udp(port, b"x"));
        }
        host.run();
        let on_one = host.poll_all(1).len() as u32;
        let (stats, held) = (*host.dev.stats(), host.dev.held());
        if drop {
            assert!(on_one > 1 && held == 0, "{on_one} {held}");
            assert_eq!(stats.rx_no_descriptor, u64::from(12 - on_one));
            assert_eq!(host.get(stat::QPRDC), 12 - on_one);
        } else {
            assert!(held > 0 && stats.rx_no_descriptor == 0);
            host.post(0, 7);
            host.run();
            assert_eq!(host.dev.held(), 0);
            assert_eq!(host.poll_all(0).len() + on_one as usize + host.poll_all(1).len(), 12);
        }
    }
}

#[test]
fn a_long_frame_is_a_chain_of_buffers() {
    let mut host = one_ring(8);
    host.set(map::HLREG0, host.dev.peek(map::HLREG0) | hlreg0::JUMBOEN);
    host.set(map::MAXFRS, 9728 << 16);
    host.post(0, 4);
    let frame = udp(1, &(0..5000u32).map(|i| i as u8).collect::<Vec<_>>());
    host.frame(&frame);
    host.run();
    let got = host.poll(0).expect("a frame");
    assert_eq!((got.data == frame, got.chain.len()), (true, 3));
    assert!(got.chain.iter().all(|c| c.1 == 0), "no RSC");
    let first = host.dev.peek(map::MAXFRS);
    assert_eq!(first >> 16, 9728);
    host.frame(&udp(1, &[0; 9700]));
    assert_eq!((host.get(stat::ROC), host.dev.stats().rx_bad), (1, 1));
}

#[test]
fn a_frame_that_the_ring_can_never_hold_is_lost_and_told() {
    let mut host = one_ring(8);
    host.set(map::SRRCTL, 1 | 4 << 8 | 1 << queue::DESCTYPE_SHIFT);
    host.set(map::HLREG0, host.dev.peek(map::HLREG0) | hlreg0::JUMBOEN);
    host.set(map::MAXFRS, 15_000 << 16);
    host.post(0, 7);
    host.frame(&udp(1, &[0; 9000]));
    host.run();
    assert_eq!((host.dev.stats().rx_lost, host.misused(Misuse::RingTooSmall)), (1, 1));
    host.frame(&udp(1, b"goes on"));
    host.run();
    assert_eq!(host.dev.stats().rx_packets, 1);
}

#[test]
fn the_packet_buffer_overflows_into_mpc_and_a_cause() {
    let mut host = one_ring(8);
    host.set(map::RXPBSIZE, 1 << 10);
    for n in 0..5 {
        host.frame(&udp(n, &[0; 400]));
    }
    assert_eq!((host.dev.held(), host.dev.buffered_bytes()), (2, 2 * 446));
    assert_eq!(host.get(map::EICS) & eicr::RX_MISS, eicr::RX_MISS);
    assert_eq!((host.get(stat::MPC), host.get(stat::MPC)), (3, 0));
    host.run();
    assert_eq!(host.msix, [1], "other causes have the next vector");
}

#[test]
fn vlan_tags_are_stripped_where_the_queue_says_so() {
    let mut host = one_ring(8);
    host.post(0, 7);
    let plain = udp(1, &[1; 60]);
    let mut tagged = plain.clone();
    tagged.splice(12..12, [0x81, 0x00, 0x60, 0x05]);
    host.frame(&tagged);
    host.set(map::RXDCTL, queue::ENABLE | queue::VME);
    host.frame(&tagged);
    host.frame(&plain);
    host.run();
    let got = host.poll_all(0);
    assert_eq!((&got[0].data, got[0].status & rx::VP, got[0].vlan), (&tagged, 0, 0));
    assert_eq!((&got[1].data, got[1].status & rx::VP, got[1].vlan), (&plain, rx::VP, 0x6005));
    assert_eq!((&got[2].data, got[2].status & rx::VP), (&plain, 0));
    assert!(got.iter().all(|g| g.status & rx::L4CS != 0));
}

#[test]
fn rss_spreads_by_hash_and_tells_it() {
    let mut host = Host::receiving(Params::zero(), 4, 64);
    let key: Vec<u8> = (0..40).map(|i| (i * 37 + 11) as u8).collect();
    for (n, word) in (0u32..).zip(key.chunks(4)) {
        host.set(0x5c80 + 4 * n, u32::from_le_bytes(word.try_into().expect("4 bytes")));
    }
    for n in 0..32 {
        host.set(0x5c00 + 4 * n, 0x0302_0100);
    }
    host.set(0x5818, mrqc::MODE_RSS | mrqc::TCP4 | mrqc::IP4);
    (0..4).for_each(|n| host.post(n, 40));
    let hash = pollproof_intel_82599::Toeplitz::new(&key.try_into().expect("40 bytes"));
    let mut queues = [0; 4];
    for port in 1000..1032u16 {
        host.frame(&tcp(port, 1, false, b"data"));
        host.run();
        let mut input = vec![10, 0, 0, 1, 10, 0, 0, 2];
        input.extend(port.to_be_bytes());
        input.extend(80u16.to_be_bytes());
        let expected = hash.hash(&input);
        let n = expected & 3;
        let got = host.poll(n).expect("a frame in its queue");
        assert_eq!((got.identity[0] & 15, got.identity[1]), (1, expected));
        queues[n as usize] += 1;
    }
    assert!(queues.iter().all(|&n| n > 0), "{queues:?}");
    host.frame(&udp(1, b"ports are not part"));
    host.run();
    let input = [10, 0, 0, 1, 10, 0, 0, 2];
    let got = host.poll(hash.hash(&input) & 3).expect("a frame");
    assert_eq!((got.identity[0] & 15, got.identity[1]), (2, hash.hash(&input)));
}

#[test]
fn bad_checksums_and_bad_frames_are_marked() {
    let mut host = one_ring(8);
    host.post(0, 7);
    let mut bad = udp(1, &[1; 60]);
    bad[50] ^= 1;
    host.frame(&bad);
    let mut ip = udp(1, &[1; 60]);
    ip[24] ^= 1;
    host.frame(&ip);
    let crc = Frame::new(9, udp(1, &[2; 60]).into());
    host.dev.rx_bad_frame(crc.clone(), MacError::Crc);
    assert_eq!((host.get(stat::CRCERRS), host.dev.stats().rx_bad), (1, 1));
    host.set(map::FCTRL, host.dev.peek(map::FCTRL) | fctrl::SBP);
    host.dev.rx_bad_frame(crc, MacError::Crc);
    host.run();
    let got: Vec<u32> = host.poll_all(0).iter().map(|g| g.status & 0xe000_0000).collect();
    assert_eq!(got, [rx::TCPE, rx::IPE, rx::RXE]);
}

#[test]
fn short_frames_are_runts_unless_they_count_as_padded() {
    let mut host = Host::receiving(Params { pad_short: false, ..Params::zero() }, 1, 8);
    host.post(0, 7);
    host.frame(&udp(1, b"short"));
    assert_eq!((host.get(stat::RUC), host.dev.stats().rx_bad), (1, 1));
    let mut host = one_ring(8);
    host.post(0, 7);
    host.frame(&udp(1, b"short"));
    host.run();
    assert_eq!(host.poll(0).expect("a frame").data.len(), 60);
}

#[test]
fn the_fcs_is_kept_when_nobody_strips_it() {
    let mut host = one_ring(8);
    host.set(map::HLREG0, host.dev.peek(map::HLREG0) & !hlreg0::RXCRCSTRP);
    host.set(map::RDRXCTL, 0);
    host.post(0, 7);
    let frame = udp(1, &[3; 80]);
    host.frame(&frame);
    host.run();
    let got = host.poll(0).expect("a frame");
    assert_eq!((got.data.len(), &got.data[..frame.len()]), (frame.len() + 4, &frame[..]));
    assert_eq!(got.status & rx::L4CS, rx::L4CS, "the FCS is not part of the packet");
}

#[test]
fn legacy_descriptors_have_bytes_for_status_and_errors() {
    let mut host = one_ring(8);
    host.set(map::SRRCTL, 2);
    host.post(0, 7);
    let mut frame = udp(1, &[1; 60]);
    frame[50] ^= 1;
    host.frame(&frame);
    host.run();
    let d = host.descriptor(RX_RING);
    assert_eq!(dword(&d, 0), host.buffer(0, 0) as u32);
    assert_eq!(dword(&d, 2), frame.len() as u32);
    assert_eq!(dword(&d, 3), 0x4063, "DD, EOP, L4CS, IPCS; TCPE");
}

#[test]
fn a_disabled_queue_drops_and_ends_only_when_its_reads_have_ended() {
    let mut host = one_ring(8);
    host.hold_reads = true;
    host.post(0, 7);
    host.run();
    assert_eq!(host.held.len(), 1);
    host.set(map::RXDCTL, 0);
    assert_ne!(host.get(map::RXDCTL) & queue::ENABLE, 0, "a read is open");
    let (tag, bytes) = host.held.remove(0);
    host.dev.dma_complete(tag, &bytes);
    assert_eq!(host.get(map::RXDCTL) & queue::ENABLE, 0);
    host.frame(&udp(1, b"nobody"));
    host.run();
    assert_eq!(host.dev.stats().rx_queue_off, 1);
    host.dev.dma_complete(tag, &bytes);
    assert_eq!(host.misused(Misuse::UnknownRead), 1);
}

#[test]
fn moderation_spaces_the_messages_of_a_vector() {
    let mut host = one_ring(64);
    host.post(0, 60);
    host.set(map::EITR, 40 | eitr::CNT_WDIS); // 10 us
    let mut times = vec![];
    for n in 0..40 {
        host.run_until(n * US);
        host.frame(&udp(1, b"x"));
        host.run();
        if !host.msix.is_empty() {
            times.push(n);
            host.msix.clear();
            host.set(map::EIMS_EX, 1);
        }
    }
    assert_eq!(times, [0, 10, 20, 30]);
    host.run_until(39 * US);
    assert_eq!(host.msix, [], "not before its time");
    host.run_until(40 * US);
    assert_eq!(host.msix, [0], "the rest are told by the end of the interval");
}

#[test]
fn xoff_goes_out_above_the_threshold_and_xon_below() {
    let mut host = one_ring(64);
    host.set(map::RXPBSIZE, 16 << 10);
    host.set(map::FCCFG, fc::TFCE_8023X);
    host.set(map::FCTTV, 0xffff_ffff);
    host.set(map::FCRTH, fc::FCEN | 4096);
    host.set(map::FCRTL, fc::XONE | 1024);
    (0..6).for_each(|n| host.frame(&udp(n, &[0; 1000])));
    host.run();
    assert_eq!(host.sent.len(), 1);
    assert_eq!(host.sent[0][12..18], [0x88, 0x08, 0, 1, 0xff, 0xff]);
    host.post(0, 20);
    host.run();
    assert_eq!(host.sent.len(), 2);
    assert_eq!(host.sent[1][16..18], [0, 0]);
    assert_eq!((host.get(stat::LXOFFTXC), host.get(stat::LXONTXC)), (1, 1));
}

#[test]
fn what_a_driver_does_wrong_with_rings_is_told() {
    let mut host = one_ring(8);
    host.post(0, 3);
    host.set(map::RDT, 8);
    assert_eq!(host.misused(Misuse::TailBeyondRing), 1);
    host.set(map::RDT, 2);
    assert_eq!(host.misused(Misuse::TailBackwards), 1);
    host.set(map::RDBAL, 0x2000);
    host.set(map::RDH, 3);
    assert_eq!(host.misused(Misuse::RingWhileEnabled), 2);
    host.set(map::RDLEN + 0x40, 100);
    assert_eq!(host.misused(Misuse::RingLength), 1);
    host.set(map::RDBAL + 0x40, 64);
    assert_eq!(host.misused(Misuse::RingBase), 1);
    host.set(map::RXDCTL + 0x40, queue::ENABLE);
    assert_eq!(host.misused(Misuse::EnableBadRing), 1);
    assert_eq!(host.get(map::RXDCTL + 0x40) & queue::ENABLE, 0);
    host.set(map::RDT + 0x40, 3);
    assert_eq!(host.misused(Misuse::TailBeforeEnable), 0, "a queue that is off may be told");
    host.set(map::RDBAL + 0x40, 0x8000);
    host.set(map::RDLEN + 0x40, 128);
    host.set(map::RXDCTL + 0x40, queue::ENABLE);
    assert_eq!(host.misused(Misuse::TailBeforeEnable), 1, "but not before it is enabled");
    host.set(map::LINKS, 0);
    assert_eq!(host.misused(Misuse::ReadOnly), 1);
    host.dev.mmio_write(0, 2, 0, 4);
    host.dev.mmio_read(0, 0, 1);
    assert_eq!(host.misused(Misuse::Access), 2);
    host.dev.mmio_read32(0, 0x2_0000);
    assert_eq!(host.misused(Misuse::OutsideBar), 1);
}

#[test]
fn what_was_written_back_may_stay_where_no_header_goes() {
    let mut host = one_ring(8);
    host.put(RX_RING, &[0, 0, 16, 0, 0, 0, 0, 0, 0x23, 0, 0, 0, 0, 0, 0, 0]);
    host.set(map::RDT, 1);
    host.frame(&udp(1, b"x"));
    host.run();
    assert!(host.dev.misuses().is_empty(), "{:?}", host.dev.misuses());
}

#[test]
fn a_header_address_where_dd_will_be_is_told() {
    let mut host = one_ring(8);
    // Header split, which is not modelled otherwise.
    host.set(map::SRRCTL, 2 | 4 << 8 | 2 << 25);
    host.put(RX_RING, &[0, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    host.set(map::RDT, 1);
    host.frame(&udp(1, b"x"));
    let (_, events) = record(|| host.run());
    assert_eq!(host.misused(Misuse::HeaderAddress), 1);
    let told = events.iter().filter(|e| matches!(e.event, Event::DeviceMisuse { .. })).count();
    assert_eq!(told, 1);
    let written = events.iter().find_map(|e| match e.event {
        Event::CqeWrite { cq, index, number } => Some((cq, index, number)),
        _ => None,
    });
    assert_eq!(written, Some((0, 0, 0)));
}

#[test]
fn a_reset_lets_no_old_request_through() {
    let mut host = one_ring(8);
    host.hold_reads = true;
    host.post(0, 7);
    host.run();
    host.frame(&udp(1, b"lost"));
    host.set(map::RDBAL + 0x40, 0x1_4000);
    host.set(map::RDLEN + 0x40, 128);
    host.set(map::RXDCTL + 0x40, queue::ENABLE);
    host.set(map::RDT + 0x40, 3);
    assert!(host.dev.has_output(), "a fetch waits for the bus");
    let held = std::mem::take(&mut host.held);
    host.set(map::CTRL, 1 << 26);
    assert!(!host.dev.has_output());
    assert!(host.dev.transactions_pending());
    for (tag, bytes) in held {
        host.dev.dma_complete(tag, &bytes);
    }
    assert!(!host.dev.has_output() && !host.dev.transactions_pending());
    assert_eq!(host.dev.stats().rx_lost, 1);
    assert_eq!(host.get(map::RXCTRL) & rdma::RXEN, 0);
    assert!(host.dev.misuses().is_empty());
}

#[test]
fn write_backs_may_wait_for_each_other_but_not_for_ever() {
    let mut host = Host::receiving(Params { rx_wb_batch: 4, ..Params::zero() }, 1, 64);
    host.post(0, 40);
    for n in 0..6 {
        host.frame(&udp(n, b"x"));
    }
    host.run();
    assert_eq!(host.poll_all(0).len(), 6);
}
