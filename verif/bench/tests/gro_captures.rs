//! Captures through both NICs with GRO off, on and batched: all rules hold, sockets get the same,
//! and what is merged is taken apart into what came.

use pollproof_bench::flows;
use pollproof_bench::timed::{
    run_capture, CaptureReport, Ended, IxgbeTimedOptions, Nic, Options, SfcTimedOptions,
    TimedOptions,
};
use pollproof_netcore::GroOptions;
use pollproof_sfc::RxForm;
use pollproof_wire::{read_file, write_pcap};
use std::path::{Path, PathBuf};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

const CAPTURES: [&str; 2] = ["tcp_udp.pcap", "many_flows.pcap"];

#[test]
fn the_committed_flows_are_those_of_the_generator() {
    let path = testdata("many_flows.pcap");
    let packets = flows::committed();
    if std::env::var_os("POLLPROOF_BLESS").is_some() {
        std::fs::write(&path, write_pcap(&packets)).expect("the capture is written");
    }
    let capture = read_file(&path).expect("a capture");
    assert!(capture.packets == packets, "POLLPROOF_BLESS=1 writes it anew");
}

const fn gro(udp: bool, normal_batch: u32) -> Option<GroOptions> {
    Some(GroOptions::new(udp, normal_batch))
}

/// A run that must be clean.
fn clean<N: Nic>(name: &str, options: &Options<N>) -> CaptureReport {
    let run = run_capture(&testdata(name), options).expect("a capture");
    assert_eq!(run.judged.findings, [], "{name} {:?}", options.net.gro);
    let report = run.judged.outcome.as_ref().expect("a report");
    assert!(report.is_conserved(), "{report:?}");
    assert_eq!((report.ended, report.held, report.dropped()), (Ended::Drained, 0, 0), "{report:?}");
    assert_eq!(report.delivered, run.packets);
    run
}

fn all_modes_give_the_same<N: Nic>(options: &Options<N>) {
    for name in CAPTURES {
        let plain = clean(name, options);
        for gro in [gro(false, 1), gro(false, 8), gro(true, 1), gro(true, 8), gro(true, 64)] {
            let run = clean(name, &options.clone().with_gro(gro));
            assert!(run.ledger() == plain.ledger(), "sockets of {name} with {gro:?}");
            let report = run.judged.outcome.expect("a report");
            assert!(report.merged > 40, "{name} {gro:?}: {} are merged", report.merged);
            assert!(run.judged.reached.contains(&("GRO-ROUND-TRIP", "merged")));
            assert!(run.judged.reached.contains(&("GRO-FLUSH", "rest")));
        }
    }
}

#[test]
fn sockets_get_the_same_through_mlx4_in_all_modes() {
    for rings in [1, 4] {
        all_modes_give_the_same(&TimedOptions::default().with_rings(rings, 10, rings));
    }
}

#[test]
fn sockets_get_the_same_through_ixgbe_in_all_modes() {
    for queues in [1, 4] {
        all_modes_give_the_same(&IxgbeTimedOptions::default().with_queues(queues, 512, queues));
    }
}

#[test]
fn sockets_get_the_same_through_sfc_in_all_modes_and_forms() {
    for (channels, rx_form) in [(1, RxForm::V6_12), (4, RxForm::V6_12), (1, RxForm::GroList)] {
        let mut options = SfcTimedOptions::default().with_channels(channels, 512, channels);
        options.nic.rx_form = rx_form;
        all_modes_give_the_same(&options);
    }
}

#[test]
fn held_packets_wait_for_the_timer_and_then_go_up() {
    let mut options = IxgbeTimedOptions::default().with_queues(1, 512, 1).with_gro(gro(true, 8));
    options.net.gro_flush_timeout_ns = 20_000;
    let with_timer = clean("many_flows.pcap", &options);
    options.net.gro_flush_timeout_ns = 0;
    let without = clean("many_flows.pcap", &options);
    assert!(with_timer.ledger() == without.ledger());
    let merged = |run: CaptureReport| run.judged.outcome.expect("a report").merged;
    assert!(merged(with_timer) > merged(without), "more are merged while they wait");
}
