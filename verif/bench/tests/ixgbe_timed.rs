//! Timed runs of ixgbe from street to guest: nothing is lost without a count, and all rules hold.

use etherparse::PacketBuilder;
use pollproof_bench::timed::{
    run_capture, run_frames, run_judged, Ended, IxgbeHouse, IxgbeTimedOptions, TimedReport,
};
use pollproof_hostmem::FailPlan;
use pollproof_ixgbe::{ItrSetting, QvLockForm};
use pollproof_wire::{FaultRates, Pacing, Packet};
use std::path::Path;
use std::sync::Arc;

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tcp_udp.pcap");

fn options() -> IxgbeTimedOptions {
    IxgbeTimedOptions { max_events: 20_000_000, ..IxgbeTimedOptions::default() }
}

/// A capture run that must be clean: all rules hold and every packet is accounted for.
fn clean(options: &IxgbeTimedOptions) -> (u64, TimedReport) {
    let run = run_capture(Path::new(CAPTURE), options).expect("a capture");
    assert_eq!(run.judged.findings, [], "{options:?}");
    let report = run.judged.outcome.expect("a report");
    assert!(report.is_conserved(), "{report:?}");
    assert_eq!((report.ended, report.held), (Ended::Drained, 0), "{report:?}");
    assert_eq!(report.delivered, run.arrivals.len() as u64);
    (run.packets, report)
}

#[test]
fn a_capture_arrives_through_any_number_of_queues() {
    for queues in [1, 2, 3, 4, 7, 16] {
        let (packets, report) = clean(&options().with_queues(queues, 512, queues.min(4)));
        assert_eq!(report.delivered, packets, "{report:?}");
    }
}

/// From, port, to, port, hash with ports, hash without.
type Vector = ([u8; 4], u16, [u8; 4], u16, u32, u32);

/// Addresses and ports of Microsoft's "Verifying the RSS hash calculation", and the hashes with
/// ports (TCP) and without.
const IPV4: [Vector; 5] = [
    ([66, 9, 149, 187], 2794, [161, 142, 100, 80], 1766, 0x51cc_c178, 0x323e_8fc2),
    ([199, 92, 111, 2], 14230, [65, 69, 140, 83], 4739, 0xc626_b0ea, 0xd718_262a),
    ([24, 19, 198, 95], 12898, [12, 22, 207, 184], 38024, 0x5c2b_394a, 0xd2d0_a5de),
    ([38, 27, 205, 30], 48228, [209, 142, 163, 6], 2217, 0xafc7_327f, 0x8298_9176),
    ([153, 39, 163, 191], 44251, [202, 188, 127, 2], 1303, 0x10e8_28a2, 0x5d18_09c5),
];

#[test]
fn the_queue_of_a_flow_is_the_one_of_the_published_hashes() {
    for queues in [1, 3, 4, 8, 16] {
        let mut packets = Vec::new();
        let mut wanted = Vec::new();
        for (from, sport, to, dport, tcp, udp) in IPV4 {
            let builder = || PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(from, to, 64);
            let mut bytes = Vec::new();
            builder().tcp(sport, dport, 1, 1).write(&mut bytes, &[7; 30]).expect("a packet");
            packets.push(packet(bytes));
            let mut bytes = Vec::new();
            builder().udp(sport, dport).write(&mut bytes, &[7; 30]).expect("a packet");
            packets.push(packet(bytes));
            wanted.extend([tcp, udp]);
        }
        let options = options().with_queues(queues, 64, 2).keeping_bytes();
        let mut house = IxgbeHouse::open(&options).expect("a house");
        house.send(packets.clone());
        house.finish().expect("a report");
        let arrivals = house.net().ledger.take_arrivals();
        assert_eq!(arrivals.len(), wanted.len());
        for (packet, hash) in packets.iter().zip(wanted) {
            let arrival = arrivals.iter().find(|a| *a.bytes == *packet.bytes).expect("it");
            assert_eq!(arrival.socket, hash);
            assert_eq!(arrival.number >> 32, u64::from(hash & 127) % u64::from(queues));
        }
    }
}

