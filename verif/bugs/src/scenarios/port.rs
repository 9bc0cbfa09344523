//! One mlx4 port with its device, interrupts and CPUs as agents.

use super::macros::scenario;
use super::EXPLORE;
use pollproof_bench::explored::{frame, frames, start_port, Scene, SceneOptions, DEVICE_CPU};
use pollproof_bench::scenario::Scenario;
use pollproof_hostmem::FailPlan;
use pollproof_mlx4::PollEndForm;
use pollproof_netcore::Era;

/// One CPU, `count` frames into a ring of two.
fn receive(count: u64) {
    let mut scene = Scene::open(&SceneOptions::small(1, 1));
    scene.start([0]);
    scene.wire(frames(count, 1));
    scene.finish();
}

/// Both frames are there before the poll starts: it uses its whole budget.
fn full_budget() {
    let mut scene = Scene::open(&SceneOptions::small(1, 2));
    scene.device.run_wire(frames(2, 1));
    scene.start([0]);
    scene.wire(vec![frame(2, 1)]);
    scene.finish();
}

/// The vector's affinity moves to CPU 1 while CPU 0 has a full budget of work.
fn affinity() {
    let mut scene = Scene::open(&SceneOptions::small(2, 1));
    scene.device.run_wire(frames(2, 1));
    let host = scene.host.clone();
    scene.start([0, 1]);
    scene.actor(DEVICE_CPU, move |_, _| host.set_affinity(1, 1));
    scene.wire(vec![frame(2, 1)]);
    scene.finish();
}

