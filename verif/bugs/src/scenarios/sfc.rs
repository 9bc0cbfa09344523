//! One sfc port with its EF10, interrupts and CPUs as agents.

use super::gro::{Packet, Sender};
use super::macros::scenario;
use super::EXPLORE;
use pollproof_bench::explored::{frames, SceneOptions, SfcScene as Scene};
use pollproof_bench::scenario::Scenario;
use pollproof_events::{emit, sum_of, Event, SkbStep};
use pollproof_hostmem::FailPlan;
use pollproof_netcore::{GroOptions, Keep};
use pollproof_sfc::{Efx, RxForm};
use pollproof_wire::Frame;

type Options = SceneOptions<Efx>;

/// TCP frames of one flow, told with their bytes.
fn tcp(packets: &[Packet]) -> Vec<Frame> {
    let mut sender = Sender::default();
    let frame = |(number, &packet): (u64, &Packet)| {
        let mut bytes = sender.packet(1, packet);
        bytes.resize(bytes.len().max(60), 0);
        emit(Event::Skb(SkbStep::Sent { number, sum: sum_of(&bytes) }));
        Frame::new(number, bytes.into())
    };
    (0..).zip(packets).map(frame).collect()
}

fn with_gro(mut options: Options) -> Options {
    options.net.gro = Some(GroOptions::new(false, 8));
    options.net.keep = Keep::Bytes;
    options
}

/// One CPU, two frames: an event each, and the interrupt is asked for again after each poll.
fn receive() {
    let mut scene = Scene::open(&Options::eight(1));
    scene.start([0]);
    scene.wire(frames(2, 1));
    scene.finish();
}

/// A poll that may take two has two; a third comes while it ends.
fn full_budget() {
    let mut scene = Scene::open(&Options::eight(1));
    scene.device.run_wire(frames(2, 1));
    scene.start([0]);
    scene.wire(vec![frames(3, 1).swap_remove(2)]);
    scene.finish();
}

/// An event tells of two packets, or of one if time passes in between.
fn merged() {
    let mut options = Options::eight(1);
    options.device.merge_max = 2;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.period_passes();
    scene.wire(frames(3, 1));
    scene.finish();
}

/// The ring comes round while events tell of two packets each.
fn wrap() {
    let mut options = Options::eight(1);
    (options.device.merge_max, options.posted_max, options.bufs) = (2, 64, 40);
    options.nic.weight = 4;
    let mut scene = Scene::open(&options);
    for number in (0..16).step_by(2) {
        let two = frames(number + 2, 1).split_off(number as usize);
        scene.device.run_wire(two);
        scene.take_interrupts(0);
        while scene.net.do_softirq() {}
        scene.device.settle();
    }
    scene.start([0]);
    scene.wire(frames(18, 1).split_off(16));
    scene.finish();
}

/// A frame that takes two descriptors, then a small one.
fn scatter() {
    let mut scene = Scene::open(&Options::eight(1));
    let mut bytes = frames(1, 1).swap_remove(0).bytes.to_vec();
    bytes.resize(400, 7);
    scene.start([0]);
    scene.wire(vec![Frame::new(0, bytes.into()), frames(2, 1).swap_remove(1)]);
    scene.finish();
}

/// Nobody polls until the ring is dry; the last frame is given up half way.
fn given_up() {
    let scene = Scene::open(&Options::eight(1));
    scene.device.run_wire(frames(7, 1));
    let mut bytes = frames(1, 1).swap_remove(0).bytes.to_vec();
    bytes.resize(400, 7);
    scene.device.run_wire(vec![Frame::new(7, bytes.into())]);
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    scene.device.settle();
    while scene.let_time_pass() {}
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    scene.device.settle();
    scene.emit_rest(false);
}

/// Memory runs out: a timer fills the ring that stays dry.
fn oom() {
    let mut options = Options::eight(1);
    options.fail_allocs = Some(FailPlan { first: 0, last: 9 });
    options.nic.weight = 16;
    let mut scene = Scene::open(&options);
    scene.device.run_wire(frames(8, 1));
    scene.start([0]);
    scene.start_timers();
    scene.finish();
}

/// Interrupts are held off; the hold-off may end at any time.
fn moderation() {
    let mut options = Options::eight(1);
    (options.nic.rx_irq_mod_us, options.device.holds_off) = (1, true);
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.period_passes();
    scene.wire(frames(2, 1));
    scene.finish();
}

