//! One ixgbe port with its 82599, interrupts and CPUs as agents: receiving. Busy polling, the
//! control path and sending have files of their own.

use super::macros::scenario;
use super::{EXPLORE, GRAPHS};
use pollproof_bench::explored::{frame, frames, IxgbeScene as Scene, SceneOptions, DEVICE_CPU};
use pollproof_bench::scenario::Scenario;
use pollproof_ixgbe::Adapter;

pub(super) type Options = SceneOptions<Adapter>;

/// Flows that the hash sends to either of two queues, by Linux's key of our runs.
const OF_QUEUE_0: u8 = 8;
const OF_QUEUE_1: u8 = 1;

/// For the control path, whose register accesses are dozens: none is delayed.
pub(super) fn at_once(mut options: Options) -> Options {
    options.delays = false;
    options
}

/// One CPU, `count` frames, of which a poll takes one.
fn receive(count: u64) {
    let mut options = Options::tiny(1);
    options.nic.weight = 1;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.wire(frames(count, 1));
    scene.finish();
}

/// Frames come in and are polled before anything runs beside them, each to its end.
fn receive_one_by_one(scene: &Scene, count: u64) {
    for number in 0..count {
        scene.device.run_wire(vec![frame(number, 1)]);
        scene.take_interrupts(0);
        while scene.net.do_softirq() {}
        scene.device.settle();
    }
}

/// A poll that may take two has two; a third comes while it ends.
fn full_budget() {
    let mut scene = Scene::open(&Options::tiny(1));
    scene.device.run_wire(frames(2, 1));
    scene.start([0]);
    scene.wire(vec![frame(2, 1)]);
    scene.finish();
}

/// The vector has moved to another CPU when a frame comes in during the poll of another.
fn affinity() {
    let mut scene = Scene::open(&Options::tiny(2));
    scene.device.run_wire(frames(1, 1));
    scene.host.set_affinity(0, 1);
    scene.start([0, 1]);
    scene.wire(vec![frame(1, 1)]);
    scene.finish();
}

/// Frames go through a ring of eight one by one, then two more come: its words are used again.
fn wrap() {
    let mut options = Options::tiny(1);
    options.posted_max = 64;
    let mut scene = Scene::open(&options);
    receive_one_by_one(&scene, 7);
    scene.start([0]);
    scene.wire(vec![frame(7, 1), frame(8, 1)]);
    scene.finish();
}

/// The device writes a descriptor back while a poll, which an earlier frame caused, looks at it.
fn write_back() {
    let scene = Scene::open(&Options::tiny(1));
    scene.device.run_wire(vec![frame(0, 1)]);
    scene.take_interrupts(0);
    let device = scene.device.clone();
    let wire = pollproof_sync::thread::spawn(DEVICE_CPU, move || {
        device.run_wire(vec![frame(1, 1)]);
    });
    while scene.net.do_softirq() {}
    wire.join();
    scene.device.settle();
    let coming = scene.interrupt_pending(0);
    scene.emit_rest(coming);
}

/// A frame that needs two descriptors, then a small one.
fn chain() {
    let mut options = Options::tiny(1);
    options.nic.max_frame = 2000;
    options.nic.weight = 1;
    let mut scene = Scene::open(&options);
    let mut bytes = frame(0, 1).bytes.to_vec();
    bytes.resize(1500, 7);
    scene.start([0]);
    scene.wire(vec![pollproof_wire::Frame::new(0, bytes.into()), frame(1, 1)]);
    scene.finish();
}

/// Memory runs out: the ring is refilled when a later poll finds some.
fn oom() {
    let mut options = Options::tiny(1);
    options.fail_allocs = Some(pollproof_hostmem::FailPlan { first: 0, last: 0 });
    options.net.rcv_queue = 2;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.wire(frames(2, 1));
    scene.finish();
}

/// Two queues share a vector and its budget.
fn shared_vector() {
    let mut options = Options::tiny(1);
    (options.nic.queues, options.nic.vectors) = (2, 1);
    options.nic.rss_udp = true;
    options.bufs = 40;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.wire(vec![frame(0, OF_QUEUE_0), frame(1, OF_QUEUE_1)]);
    scene.finish();
}

/// Nobody takes the frames of one queue, and those of another come behind them.
fn stalled_queue() {
    let mut options = Options::tiny(2);
    (options.nic.queues, options.nic.vectors) = (2, 2);
    options.nic.rss_udp = true;
    options.bufs = 40;
    let scene = Scene::open(&options);
    scene.host.set_affinity(1, 1);
    // The second queue's CPU is busy elsewhere for good.
    for number in 0..8 {
        scene.device.run_wire(vec![frame(number, OF_QUEUE_1)]);
    }
    scene.device.run_wire(vec![frame(9, OF_QUEUE_0)]);
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    scene.device.settle();
    scene.emit_rest(true);
}

/// A socket that nobody reads keeps its first packet, and what comes later is dropped there: pages
/// come round the ring while half of them is read.
fn page_reuse() {
    let mut options = Options::tiny(1);
    options.posted_max = 96;
    (options.net.rcv_queue, options.net.rcv_full_drops) = (1, true);
    let scene = Scene::open(&options);
    receive_one_by_one(&scene, 20);
    scene.emit_rest(false);
}

