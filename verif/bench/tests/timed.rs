//! Timed runs from street to guest: nothing is lost without a count, and all rules hold.

use pollproof_bench::timed::{
    run_capture, run_judged, AffinityMove, Ended, Judged, TimedHouse, TimedOptions,
};
use pollproof_hostmem::FailPlan;
use pollproof_sync::switch::with_bug;
use pollproof_wire::{FaultRates, Pacing, Packet};
use std::path::Path;
use std::sync::Arc;

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tcp_udp.pcap");

fn options() -> TimedOptions {
    TimedOptions { max_events: 20_000_000, ..TimedOptions::default() }
}

/// A capture run that must be clean: all rules hold and every packet is accounted for.
fn clean(options: &TimedOptions) -> (u64, pollproof_bench::timed::TimedReport) {
    let run = run_capture(Path::new(CAPTURE), options).expect("a capture");
    assert_eq!(run.judged.findings, [], "{options:?}");
    let report = run.judged.outcome.expect("a report");
    assert!(report.is_conserved(), "{report:?}");
    assert_eq!((report.ended, report.held), (Ended::Drained, 0));
    assert_eq!(report.delivered, run.arrivals.len() as u64);
    (run.packets, report)
}

fn udp(count: u64, flows: u8, len: usize) -> Vec<Packet> {
    let packet = |n: u64| {
        let flow = (n % u64::from(flows.max(1))) as u8;
        let mut bytes = Vec::new();
        etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
            .ipv4([10, 0, 0, flow], [10, 0, 1, 1], 64)
            .udp(1000 + u16::from(flow), 9)
            .write(&mut bytes, &n.to_be_bytes())
            .expect("a packet");
        bytes.resize(bytes.len().max(len), 0);
        Packet { time_ns: n * 1000, bytes: Arc::from(bytes) }
    };
    (0..count).map(packet).collect()
}

fn bugged(id: &'static str, packets: Vec<Packet>, options: &TimedOptions) -> Judged {
    let fixed = run_judged(packets.clone(), options);
    assert_eq!(fixed.findings, [], "without {id}");
    with_bug(id, || run_judged(packets, options))
}

#[test]
fn a_capture_arrives_through_any_number_of_rings_and_either_stride() {
    for rings in [1, 4, 16] {
        for stride in [32, 64] {
            let mut options = options().with_rings(rings, 10, rings);
            options.nic.cqe_stride_bytes = stride;
            let (packets, report) = clean(&options);
            assert_eq!(report.delivered, packets, "{report:?}");
        }
    }
}

#[test]
fn a_capture_arrives_on_one_cpu_with_many_rings() {
    let (packets, report) = clean(&options().with_rings(16, 10, 1));
    assert_eq!(report.delivered, packets);
}

#[test]
fn small_rings_drop_and_count() {
    for log_size in [1, 2, 3] {
        for rings in [1, 4] {
            let (_, report) = clean(&options().with_rings(rings, log_size, rings));
            assert!(report.delivered > 0 && report.dropped() > 0, "{report:?}");
            assert!(report.drops.contains_key("rx_out_of_buffer"), "{report:?}");
        }
    }
}

#[test]
fn a_capture_arrives_at_its_own_pace() {
    let mut options = options().with_rings(4, 10, 2);
    options.pacing = Pacing::AsCaptured;
    let (packets, report) = clean(&options);
    assert_eq!(report.delivered, packets);
}

#[test]
fn deferred_interrupts_and_moderation_change_the_interrupts_alone() {
    let base = TimedOptions { pacing: Pacing::Fixed { gap_ps: 2_000_000 }, ..options() };
    let (packets, moderated) = clean(&base);
    let mut eager = base.clone();
    (eager.nic.rx_frames, eager.nic.rx_usecs) = (0, 0);
    let (_, eager) = clean(&eager);
    let mut deferred = base.clone();
    (deferred.net.gro_flush_timeout_ns, deferred.net.napi_defer_hard_irqs) = (20_000, 2);
    let (_, deferred) = clean(&deferred);
    for report in [&moderated, &eager, &deferred] {
        assert_eq!(report.delivered, packets);
    }
    assert!(eager.interrupts > 2 * moderated.interrupts, "{eager:?} {moderated:?}");
    assert!(deferred.interrupts < moderated.interrupts, "{deferred:?} {moderated:?}");
    assert!(deferred.timers_fired > 0);
}

#[test]
fn failing_allocations_lose_no_wakeup() {
    for (first, last) in [(1, 50), (10, 3000), (100, 101)] {
        for log_size in [1, 3, 5] {
            let mut options = options().with_rings(1, log_size, 1);
            options.pacing = Pacing::Fixed { gap_ps: 20_000_000 };
            options.fail_allocs = Some(FailPlan { first, last });
            let (_, report) = clean(&options);
            assert!(report.failed_allocs > 0, "{report:?}");
        }
    }
}

