//! GRO behind a device: packets are held and merged while more of them, interrupts and timers come.

use super::gro::{Packet, Sender};
use super::macros::scenario;
use super::EXPLORE;
use pollproof_bench::explored::{IxgbeScene, Mlx4Scene, SceneOptions};
use pollproof_bench::scenario::Scenario;
use pollproof_events::{emit, sum_of, Event, SkbStep};
use pollproof_ixgbe::Adapter;
use pollproof_mlx4::Mlx4Port;
use pollproof_netcore::{GroOptions, Keep, NetOptions};
use pollproof_wire::Frame;

/// Frames of one flow, long enough for a wire.
fn frames(packets: &[Packet]) -> Vec<Frame> {
    let mut sender = Sender::default();
    let frame = |(number, &packet): (u64, &Packet)| {
        let bytes = sender.packet(1, packet);
        emit(Event::Skb(SkbStep::Sent { number, sum: sum_of(&bytes) }));
        Frame::new(number, bytes.into())
    };
    (0..).zip(packets).map(frame).collect()
}

/// GRO with batches of two; what is merged is taken apart and compared.
fn with_gro(net: &mut NetOptions) {
    net.gro = Some(GroOptions::new(false, 2));
    net.keep = Keep::Bytes;
}

const TWO: [Packet; 2] = [Packet::Data(20), Packet::Push(20)];

/// Two packets that can be merged come while a poll may end between them.
fn mlx4() {
    let mut options = SceneOptions::<Mlx4Port>::small(1, 1);
    with_gro(&mut options.net);
    let mut scene = Mlx4Scene::open(&options);
    scene.start([0]);
    scene.wire(frames(&TWO));
    scene.finish();
}

fn ixgbe() {
    let mut options = SceneOptions::<Adapter>::tiny(1);
    with_gro(&mut options.net);
    let mut scene = IxgbeScene::open(&options);
    scene.start([0]);
    scene.wire(frames(&TWO));
    scene.finish();
}

/// A packet is held until the timer, which may fire at any time, or until the next one ends it.
fn timer() {
    let mut options = SceneOptions::<Mlx4Port>::small(1, 1);
    with_gro(&mut options.net);
    options.net.gro_flush_timeout_ns = 1_000;
    let mut scene = Mlx4Scene::open(&options);
    scene.start([0]);
    scene.start_timers();
    scene.wire(frames(&TWO));
    scene.finish();
}

const HELD: &[(&str, &str)] = &[
    ("GRO-FLUSH", "rest"),
    ("GRO-ROUND-TRIP", "merged"),
    ("FLOW-ORDER", "second-of-a-flow"),
    ("PACKET-CONSERVATION", "rest"),
    ("NO-LOST-WORK", "rest"),
];

scenario!(
    GRO_MLX4,
    "mlx4/gro",
    EXPLORE,
    4,
    mlx4,
    HELD,
    "Two packets that can be merged come in while a poll may end between them."
);
scenario!(
    GRO_IXGBE,
    "ixgbe/gro",
    EXPLORE,
    4,
    ixgbe,
    HELD,
    "Two packets that can be merged come in while a poll may end between them."
);
scenario!(
    GRO_TIMER,
    "mlx4/gro-timer",
    EXPLORE,
    5,
    timer,
    HELD,
    "A packet is held until a timer fires or the next one comes."
);

/// All of them.
pub const ALL: &[&Scenario] = &[&GRO_MLX4, &GRO_IXGBE, &GRO_TIMER];
