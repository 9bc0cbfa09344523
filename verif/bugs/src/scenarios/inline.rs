//! A CPU as it is: process context, its interrupts in line, its softirqs when they are left. No
//! interrupt handler runs beside the code that it interrupted.

use super::macros::scenario;
use super::GRAPHS;
use pollproof_bench::explored::{frames, Scene, SceneOptions};
use pollproof_bench::scenario::Scenario;

/// One CPU does everything: it closes its port while frames come in and interrupt it.
fn stop() {
    let mut scene = Scene::open(&SceneOptions::small(1, 0));
    scene.start([]);
    scene.wire(frames(1, 1));
    scene.process(0, |_, port| port.stop_port());
    scene.finish();
}

/// A socket polls on the CPU that the queue's interrupts go to.
fn busy_poll() {
    let mut options = SceneOptions::small(1, 1);
    options.nic.busy_poll_lock = true;
    let mut scene = Scene::open(&options);
    scene.start([]);
    scene.wire(frames(1, 1));
    scene.process(0, |net, _| {
        net.ll_poll_once(1, 0);
    });
    scene.finish();
}

scenario!(
    INLINE_STOP,
    "mlx4/inline-stop",
    GRAPHS,
    4,
    stop,
    &[("DISABLE-MEANS-DISABLED", "disabled")],
    "A CPU closes its port while the port's interrupts come in on it."
);
scenario!(
    INLINE_BUSY_POLL,
    "mlx4/inline-busy-poll",
    GRAPHS,
    4,
    busy_poll,
    &[("PACKET-CONSERVATION", "delivered")],
    "A socket polls on the CPU that takes the queue's interrupts."
);