fn packet(bytes: Vec<u8>) -> Packet {
    Packet { time_ns: 0, bytes: Arc::from(bytes) }
}

fn udp(count: u64, flows: u8, len: usize) -> Vec<Packet> {
    let one = |n: u64| {
        let flow = (n % u64::from(flows.max(1))) as u8;
        let mut bytes = Vec::new();
        PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
            .ipv4([10, 0, 0, flow], [10, 0, 1, 1], 64)
            .udp(1000 + u16::from(flow), 9)
            .write(&mut bytes, &n.to_be_bytes())
            .expect("a packet");
        bytes.resize(bytes.len().max(len), 0);
        Packet { time_ns: n * 1000, bytes: Arc::from(bytes) }
    };
    (0..count).map(one).collect()
}

/// A judged run that breaks no rule and accounts for every packet.
fn judged(packets: Vec<Packet>, options: &IxgbeTimedOptions) -> TimedReport {
    let judged = run_judged(packets, options);
    assert_eq!(judged.findings, [], "{options:?}");
    let report = judged.outcome.expect("a report");
    assert!(report.is_conserved(), "{report:?}");
    report
}

#[test]
fn long_frames_arrive_in_several_buffers() {
    for len in [2048, 2049, 4096, 5000, 9000, 9706] {
        let run = judged(udp(300, 4, len), &options().with_queues(2, 64, 2));
        assert_eq!(run.delivered + run.dropped(), 300, "{run:?}");
        assert!(run.delivered > 100, "{run:?}");
        let per_frame = run.cqes as f64 / (run.delivered + run.dropped()) as f64;
        assert!(run.dropped() > 0 || per_frame == len.div_ceil(2048) as f64, "{per_frame}");
    }
}

#[test]
fn small_rings_drop_with_several_queues_and_hold_back_with_one() {
    let report = judged(udp(3000, 8, 60), &options().with_queues(4, 24, 1));
    assert!(report.drops.contains_key("rx_no_descriptor"), "{report:?}");
    let report = judged(udp(3000, 8, 60), &options().with_queues(1, 24, 1));
    assert_eq!(report.delivered, 3000, "the packet buffer holds them: {report:?}");
    let mut paused = options().with_queues(4, 24, 1);
    paused.nic.tx_pause = true;
    let report = judged(udp(3000, 8, 60), &paused);
    assert_eq!(report.delivered, 3000, "{report:?}");
}

#[test]
fn rings_that_share_a_vector_share_its_budget() {
    for vectors in [1, 2, 3] {
        let mut options = options().with_queues(8, 64, 2);
        options.nic.vectors = vectors;
        for weight in [1, 7, 64] {
            options.nic.weight = weight;
            let report = judged(udp(2000, 32, 60), &options);
            assert!(report.delivered > 500, "{report:?}");
        }
    }
}

#[test]
fn moderation_decides_how_often_it_interrupts() {
    let at = |itr| {
        let mut options = options();
        options.pacing = Pacing::Fixed { gap_ps: 2_000_000 };
        options.nic.itr = itr;
        let report = judged(udp(3000, 1, 60), &options);
        assert_eq!(report.delivered, 3000);
        report.interrupts
    };
    let (none, ten, hundred) =
        (at(ItrSetting::Usecs(0)), at(ItrSetting::Usecs(10)), at(ItrSetting::Usecs(100)));
    assert!(none > 2 * ten && ten > 5 * hundred, "{none} {ten} {hundred}");
    let adaptive = at(ItrSetting::Adaptive);
    assert!((hundred..=none).contains(&adaptive), "{adaptive}");
}

