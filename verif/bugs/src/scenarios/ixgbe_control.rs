//! The control path of an ixgbe port beside its interrupts and polls: up, down, reset, removal, the
//! watchdog, the shared line.

use super::ixgbe::{at_once, Options, RECEIVED};
use super::macros::scenario;
use super::{EXPLORE, GRAPHS};
use pollproof_bench::explored::{frames, start_port, IxgbeScene as Scene, DEVICE_CPU};
use pollproof_bench::scenario::Scenario;
use pollproof_ixgbe::Interrupts;

/// The port is closed while a frame comes in and is polled.
fn close() {
    let mut scene = Scene::open(&at_once(Options::tiny(2)));
    scene.device.run_wire(frames(1, 1));
    scene.start([0]);
    scene.actor(1, |_, port| port.close());
    scene.finish();
}

/// The port is reset while a frame is polled.
fn reset() {
    let mut scene = Scene::open(&at_once(Options::tiny(2)));
    scene.device.run_wire(frames(1, 1));
    scene.start([0]);
    scene.actor(1, |_, port| port.reinit_locked());
    scene.finish();
}

/// The port is brought up while a frame comes in; the service task has its turn.
fn open() {
    let mut scene = Scene::build(&at_once(Options::tiny(2)));
    scene.start([0]);
    scene.start_some_timers(1);
    scene.start_worker(1);
    scene.actor(1, |_, port| start_port(port));
    scene.wire(frames(1, 1));
    scene.finish();
}

/// The device leaves the bus while a frame is polled and the service task looks after the port.
fn removal() {
    let mut scene = Scene::open(&at_once(Options::tiny(2)));
    scene.device.run_wire(frames(1, 1));
    scene.start([0]);
    scene.start_worker(1);
    let device = scene.device.clone();
    scene.actor(DEVICE_CPU, move |_, _| device.unplug());
    scene.actor(1, |_, port| port.service_task());
    scene.finish();
}

/// The watchdog kicked the queue; a frame comes in while the interrupt is handled.
fn kick() {
    let mut options = Options::tiny(1);
    options.device.params.eics_sticks = true;
    let mut scene = Scene::open(&options);
    scene.port.service_task();
    scene.device.settle();
    scene.start([0]);
    scene.wire(frames(1, 1));
    scene.finish();
}

/// Another device pulls the line that a frame's interrupt comes by.
fn shared_line() {
    let mut options = Options::tiny(1);
    options.nic.interrupts = Interrupts::Legacy;
    let mut scene = Scene::open(&options);
    let host = scene.host.clone();
    scene.start([0]);
    scene.actor(DEVICE_CPU, move |_, _| host.neighbour_interrupts());
    scene.wire(frames(1, 1));
    scene.finish();
}

const DISABLED: &[(&str, &str)] = &[("DISABLE-MEANS-DISABLED", "disabled")];

scenario!(
    IXGBE_CLOSE,
    "ixgbe/close",
    GRAPHS,
    5,
    close,
    DISABLED,
    "The port is closed while a frame comes in."
);
scenario!(
    IXGBE_RESET,
    "ixgbe/reset",
    GRAPHS,
    4,
    reset,
    &[("DISABLE-MEANS-DISABLED", "disabled"), ("PORT-LIFECYCLE", "up")],
    "The port is reset while a frame is polled."
);
scenario!(
    IXGBE_OPEN,
    "ixgbe/open",
    GRAPHS,
    6,
    open,
    &[("PORT-LIFECYCLE", "up"), ("PACKET-CONSERVATION", "delivered"), ("NO-LOST-WORK", "rest")],
    "The port is brought up while a frame comes in; the watchdog has its first turn."
);
scenario!(
    IXGBE_REMOVAL,
    "ixgbe/removal",
    GRAPHS,
    6,
    removal,
    &[("REMOVAL-FENCE", "removed")],
    "The device leaves the bus while a frame is polled and the watchdog looks."
);
scenario!(
    IXGBE_KICK,
    "ixgbe/kick",
    EXPLORE,
    4,
    kick,
    RECEIVED,
    "A frame comes in while a kick of the watchdog is handled, on a part with erratum 1."
);
scenario!(
    IXGBE_SHARED_LINE,
    "ixgbe/shared-line",
    EXPLORE,
    5,
    shared_line,
    &[("NO-LOST-WORK", "rest"), ("PACKET-CONSERVATION", "delivered")],
    "Another device pulls the legacy line that a frame's interrupt comes by."
);

/// All of them.
pub const ALL: &[&Scenario] =
    &[&IXGBE_CLOSE, &IXGBE_RESET, &IXGBE_OPEN, &IXGBE_REMOVAL, &IXGBE_KICK, &IXGBE_SHARED_LINE];
