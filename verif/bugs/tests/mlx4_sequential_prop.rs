//! The whole house without an engine: random frames, doorbells, interrupts, softirqs, netpolls,
//! affinity changes, timers and failing allocations, in any order but one at a time.
//!
//! An engine tries every order of a short program; this tries long ones: rings wrap many times.
//! What it can not see is what two CPUs do at once; the table at the end says which bugs those are.

mod common;

use pollproof_bench::explored::{frame, Mlx4Scene as Scene, SceneOptions};
use pollproof_events::record;
use pollproof_hostmem::FailPlan;
use pollproof_kapi::Timer;
use pollproof_mlx4::{ArmForm, PollEndForm, FIRST_OOM_TIMER};
use pollproof_netcore::Era;
use pollproof_rules::Judge;
use pollproof_sync::cpu;
use pollproof_sync::switch::{take_faults, with_bug};
use proptest::prelude::*;
use std::collections::BTreeSet;

const CPUS: u32 = 2;
/// Rounds after which a house that is left alone must be at rest.
const ROUNDS_MAX: u32 = 200;

#[derive(Clone, Copy, Debug)]
enum Op {
    Frame(u8),
    Settle,
    Interrupts(u32),
    Softirq(u32),
    Netpoll(u32),
    Affinity(u32),
    /// So many allocations fail from now on.
    FailAllocs(u64),
    Timers,
}

#[derive(Clone, Debug)]
struct Case {
    era: Era,
    poll_end: PollEndForm,
    arm: ArmForm,
    log_ring: u32,
    log_rings: u32,
    stride: u32,
    weight: i32,
    budget: i32,
    refill_min: u32,
    mask_vector: bool,
    busy_poll_lock: bool,
    defer: u32,
    stop: bool,
    ops: Vec<Op>,
}

/// The forms that are correct. The older ones report 0 when they leave for another CPU, which is
/// C-26, so there the affinity stays; and they arm without asking, which only 3.18 allows.
fn forms() -> impl Strategy<Value = (Era, PollEndForm)> {
    prop_oneof![
        3 => Just((Era::V6_12, PollEndForm::V6_12)),
        1 => Just((Era::V3_18, PollEndForm::V6_12)),
        1 => Just((Era::V3_18, PollEndForm::Restored)),
        1 => Just((Era::V3_18, PollEndForm::Before)),
    ]
}

fn op(moves: bool) -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..3u8).prop_map(Op::Frame),
        6 => Just(Op::Settle),
        5 => (0..CPUS).prop_map(Op::Interrupts),
        5 => (0..CPUS).prop_map(Op::Softirq),
        1 => (0..CPUS).prop_map(Op::Netpoll),
        2 => (0..CPUS).prop_map(move |cpu| Op::Affinity(if moves { cpu } else { 0 })),
        1 => (1..12u64).prop_map(Op::FailAllocs),
        2 => Just(Op::Timers),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let arm = prop_oneof![Just(ArmForm::Doorbell), Just(ArmForm::RecordAndRecheck)];
    let ring = (0..4u32, 0..2u32, prop_oneof![Just(32u32), Just(64u32)], 1..5u32);
    let budgets = (1..6i32, prop_oneof![Just(300), 1..8i32]);
    let flags = (any::<bool>(), any::<bool>(), 0..3u32, any::<bool>());
    (forms(), arm, ring, budgets, flags).prop_flat_map(|(forms, arm, ring, budgets, flags)| {
        let (log_ring, log_rings, stride, refill_min) = ring;
        let (mask_vector, busy_poll_lock, defer, stop) = flags;
        let moves = forms.1 == PollEndForm::V6_12;
        prop::collection::vec(op(moves), 1..120).prop_map(move |ops| Case {
            era: forms.0,
            poll_end: forms.1,
            arm,
            log_ring,
            log_rings,
            stride,
            weight: budgets.0,
            budget: budgets.1,
            refill_min,
            mask_vector,
            busy_poll_lock,
            defer,
            stop,
            ops,
        })
    })
}

fn open(case: &Case) -> Scene {
    let mut options = SceneOptions::small(CPUS, case.log_ring);
    options.net.era = case.era;
    options.net.netdev_budget = case.budget;
    options.net.napi_defer_hard_irqs = case.defer;
    options.net.gro_flush_timeout_ns = if case.defer > 0 { 1_000 } else { 0 };
    options.nic.rings = 1 << case.log_rings;
    options.nic.cqe_stride_bytes = case.stride;
    options.nic.weight = case.weight;
    options.nic.refill_min = case.refill_min;
    options.nic.poll_end = case.poll_end;
    options.nic.arm = case.arm;
    options.nic.mask_vector = case.mask_vector;
    options.nic.busy_poll_lock = case.busy_poll_lock;
    options.bufs *= options.nic.rings;
    options.posted_max = 800;
    Scene::open(&options)
}