/// The port is closed while a frame comes in.
fn stop() {
    let mut scene = Scene::open(&SceneOptions::small(2, 0));
    scene.start([0]);
    scene.actor(1, |_, port| port.stop_port());
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The port is closed while its kthread polls.
fn stop_threaded() {
    let mut options = SceneOptions::small(3, 0);
    options.nic.threaded = true;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.start_kthread(2);
    scene.actor(1, |_, port| port.stop_port());
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The port is opened on one CPU; the interrupt comes on another, and a socket polls on a third.
fn open() {
    let mut options = SceneOptions::small(3, 0);
    options.nic.busy_poll_lock = true;
    let mut scene = Scene::build(&options);
    scene.start([0]);
    scene.actor(1, |_, port| start_port(port));
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The port is opened on one CPU while a socket on another polls by an id that it has from before.
fn open_busy_poll() {
    let mut options = SceneOptions::small(2, 0);
    options.nic.busy_poll_lock = true;
    let mut scene = Scene::build(&options);
    scene.actor(1, |_, port| start_port(port));
    scene.actor(0, |net, _| {
        net.ll_poll_once(1, 0);
    });
    scene.finish();
}

/// Refill fails until the ring is empty.
fn oom() {
    let mut options = SceneOptions::small(1, 0);
    options.fail_allocs = Some(FailPlan { first: 2, last: 3 });
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.start_timers();
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The interrupt is deferred to a timer, which fires on another CPU than the last poll's.
fn timer() {
    let mut options = SceneOptions::small(2, 1);
    options.net.gro_flush_timeout_ns = 1_000;
    options.net.napi_defer_hard_irqs = 1;
    let mut scene = Scene::open(&options);
    scene.host.set_affinity(1, 1);
    scene.start([0, 1]);
    scene.start_timers();
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The port is closed after memory ran out: what is left in the ring is not there.
fn oom_stop() {
    let mut options = SceneOptions::small(2, 0);
    options.fail_allocs = Some(FailPlan { first: 2, last: 4 });
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.actor(1, |_, port| port.stop_port());
    scene.wire(frames(1, 1));
    scene.finish();
}

/// Two completions for one interrupt, or the moderation period, whichever comes first.
fn moderation() {
    let mut options = SceneOptions::small(1, 1);
    options.nic.rx_frames = 2;
    options.nic.rx_usecs = 16;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.period_passes();
    scene.wire(frames(3, 1));
    scene.finish();
}

/// netpoll looks at a queue that has work.
fn netpoll() {
    let mut scene = Scene::open(&SceneOptions::small(2, 1));
    scene.device.run_wire(frames(1, 1));
    if let Some(napi) = scene.port.queues().first().and_then(|q| q.napi()) {
        scene.net.netpoll_poll_one(napi);
    }
    scene.start([0]);
    scene.finish();
}

/// The vector is masked while a kthread on another CPU polls.
fn masked_kthread() {
    let mut options = SceneOptions::small(2, 1);
    options.nic.threaded = true;
    options.nic.mask_vector = true;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.start_kthread(1);
    scene.wire(frames(2, 1));
    scene.finish();
}

/// The port is closed while a socket polls.
fn busy_poll_stop() {
    let mut options = SceneOptions::small(2, 0);
    options.nic.busy_poll_lock = true;
    let mut scene = Scene::open(&options);
    scene.device.run_wire(frames(1, 1));
    scene.actor(1, |_, port| port.stop_port());
    scene.actor(0, |net, _| {
        net.ll_poll_once(1, 0);
    });
    scene.finish();
}

/// Two sockets poll one queue while its frames come in.
fn busy_pollers() {
    let mut options = SceneOptions::small(2, 1);
    options.nic.busy_poll_lock = true;
    let mut scene = Scene::open(&options);
    scene.wire(frames(2, 1));
    for cpu in 0..2 {
        scene.actor(cpu, |net, _| {
            net.ll_poll_once(1, 0);
        });
    }
    scene.finish();
}

/// A poll completes and still claims its whole budget, while the interrupt goes to another CPU.
fn two_lists(era: Era) {
    let mut options = SceneOptions::small(2, 1);
    options.net.era = era;
    // A context that nobody owns stays on the list of 3.18 and is looked at until the budget ends.
    options.net.netdev_budget = 3;
    options.nic.poll_end = PollEndForm::FirstCompleteDone;
    let mut scene = Scene::open(&options);
    scene.device.run_wire(frames(2, 1));
    let host = scene.host.clone();
    scene.start([0, 1]);
    scene.actor(DEVICE_CPU, move |_, _| host.set_affinity(1, 1));
    scene.wire(vec![frame(2, 1)]);
    scene.finish();
}

const RECEIVED: &[(&str, &str)] = &[
    ("NO-LOST-WORK", "rest"),
    ("PACKET-CONSERVATION", "delivered"),
    ("RING-ARITHMETIC", "refilled"),
    ("VALID-BEFORE-USE", "consumed"),
];

scenario!(
    RX,
    "mlx4/rx",
    EXPLORE,
    4,
    || receive(2),
    RECEIVED,
    "Two frames come in while their CPU takes interrupts and polls."
);
scenario!(
    WRAP,
    "mlx4/wrap",
    EXPLORE,
    4,
    || receive(3),
    RECEIVED,
    "Three frames go through a ring of two: the owner bit changes its meaning."
);
scenario!(
    FULL_BUDGET,
    "mlx4/full-budget",
    EXPLORE,
    4,
    full_budget,
    &[("NAPI-BUDGET", "full-budget"), ("NAPI-BUDGET", "completed"), ("NO-LOST-WORK", "rest")],
    "A poll uses its whole budget while a third frame comes in."
);
scenario!(
    AFFINITY,
    "mlx4/affinity",
    EXPLORE,
    6,
    affinity,
    &[("NAPI-BUDGET", "full-budget"), ("HONEST-WORK", "completed"), ("NO-LOST-WORK", "rest")],
    "The interrupt moves to another CPU while a poll uses its whole budget."
);
scenario!(
    STOP,
    "mlx4/stop",
    EXPLORE,
    5,
    stop,
    &[("DISABLE-MEANS-DISABLED", "disabled")],
    "The port is closed while a frame comes in."
);
scenario!(
    STOP_THREADED,
    "mlx4/stop-threaded",
    EXPLORE,
    6,
    stop_threaded,
    &[("DISABLE-MEANS-DISABLED", "disabled")],
    "The port is closed while its kthread polls."
);
scenario!(
    OPEN,
    "mlx4/open",
    EXPLORE,
    5,
    open,
    RECEIVED,
    "The port is opened on one CPU while its first interrupt comes on another."
);
scenario!(
    OPEN_BUSY_POLL,
    "mlx4/open-busy-poll",
    EXPLORE,
    4,
    open_busy_poll,
    &[("NAPI-ID", "found")],
    "The port is opened while a socket polls by an id that it has from before."
);
scenario!(OOM, "mlx4/oom", EXPLORE, 5, oom, RECEIVED, "Memory runs out until the ring is empty.");
scenario!(
    MODERATION,
    "mlx4/moderation",
    EXPLORE,
    5,
    moderation,
    RECEIVED,
    "Interrupts are moderated by count and by a period that may pass at any time."
);
scenario!(
    OOM_STOP,
    "mlx4/oom-stop",
    EXPLORE,
    5,
    oom_stop,
    &[("DISABLE-MEANS-DISABLED", "disabled"), ("PACKET-CONSERVATION", "delivered")],
    "The port is closed while memory has run out."
);
scenario!(
    TIMER,
    "mlx4/deferred-irq",
    EXPLORE,
    6,
    timer,
    RECEIVED,
    "The interrupt is deferred to a timer that fires on another CPU."
);
scenario!(
    NETPOLL,
    "mlx4/netpoll",
    EXPLORE,
    3,
    netpoll,
    &[("NAPI-BUDGET", "zero-budget")],
    "netpoll polls a queue that has work."
);
scenario!(
    MASKED_KTHREAD,
    "mlx4/masked-kthread",
    EXPLORE,
    5,
    masked_kthread,
    RECEIVED,
    "The vector is masked by the handler and unmasked by a kthread's poll."
);
scenario!(
    BUSY_POLL_STOP,
    "mlx4/busy-poll-stop",
    EXPLORE,
    3,
    busy_poll_stop,
    &[("DISABLE-MEANS-DISABLED", "disabled")],
    "The port is closed while a socket polls it."
);
scenario!(
    BUSY_POLLERS,
    "mlx4/busy-pollers",
    EXPLORE,
    3,
    busy_pollers,
    &[("PACKET-CONSERVATION", "delivered")],
    "Two sockets poll one queue."
);
scenario!(
    TWO_LISTS_3_18,
    "mlx4/two-lists-3.18",
    EXPLORE,
    5,
    || two_lists(Era::V3_18),
    &[],
    "Completing and returning the full budget, on the lists of 3.18."
);
scenario!(
    TWO_LISTS_6_12,
    "mlx4/two-lists-6.12",
    EXPLORE,
    5,
    || two_lists(Era::V6_12),
    &[],
    "Completing and returning the full budget, on the lists of 6.12."
);
