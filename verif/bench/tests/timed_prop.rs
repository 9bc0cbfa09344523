//! Properties of timed runs: whatever the options and frames, rules and conservation hold.

use pollproof_bench::timed::{
    run_frames, run_judged, AffinityMove, CpuCosts, Ended, TimedHouse, TimedOptions,
};
use pollproof_events::record;
use pollproof_hostmem::FailPlan;
use pollproof_mlx4::{ArmForm, PollEndForm};
use pollproof_netcore::Era;
use pollproof_wire::{FaultRates, Pacing, Packet};
use proptest::prelude::*;
use std::sync::Arc;

/// A frame of a flow; also frames that are no IP, too short, too long for a buffer or the wire.
fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let len =
        prop_oneof![8 => 60..128_usize, 2 => 0..60_usize, 1 => 1500..2100_usize, 1 => Just(9700)];
    let one = (0..6_u8, len, 0..3_000_u64).prop_map(|(flow, len, gap_ns)| {
        let mut bytes = Vec::new();
        if flow > 0 {
            let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6])
                .ipv4([10, 0, 0, flow], [10, 0, 1, 1], 64)
                .udp(1000, 9);
            builder.write(&mut bytes, &[flow; 16]).expect("a packet");
        }
        bytes.resize(len, flow);
        (gap_ns, Arc::from(bytes))
    });
    prop::collection::vec(one, 0..400).prop_map(|all| {
        let mut time_ns = 0;
        let packet = |(gap_ns, bytes)| {
            time_ns += gap_ns;
            Packet { time_ns, bytes }
        };
        all.into_iter().map(packet).collect()
    })
}

fn pacing() -> impl Strategy<Value = Pacing> {
    prop_oneof![
        Just(Pacing::AsCaptured),
        Just(Pacing::LineRate { bits_per_s: pollproof_wire::FORTY_GIGABIT }),
        (0..3_000_000_u64).prop_map(|gap_ps| Pacing::Fixed { gap_ps }),
    ]
}

fn costs() -> impl Strategy<Value = CpuCosts> {
    prop_oneof![
        Just(CpuCosts::zero()),
        Just(CpuCosts::default()),
        (0..5_000_u64, 0..5_000_u64, 0..5_000_u64).prop_map(|(irq_ns, poll_ns, packet_ns)| {
            CpuCosts { irq_ns, poll_ns, packet_ns, ..CpuCosts::default() }
        }),
    ]
}

fn faults() -> impl Strategy<Value = FaultRates> {
    let rate = || prop_oneof![Just(0), 0..200_000_u64];
    (rate(), rate(), rate(), rate(), rate()).prop_map(|(loss, duplicate, corrupt, reorder, cut)| {
        FaultRates {
            loss_ppm: loss,
            duplicate_ppm: duplicate,
            corrupt_ppm: corrupt,
            reorder_ppm: reorder,
            truncate_ppm: cut,
        }
    })
}

/// Frames without a time would wait for ever for their fellows, which is what was asked for.
fn moderation() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![Just((0, 0)), Just((1, 0)), (0..64_u32, 1..40_u32)]
}

fn shape(options: &mut TimedOptions) -> impl Strategy<Value = TimedOptions> {
    let options = options.clone();
    let ring = (0..4_u32, 1..7_u32, 1..5_u32, any::<bool>(), 0..16_u32);
    let core = (1..70_i32, 1..400_i32, 0..100_u64, 0..3_u32, 0..50_000_u64);
    (ring, core, moderation(), any::<bool>()).prop_map(
        move |((log_rings, log_size, cpus, wide, refill), core, moderation, mask)| {
            let mut options = options.clone().with_rings(1 << log_rings, log_size, cpus);
            let (weight, budget, budget_us, defer, timeout_ns) = core;
            options.nic.cqe_stride_bytes = if wide { 64 } else { 32 };
            options.nic.refill_min = refill;
            options.nic.weight = weight;
            options.nic.mask_vector = mask;
            (options.nic.rx_frames, options.nic.rx_usecs) = moderation;
            options.net.netdev_budget = budget;
            options.net.netdev_budget_usecs = budget_us;
            options.net.napi_defer_hard_irqs = defer;
            options.net.gro_flush_timeout_ns = timeout_ns;
            options
        },
    )
}