#[test]
fn memory_that_fails_is_asked_again_by_the_watchdog() {
    for (first, last) in [(1, 40), (20, 900), (100, 101)] {
        for count in [24, 64] {
            let mut options = options().with_queues(1, count, 1);
            options.pacing = Pacing::Fixed { gap_ps: 20_000_000 };
            options.fail_allocs = Some(FailPlan { first, last });
            let run = judged(udp(500, 2, 60), &options);
            assert_eq!((run.delivered, run.held), (500, 0), "{run:?}");
        }
    }
}

#[test]
fn a_ring_reuses_its_pages() {
    let mut options = options().with_queues(1, 512, 1);
    options.pacing = Pacing::Fixed { gap_ps: 1_000_000 };
    let report = judged(udp(5000, 1, 60), &options);
    // Two buffers a page for the ring, and hardly any after that.
    assert!(report.buf_allocs < 2 * 512 + 100, "{report:?}");
}

#[test]
fn a_page_is_not_posted_again_while_a_socket_has_its_other_half() {
    let mut options = options().with_queues(1, 64, 1);
    options.pacing = Pacing::Fixed { gap_ps: 1_000_000 };
    options.net.rcv_queue = 100;
    let report = judged(udp(2000, 3, 60), &options);
    assert_eq!(report.delivered, 2000);
    assert!(report.buf_allocs > 300, "some pages had to be replaced: {report:?}");
}

#[test]
fn a_ring_that_runs_dry_meets_no_descriptor_of_an_earlier_lap() {
    let mut options = options().with_queues(1, 24, 1);
    options.pacing = Pacing::Fixed { gap_ps: 1_000_000 };
    options.net.rcv_queue = 30;
    // No page but those of the start: they come back only when both halves were read.
    options.fail_allocs = Some(FailPlan { first: 1, last: 300 });
    let report = judged(udp(400, 2, 60), &options);
    assert_eq!((report.delivered, report.held), (400, 0), "{report:?}");
    assert_eq!(report.failed_allocs, 300);
}

#[test]
fn sockets_that_poll_get_their_packets_without_interrupts() {
    for form in [QvLockForm::Spin, QvLockForm::SpinBh, QvLockForm::Cmpxchg] {
        let mut options = options().busy_polling(100);
        options.nic.busy_poll_lock = Some(form);
        options.nic.itr = ItrSetting::Usecs(100);
        options.pacing = Pacing::Fixed { gap_ps: 20_000_000 };
        let report = judged(udp(1000, 1, 60), &options);
        assert_eq!(report.delivered, 1000);
        assert!(report.low_latency_packets > 900, "{form:?} {report:?}");
        let queue = report.queues[0];
        assert_eq!(queue.cleaned, report.low_latency_packets);
        assert!(queue.misses > queue.cleaned);
    }
}

#[test]
fn a_run_is_repeated_bit_for_bit_and_counts_the_same_without_rules() {
    let faults = FaultRates { loss_ppm: 50_000, corrupt_ppm: 50_000, ..FaultRates::default() };
    let run = |seed| {
        let options = IxgbeTimedOptions { faults, seed, ..options().with_queues(4, 64, 2) };
        let judged = run_judged(udp(2000, 8, 60), &options);
        assert_eq!(run_frames(udp(2000, 8, 60), &options), judged.outcome);
        (judged.outcome.expect("a report"), judged.events, judged.events_hash)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).2, run(2).2);
}

#[test]
fn absurd_options_are_refused() {
    let mut queues = options();
    queues.nic.queues = 17;
    let mut vectors = options();
    vectors.nic.vectors = 0;
    let mut ring = options();
    ring.nic.rx_ring_count = 12;
    let mut masked = options();
    masked.device.msix_masked_at_reset = true;
    let mut buffers = options();
    buffers.memory.buf_bytes = 512;
    for options in [queues, vectors, ring, masked, buffers] {
        assert!(IxgbeHouse::open(&options).is_err());
    }
    let few = IxgbeTimedOptions { max_events: 10, ..options() };
    assert!(run_judged(udp(100, 1, 60), &few).outcome.is_err());
}