/// One operation; `number` counts frames.
fn apply(scene: &Scene, op: Op, number: &mut u64) {
    match op {
        Op::Frame(flow) => {
            // Arms by record do not queue up behind the EQ's doorbell: were that late by a whole
            // EQ, the EQ would overrun. Arms by doorbell keep their order.
            if scene.port.options.arm == ArmForm::RecordAndRecheck {
                scene.device.settle();
            }
            scene.device.run_wire(vec![frame(*number, flow)]);
            *number += 1;
        }
        Op::Settle => scene.device.settle(),
        Op::Interrupts(cpu) => on(cpu, || scene.take_interrupts(cpu)),
        Op::Softirq(cpu) => on(cpu, || {
            scene.net.do_softirq();
        }),
        Op::Netpoll(cpu) => on(cpu, || {
            for napi in scene.port.queues().iter().filter_map(|q| q.napi()) {
                scene.net.netpoll_poll_one(napi);
            }
        }),
        Op::Affinity(cpu) => (1..=2).for_each(|vector| scene.host.set_affinity(vector, cpu)),
        Op::FailAllocs(count) => {
            let counters = scene.host.mem.counters();
            let first = counters.allocs + counters.failed + 1;
            scene.host.mem.set_fail_allocs(Some(FailPlan { first, last: first + count - 1 }));
        }
        Op::Timers => {
            fire_timers(scene);
        }
    }
}

fn on(cpu: u32, body: impl FnOnce()) {
    cpu::begin(cpu);
    body();
}

/// Fires every timer that is armed, on CPU 0; whether there was one.
fn fire_timers(scene: &Scene) -> bool {
    cpu::begin(0);
    let mut fired = false;
    for queue in scene.port.queues() {
        if scene.host.cancel(FIRST_OOM_TIMER + queue.index) {
            cpu::in_softirq(|| queue.recover_from_oom());
            fired = true;
        }
        if let Some(napi) = queue.napi().filter(|napi| scene.host.cancel(napi.slot)) {
            cpu::in_softirq(|| scene.net.napi_watchdog(napi.slot));
            fired = true;
        }
    }
    fired
}

/// Lets everything run that is on its way; whether it came to rest.
fn come_to_rest(scene: &Scene) -> bool {
    for _ in 0..ROUNDS_MAX {
        scene.device.settle();
        let mut busy = fire_timers(scene);
        for cpu in 0..CPUS {
            cpu::begin(cpu);
            busy |= scene.interrupt_pending(cpu) || scene.net.softirq_pending();
            scene.take_interrupts(cpu);
            scene.net.do_softirq();
        }
        if !busy {
            scene.device.settle();
            return !(0..CPUS).any(|cpu| scene.interrupt_pending(cpu));
        }
    }
    false
}

/// Runs a case; gives the rules that were broken, with what they say.
fn broken(case: &Case) -> Vec<(&'static str, String)> {
    cpu::begin(0);
    let _ = take_faults();
    let (rested, records) = record(|| {
        let scene = open(case);
        let mut number = 0;
        case.ops.iter().for_each(|op| apply(&scene, *op, &mut number));
        scene.host.mem.set_fail_allocs(None);
        let rested = come_to_rest(&scene);
        scene.emit_rest(false);
        if case.stop && rested {
            cpu::begin(0);
            scene.port.stop_port();
        }
        rested
    });
    let mut broken: Vec<_> =
        Judge::of(&records).findings().iter().map(|f| (f.rule, f.message.clone())).collect();
    broken.extend(take_faults().into_iter().map(|f| (f.rule, f.what)));
    if !rested {
        broken.push(("DEADLOCK", "the house does not come to rest".into()));
    }
    broken
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn all_rules_hold_in_any_sequence(case in case()) {
        prop_assert_eq!(broken(&case), vec![]);
    }
}

/// Rules that a case breaks while a documented bug is on.
fn rules_broken(bug: &'static str, case: &Case) -> BTreeSet<&'static str> {
    with_bug(bug, || broken(case)).into_iter().map(|(rule, _)| rule).collect()
}

/// Bugs of the port that need no second CPU at the same time, with the rule that finds them.
const SEEN: &[(&str, &str)] = &[
    ("ARM-NO-RECHECK", "NO-LOST-WORK"),
    ("B-1", "CONTEXT"),
    ("C-1", "NAPI-BUDGET"),
    ("C-2", "NAPI-BUDGET"),
    ("C-26", "HONEST-WORK"),
    ("F-9", "VALID-BEFORE-USE"),
    ("F-15", "NO-LOST-WORK"),
];

/// Bugs that show only between two steps of different agents, or in another memory model.
const UNSEEN: &[&str] = &["", "ARM-NO-MB", "C-18", "E-1", "F-1"];

#[test]
fn sequential_bugs_are_found_by_their_rules() {
    for (bug, rule) in SEEN {
        let finds = |case| assert!(!rules_broken(bug, &case).contains(rule));
        assert!(common::any_case(400, &case(), finds), "{bug} does not break {rule}");
    }
}

#[test]
fn bugs_of_order_need_an_engine() {
    for bug in UNSEEN {
        let finds = |case| assert_eq!(rules_broken(bug, &case), BTreeSet::new(), "{bug}");
        assert!(!common::any_case(200, &case(), finds), "{bug} is found");
    }
}
