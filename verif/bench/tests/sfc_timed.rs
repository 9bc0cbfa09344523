//! Timed runs of sfc from street to guest: nothing is lost without a count, and all rules hold.

use pollproof_bench::flows::{in_turns, many_flows};
use pollproof_bench::timed::{run_judged, Ended, SfcHouse, SfcTimedOptions, TimedReport};
use pollproof_hostmem::FailPlan;
use pollproof_netcore::GroOptions;
use pollproof_sfc::RxForm;
use pollproof_wire::{FaultRates, Pacing, Packet};

fn options() -> SfcTimedOptions {
    SfcTimedOptions { max_events: 20_000_000, ..SfcTimedOptions::default() }
}

/// A run that must be clean, to its end.
fn clean(packets: Vec<Packet>, options: &SfcTimedOptions) -> TimedReport {
    let run = run_judged(packets, options);
    assert_eq!(run.findings, [], "{options:?}");
    let report = run.outcome.expect("a report");
    assert!(report.is_conserved(), "{report:?}");
    assert_eq!((report.ended, report.held), (Ended::Drained, 0), "{report:?}");
    report
}

#[test]
fn packets_arrive_through_any_number_of_channels() {
    for channels in [1, 2, 3, 16] {
        let report = clean(many_flows(32, 400, 1), &options().with_channels(channels, 512, 4));
        assert_eq!(report.delivered, 400, "{channels}");
    }
}

#[test]
fn events_of_several_packets_are_told_apart() {
    let mut merging = options().with_channels(1, 4096, 1);
    merging.pacing = Pacing::Fixed { gap_ps: 180_000 };
    merging.costs.packet_ns = 20;
    let report = clean(in_turns(32, 2_000, 200), &merging);
    merging.nic.rx_merge = false;
    let single = clean(in_turns(32, 2_000, 200), &merging);
    assert_eq!((report.delivered, single.delivered), (2_000, 2_000));
    assert!(report.dma_writes + 500 < single.dma_writes, "events are fewer");
}

#[test]
fn long_frames_take_several_descriptors_and_are_given_up_when_they_run_out() {
    let long = |n: u64| {
        let mut bytes = many_flows(1, 1, n).swap_remove(0).bytes.to_vec();
        bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
        bytes.resize(6_000, n as u8);
        Packet { time_ns: 0, bytes: bytes.into() }
    };
    let report = clean((0..200).map(long).collect(), &options());
    assert_eq!(report.delivered, 200, "{report:?}");
    let mut slow = options().with_channels(1, 16, 1);
    slow.costs.packet_ns = 20_000;
    let report = clean((0..200).map(long).collect(), &slow);
    assert!(report.dropped() > 0 && report.delivered > 0, "{report:?}");
}

#[test]
fn a_dry_ring_is_filled_again() {
    let mut dry = options().with_channels(1, 16, 1);
    dry.fail_allocs = Some(FailPlan { first: 1, last: 8 });
    dry.pacing = Pacing::Fixed { gap_ps: 5_000_000_000 };
    let report = clean(many_flows(4, 60, 3), &dry);
    assert!(report.failed_allocs > 0 && report.timers_fired > 0, "{report:?}");
    assert!(report.delivered > 20, "{report:?}");
}

#[test]
fn faults_on_the_wire_and_gro_go_together() {
    for rx_form in [RxForm::V6_12, RxForm::GroList] {
        for gro in [None, Some(GroOptions::new(true, 1)), Some(GroOptions::new(true, 8))] {
            let mut faulty = options().with_channels(2, 256, 2).with_gro(gro).keeping_bytes();
            faulty.nic.rx_form = rx_form;
            faulty.faults = FaultRates {
                loss_ppm: 20_000,
                duplicate_ppm: 20_000,
                truncate_ppm: 5_000,
                // A flipped bit of an address is another flow to GRO, not to FLOW-ORDER.
                corrupt_ppm: if gro.is_none() { 20_000 } else { 0 },
                reorder_ppm: 0,
            };
            clean(many_flows(16, 1_000, 4), &faulty);
        }
    }
}

#[test]
fn the_hold_off_gets_shorter_when_little_comes() {
    let mut quiet = options();
    quiet.pacing = Pacing::Fixed { gap_ps: 100_000_000 };
    let mut house = SfcHouse::open(&quiet).expect("a house");
    house.send(many_flows(4, 3_500, 5));
    house.finish().expect("a report");
    let us = house.efx().channels()[0].irq_moderation_us();
    assert!(us < quiet.nic.rx_irq_mod_us, "{us} us");
}

#[test]
fn what_is_sent_is_told_of_and_its_buffers_are_freed() {
    let options = options().with_channels(1, 64, 1);
    let mut house = SfcHouse::open(&options).expect("a house");
    let before = house.buffers_in_use();
    let send =
        |n: u8| move |port: &pollproof_bench::timed::Sfc| port.efx().channels()[0].xmit(&[n; 100]);
    for n in 0..100 {
        house.control(send(n)).expect("a control path").expect("room in the ring");
    }
    house.finish().expect("a report");
    let sent =
        house.with_device(|device| std::iter::from_fn(|| device.pop_frame()).collect::<Vec<_>>());
    let wanted: Vec<Vec<u8>> = (0..100).map(|n| vec![n; 100]).collect();
    assert_eq!(sent, Some(wanted));
    assert_eq!(house.efx().channels()[0].stats.tx_packets.get(), 100);
    assert_eq!(house.buffers_in_use(), before);
}