#[test]
fn wire_faults_are_not_the_house_s() {
    let rate = 20_000;
    let faults = FaultRates {
        loss_ppm: rate,
        duplicate_ppm: rate,
        corrupt_ppm: rate,
        reorder_ppm: rate,
        truncate_ppm: rate,
    };
    let options = TimedOptions { faults, ..options().with_rings(4, 10, 4) };
    let (packets, report) = clean(&options);
    assert_eq!(report.frames_in, packets - report.wire.lost + report.wire.duplicated);
    assert!(report.wire.lost > 0 && report.wire.reordered > 0, "{report:?}");
}

#[test]
fn a_seed_gives_one_run_and_another_seed_another() {
    let faults = FaultRates { loss_ppm: 50_000, corrupt_ppm: 50_000, ..FaultRates::default() };
    let run = |seed, faults| {
        let options = TimedOptions { faults, seed, ..options().with_rings(4, 4, 2) };
        let judged = run_judged(udp(2000, 8, 60), &options);
        (judged.outcome.expect("a report"), judged.events, judged.events_hash)
    };
    assert_eq!(run(1, faults), run(1, faults));
    assert_ne!(run(1, faults).2, run(2, faults).2);
    assert_eq!(run(1, FaultRates::default()), run(2, FaultRates::default()));
}

#[test]
fn a_run_with_rules_counts_as_one_without() {
    let options = options().with_rings(2, 5, 2);
    let judged = run_judged(udp(3000, 8, 60), &options).outcome;
    assert_eq!(judged, pollproof_bench::timed::run_frames(udp(3000, 8, 60), &options));
}

#[test]
fn an_overloaded_cpu_polls_and_squeezes() {
    for rings in [1, 8] {
        let options = options().with_rings(rings, 8, 1);
        let judged = run_judged(udp(30_000, 64, 60), &options);
        assert_eq!(judged.findings, []);
        let report = judged.outcome.expect("a report");
        assert!(report.full_polls > 30 && report.interrupts < 40, "{report:?}");
        assert!(report.drops.contains_key("rx_out_of_buffer"), "{report:?}");
        // One context alone is polled once a pass: it never uses the softirq's budget.
        assert_eq!(report.time_squeezes > 5, rings > 1, "{report:?}");
    }
}

#[test]
fn a_run_stops_at_its_time_and_goes_on_step_by_step() {
    let stopped = TimedOptions { stop_at_ps: Some(3_000_000), ..options() };
    let judged = run_judged(udp(2000, 4, 60), &stopped);
    assert_eq!(judged.findings, []);
    let report = judged.outcome.expect("a report");
    assert_eq!(report.ended, Ended::Stopped);
    assert!(report.frames_in < 2000 && report.is_conserved(), "{report:?}");
    let mut house = TimedHouse::open(&options()).expect("a house");
    house.send(udp(100, 1, 60));
    let arrived = |h: &TimedHouse| h.net().ledger.packets() >= 10;
    assert_eq!(house.step_until(arrived), Ok(true));
    assert!(house.now_ps() > 0);
    assert_eq!(house.step_until(|h| h.net().ledger.packets() > 100), Ok(false));
}

#[test]
fn absurd_options_are_refused() {
    let mut none = options();
    none.net.cpus = 0;
    let mut threaded = options();
    threaded.nic.threaded = true;
    let mut rings = options();
    rings.nic.rings = 3;
    let mut vector = options();
    vector.nic.first_vector = u32::MAX;
    for options in [none, threaded, rings, vector] {
        assert!(TimedHouse::open(&options).is_err());
    }
    let few = TimedOptions { max_events: 10, ..options() };
    assert!(run_judged(udp(100, 1, 60), &few).outcome.is_err());
    assert!(run_capture(Path::new("/nonexistent"), &options()).is_err());
}

#[test]
fn completing_after_a_whole_budget_is_caught() {
    let judged = bugged("C-1", udp(2000, 1, 60), &options());
    assert!(judged.breaks("NAPI-BUDGET"), "{:?}", judged.findings);
}

#[test]
fn reporting_nothing_after_real_work_is_caught() {
    let away = AffinityMove { at_ps: 20_000_000, vector: 1, cpu: 1 };
    let options = TimedOptions { affinity_moves: vec![away], ..options().with_rings(1, 10, 2) };
    let judged = bugged("C-26", udp(2000, 1, 60), &options);
    assert!(judged.breaks("HONEST-WORK"), "{:?}", judged.findings);
}

#[test]
fn a_wrong_lap_is_caught() {
    let mut options = options().with_rings(1, 3, 1);
    options.max_events = 100_000;
    options.pacing = Pacing::Fixed { gap_ps: 5_000_000 };
    let judged = bugged("F-9", udp(40, 1, 60), &options);
    assert!(judged.breaks("VALID-BEFORE-USE"), "{:?}", judged.findings);
    assert!(judged.breaks("PACKET-CONSERVATION"), "{:?}", judged.findings);
}

#[test]
fn a_ring_that_runs_dry_is_caught() {
    let mut options = options().with_rings(1, 2, 1);
    options.fail_allocs = Some(FailPlan { first: 1, last: 8 });
    options.pacing = Pacing::Fixed { gap_ps: 5_000_000 };
    let judged = bugged("F-15", udp(40, 1, 60), &options);
    assert!(judged.breaks("NO-LOST-WORK"), "{:?}", judged.findings);
}