/// The port is closed while a frame comes in.
fn stop() {
    let mut scene = Scene::open(&Options::eight(2));
    scene.start([0]);
    scene.actor(1, |_, port| port.stop_all());
    scene.wire(frames(1, 1));
    scene.finish();
}

/// Packets that can be merged, by the way of 6.12 or as a list.
fn gro(form: RxForm) {
    let mut options = with_gro(Options::eight(1));
    options.nic.rx_form = form;
    let mut scene = Scene::open(&options);
    scene.start([0]);
    scene.wire(tcp(&[Packet::Data(20), Packet::Push(20), Packet::Ack]));
    scene.finish();
}

const RECEIVED: &[(&str, &str)] = &[
    ("NO-LOST-WORK", "rest"),
    ("PACKET-CONSERVATION", "delivered"),
    ("RING-ARITHMETIC", "refilled"),
    ("VALID-BEFORE-USE", "consumed"),
    ("ARM-DISCIPLINE", "armed"),
    ("LIST-SCOPE", "open"),
    ("SCORE-TRUTH", "score"),
];
const MERGED: &[(&str, &str)] = &[
    ("GRO-ROUND-TRIP", "merged"),
    ("PAYLOAD-FIDELITY", "read"),
    ("FLOW-ORDER", "second-of-a-flow"),
    ("LIST-SCOPE", "open"),
    ("SCORE-TRUTH", "score"),
];

scenario!(
    SFC_RX,
    "sfc/rx",
    EXPLORE,
    4,
    receive,
    RECEIVED,
    "Two frames come in while their CPU takes interrupts, polls and asks for the next one."
);
scenario!(
    SFC_FULL_BUDGET,
    "sfc/full-budget",
    EXPLORE,
    4,
    full_budget,
    &[("NAPI-BUDGET", "full-budget"), ("NAPI-BUDGET", "completed"), ("NO-LOST-WORK", "rest")],
    "A poll uses its whole budget while a third frame comes in."
);
scenario!(
    SFC_MERGED,
    "sfc/merged",
    EXPLORE,
    5,
    merged,
    RECEIVED,
    "An event tells of two packets, or of one if time passes in between."
);
scenario!(
    SFC_WRAP,
    "sfc/wrap",
    EXPLORE,
    4,
    wrap,
    RECEIVED,
    "The ring comes round with events of two packets each."
);
scenario!(
    SFC_SCATTER,
    "sfc/scatter",
    EXPLORE,
    4,
    scatter,
    RECEIVED,
    "A frame of two descriptors and a small one come in."
);
scenario!(
    SFC_GIVEN_UP,
    "sfc/given-up",
    EXPLORE,
    1,
    given_up,
    &[("PACKET-CONSERVATION", "rest"), ("VALID-BEFORE-USE", "consumed")],
    "Descriptors run out half way through a frame."
);
scenario!(
    SFC_OOM,
    "sfc/oom",
    EXPLORE,
    4,
    oom,
    &[("NO-LOST-WORK", "rest"), ("PACKET-CONSERVATION", "delivered")],
    "Memory runs out, and the ring stays dry until a timer fires."
);
scenario!(
    SFC_MODERATION,
    "sfc/moderation",
    EXPLORE,
    5,
    moderation,
    RECEIVED,
    "A hold-off keeps interrupts back; it may end at any time."
);
scenario!(
    SFC_STOP,
    "sfc/stop",
    EXPLORE,
    5,
    stop,
    &[("DISABLE-MEANS-DISABLED", "disabled"), ("NAPI-LIFECYCLE", "enabled")],
    "The port is closed while a frame comes in."
);
scenario!(
    SFC_GRO,
    "sfc/gro",
    EXPLORE,
    4,
    || gro(RxForm::V6_12),
    MERGED,
    "Packets in fragments are merged, whichever poll they come in."
);
scenario!(
    SFC_GRO_LIST,
    "sfc/gro-list",
    EXPLORE,
    4,
    || gro(RxForm::GroList),
    MERGED,
    "Packets of a poll go to GRO as a list at its end."
);

/// All of them.
pub const ALL: &[&Scenario] = &[
    &SFC_RX,
    &SFC_FULL_BUDGET,
    &SFC_MERGED,
    &SFC_WRAP,
    &SFC_SCATTER,
    &SFC_GIVEN_UP,
    &SFC_OOM,
    &SFC_MODERATION,
    &SFC_STOP,
    &SFC_GRO,
    &SFC_GRO_LIST,
];
