//! A port and what process context does to it: closes it twice, looks after its rings, polls it.

use super::macros::scenario;
use super::{ENGINES, EXPLORE};
use pollproof_bench::explored::{frame, frames, Scene, SceneOptions};
use pollproof_bench::scenario::Scenario;
use pollproof_sync::thread;

/// Two routes of a teardown close the same port, one after the other.
fn stop_twice() {
    let mut scene = Scene::open(&SceneOptions::small(2, 0));
    scene.actor(1, |_, port| {
        port.stop_port();
        port.stop_port();
    });
    scene.finish();
}

/// The service task looks after a ring while a frame comes in.
fn service_task() {
    let mut scene = Scene::open(&SceneOptions::small(2, 1));
    scene.start([0]);
    scene.actor(1, |_, port| {
        if let Some(queue) = port.queues().first() {
            queue.recover_from_oom();
        }
    });
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The softirq has a frame to poll for, and so has a socket, by the driver's method. Who is refused
/// the lock comes back, or has left it to somebody who does.
fn ll_poll_softirq() {
    let mut options = SceneOptions::small(2, 1);
    options.nic.busy_poll_lock = true;
    let scene = Scene::open(&options);
    scene.device.run_wire(frames(1, 1));
    scene.take_interrupts(0);
    scene.device.settle();
    let net = scene.net.clone();
    let socket = thread::spawn(1, move || {
        net.ll_poll_once(1, 0);
    });
    scene.net.do_softirq();
    socket.join();
    while scene.net.do_softirq() {}
    // Nobody has kept the lock: a second frame gets through.
    scene.device.settle();
    scene.device.run_wire(vec![frame(1, 1)]);
    scene.take_interrupts(0);
    scene.net.do_softirq();
    // The arm that was posted last is taken now.
    scene.device.settle();
    scene.emit_rest(scene.interrupt_pending(0));
}

/// An application polls by the poll method while a frame and its interrupt come.
fn busy_loop_rx() {
    let mut scene = Scene::open(&SceneOptions::small(2, 1));
    scene.host.set_affinity(1, 0);
    scene.start([0]);
    scene.actor(1, |net, _| net.napi_busy_loop(1, None, Default::default()));
    scene.wire(frames(1, 1));
    scene.finish();
}

scenario!(
    STOP_TWICE,
    "mlx4/stop-twice",
    EXPLORE,
    2,
    stop_twice,
    &[("DISABLE-MEANS-DISABLED", "disabled")],
    "Two routes of a teardown close the same port."
);
scenario!(
    SERVICE_TASK,
    "mlx4/service-task",
    EXPLORE,
    5,
    service_task,
    &[("PACKET-CONSERVATION", "delivered"), ("NO-LOST-WORK", "rest"), ("SOFTIRQ-RUNS", "raised")],
    "The service task looks after a ring while a frame comes in."
);
scenario!(
    BUSY_LOOP_RX,
    "mlx4/busy-loop-rx",
    EXPLORE,
    5,
    busy_loop_rx,
    &[("PACKET-CONSERVATION", "delivered"), ("NO-LOST-WORK", "rest"), ("NAPI-OWNER", "busy")],
    "An application polls by the poll method while a frame and its interrupt come."
);
/// Softirq and socket want one queue.
pub const LL_POLL_SOFTIRQ: Scenario = Scenario {
    id: "mlx4/ll-poll-softirq",
    about: "The softirq and a socket want the same frame, by the driver's two methods.",
    threads: 2,
    body: ll_poll_softirq,
    engines: ENGINES,
    must_reach: &[("PACKET-CONSERVATION", "delivered"), ("NO-LOST-WORK", "rest")],
    loom_preemptions: None,
};