/// A socket's packet is read on another CPU while the other half of its page comes round the ring.
fn page_reader() {
    let mut options = Options::tiny(2);
    options.posted_max = 64;
    options.net.keep = pollproof_netcore::Keep::Bytes;
    (options.net.rcv_queue, options.net.rcv_full_drops) = (1, true);
    let mut scene = Scene::open(&options);
    receive_one_by_one(&scene, 7);
    scene.device.run_wire(vec![frame(7, 1)]);
    scene.start([0]);
    scene.actor(1, |net, _| net.read_sockets());
    scene.finish();
}

/// The interval of the vector runs; two frames come in, for one interrupt and two polls.
fn moderation() {
    let mut options = Options::tiny(1);
    options.nic.itr = pollproof_ixgbe::ItrSetting::Usecs(50);
    options.nic.weight = 1;
    let mut scene = Scene::open(&options);
    receive_one_by_one(&scene, 1);
    scene.start([0]);
    scene.period_passes();
    scene.wire(vec![frame(1, 1), frame(2, 1)]);
    scene.finish();
}

pub(super) const RECEIVED: &[(&str, &str)] = &[
    ("NO-LOST-WORK", "rest"),
    ("PACKET-CONSERVATION", "delivered"),
    ("RING-ARITHMETIC", "refilled"),
    ("VALID-BEFORE-USE", "consumed"),
    ("MASKED-WHILE-OWNED", "scheduled"),
    ("CAUSE-LEDGER", "rest"),
    ("RING-TAIL", "receive"),
];

scenario!(
    IXGBE_RX,
    "ixgbe/rx",
    EXPLORE,
    4,
    || receive(2),
    RECEIVED,
    "Two frames come in while their CPU takes interrupts, polls and enables the interrupt again."
);
scenario!(
    IXGBE_FULL_BUDGET,
    "ixgbe/full-budget",
    EXPLORE,
    4,
    full_budget,
    &[("NAPI-BUDGET", "full-budget"), ("NAPI-BUDGET", "completed"), ("NO-LOST-WORK", "rest")],
    "A poll uses its whole budget while a third frame comes in."
);
scenario!(
    IXGBE_AFFINITY,
    "ixgbe/affinity",
    GRAPHS,
    5,
    affinity,
    RECEIVED,
    "A frame comes in, for another CPU, while the one before is polled."
);
scenario!(
    IXGBE_WRAP,
    "ixgbe/wrap",
    EXPLORE,
    4,
    wrap,
    RECEIVED,
    "Two frames come in where the ring of eight begins again."
);
scenario!(
    IXGBE_WRITE_BACK,
    "ixgbe/write-back",
    GRAPHS,
    2,
    write_back,
    &[("VALID-BEFORE-USE", "consumed")],
    "A descriptor is written back while a poll reads its words."
);
scenario!(
    IXGBE_CHAIN,
    "ixgbe/chain",
    EXPLORE,
    4,
    chain,
    RECEIVED,
    "A frame of two descriptors and a small one come in."
);
scenario!(
    IXGBE_OOM,
    "ixgbe/oom",
    EXPLORE,
    4,
    oom,
    RECEIVED,
    "A page can not be had while its ring is refilled."
);
scenario!(
    IXGBE_SHARED_VECTOR,
    "ixgbe/shared-vector",
    EXPLORE,
    4,
    shared_vector,
    RECEIVED,
    "Two queues share one vector and its budget."
);
scenario!(
    IXGBE_STALLED_QUEUE,
    "ixgbe/stalled-queue",
    GRAPHS,
    1,
    stalled_queue,
    &[("QUEUE-ISOLATION", "rest"), ("PACKET-CONSERVATION", "delivered")],
    "Nobody takes the frames of one queue, and those of another come behind them."
);
scenario!(
    IXGBE_MODERATION,
    "ixgbe/moderation",
    EXPLORE,
    5,
    moderation,
    RECEIVED,
    "An interval of 50 us holds interrupts back; it may end at any time."
);

scenario!(
    IXGBE_PAGE_REUSE,
    "ixgbe/page-reuse",
    GRAPHS,
    1,
    page_reuse,
    &[("PACKET-CONSERVATION", "delivered"), ("RING-TAIL", "receive")],
    "Pages come round the ring while a socket still has half of one."
);

scenario!(
    IXGBE_PAGE_READER,
    "ixgbe/page-reader",
    GRAPHS,
    4,
    page_reader,
    &[("PACKET-CONSERVATION", "delivered"), ("RING-TAIL", "receive")],
    "A packet is read on another CPU while the other half of its page is handed up."
);

/// All of them.
pub const ALL: &[&Scenario] = &[
    &IXGBE_RX,
    &IXGBE_FULL_BUDGET,
    &IXGBE_AFFINITY,
    &IXGBE_WRAP,
    &IXGBE_WRITE_BACK,
    &IXGBE_CHAIN,
    &IXGBE_OOM,
    &IXGBE_SHARED_VECTOR,
    &IXGBE_STALLED_QUEUE,
    &IXGBE_MODERATION,
    &IXGBE_PAGE_REUSE,
    &IXGBE_PAGE_READER,
];
