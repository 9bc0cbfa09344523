//! Timed runs of ixgbe from street to guest: nothing is lost without a count, and all rules hold.

use pollproof_bench::timed::{run_capture, Ended, IxgbeTimedOptions, TimedReport};
use std::path::Path;

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