fn options() -> impl Strategy<Value = TimedOptions> {
    let base = TimedOptions { max_events: 2_000_000, ..TimedOptions::default() };
    let fail = prop::option::of((1..300_u64, 0..300_u64));
    let moves = prop::collection::vec((0..400_000_000_u64, 1..9_u32, 0..4_u32), 0..3);
    let world = (pacing(), costs(), faults(), fail, moves, any::<u64>(), any::<bool>());
    (shape(&mut base.clone()), world).prop_map(|(mut options, world)| {
        let (pacing, costs, faults, fail, moves, seed, zero) = world;
        options.pacing = pacing;
        options.faults = faults;
        options.seed = seed;
        if zero {
            options = options.without_latencies();
        }
        options.costs = costs;
        options.fail_allocs = fail.map(|(first, more)| FailPlan { first, last: first + more });
        let to_move = |(at_ps, vector, cpu)| AffinityMove { at_ps, vector, cpu };
        options.affinity_moves = moves.into_iter().map(to_move).collect();
        options
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150,
                                        ..ProptestConfig::default() })]

    #[test]
    fn rules_and_conservation_hold(packets in packets(), options in options()) {
        let judged = run_judged(packets.iter().cloned(), &options);
        prop_assert_eq!(&judged.findings, &vec![]);
        let report = judged.outcome.expect("a report");
        prop_assert!(report.is_conserved(), "{:?}", report);
        prop_assert_eq!((report.ended, report.held), (Ended::Drained, 0));
        prop_assert_eq!(report.offered, packets.len() as u64);
        let wire = report.wire;
        prop_assert_eq!(report.frames_in, report.offered - wire.lost + wire.duplicated);
        prop_assert_eq!(run_frames(packets, &options), Ok(report));
    }

    #[test]
    fn older_forms_hold_in_their_kernel(packets in packets(), options in options()) {
        let mut old = options.clone();
        old.net.era = Era::V3_18;
        old.nic.poll_end = PollEndForm::Before;
        // Two jiffies, not to be chosen before 4.12; with none at all it would never poll.
        old.net.netdev_budget_usecs = 2_000;
        // Moving an interrupt makes that form report nothing after work: C-26.
        old.affinity_moves.clear();
        let judged = run_judged(packets.iter().cloned(), &old);
        prop_assert_eq!(&judged.findings, &vec![]);
        prop_assert!(judged.outcome.expect("a report").is_conserved());
        let mut record = options;
        record.nic.arm = ArmForm::RecordAndRecheck;
        (record.nic.rx_frames, record.nic.rx_usecs) = (0, 0);
        let judged = run_judged(packets, &record);
        prop_assert_eq!(&judged.findings, &vec![]);
        prop_assert!(judged.outcome.expect("a report").is_conserved());
    }

    #[test]
    fn a_run_that_stops_is_conserved(packets in packets(), mut options in options(),
                                     stop_ps in 0..300_000_000_u64) {
        options.stop_at_ps = Some(stop_ps);
        let judged = run_judged(packets, &options);
        prop_assert_eq!(&judged.findings, &vec![]);
        prop_assert!(judged.outcome.expect("a report").is_conserved());
    }

    #[test]
    fn any_limit_of_steps_ends_a_run(packets in packets(), mut options in options(),
                                     limit in 0..3_000_u64) {
        options.max_events = limit;
        match run_judged(packets, &options).outcome {
            Ok(report) => prop_assert!(report.steps <= limit),
            Err(error) => prop_assert!(error.to_string().contains("steps"), "{}", error),
        }
    }
}

/// `n` completions wait before the first poll: nothing takes time but moderation, which fires when
/// the last has come.
fn ready(n: u32) -> (Vec<Packet>, TimedOptions) {
    let mut options = TimedOptions::default().with_rings(1, 8, 1).without_latencies();
    options.pacing = Pacing::Fixed { gap_ps: 1000 };
    (options.nic.rx_frames, options.nic.rx_usecs) = (n, 60_000);
    let packet = |n: u32| Packet { time_ns: n.into(), bytes: Arc::from(vec![n as u8; 60]) };
    ((0..n).map(packet).collect(), options)
}

#[test]
fn every_weight_and_budget_against_ready_completions() {
    for n in [1_u32, 2, 3, 8, 63, 64, 65] {
        for weight in [1, n.saturating_sub(1), n, n + 1] {
            for budget in [1, n.saturating_sub(1), n, n + 1] {
                let (packets, mut options) = ready(n);
                options.nic.weight = weight.max(1) as i32;
                options.net.netdev_budget = budget.max(1) as i32;
                let judged = run_judged(packets, &options);
                assert_eq!(judged.findings, [], "{n} {weight} {budget}");
                let report = judged.outcome.expect("a report");
                let weight = u64::from(weight.max(1));
                assert_eq!(report.delivered, u64::from(n));
                assert_eq!(report.full_polls, u64::from(n) / weight, "{n} {weight} {report:?}");
                assert_eq!(report.polls, report.full_polls + 1, "{n} {weight} {report:?}");
                assert_eq!(report.interrupts, 1);
            }
        }
    }
}

#[test]
fn times_do_not_go_back_on_one_cpu() {
    let (_, records) = record(|| {
        let mut house = TimedHouse::open(&TimedOptions::default()).expect("a house");
        let packet = |n: u64| Packet { time_ns: n, bytes: Arc::from(vec![n as u8; 60]) };
        house.send((0..500).map(packet));
        house.finish().expect("a report")
    });
    assert!(records.len() > 5000);
    assert!(records.windows(2).all(|w| w[0].time_ps <= w[1].time_ps));
}
