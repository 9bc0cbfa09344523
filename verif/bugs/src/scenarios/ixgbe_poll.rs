//! Sockets that poll an ixgbe queue beside NAPI, beside each other and beside the control path,
//! with the lock in its three historical forms.

use super::ixgbe::{at_once, Options};
use super::macros::scenario;
use super::{EXPLORE, GRAPHS};
use pollproof_bench::explored::{frames, IxgbeScene as Scene};
use pollproof_bench::scenario::Scenario;
use pollproof_ixgbe::QvLockForm;
use pollproof_netcore::NapiPoll;

fn with_lock(cpus: u32, form: QvLockForm) -> Options {
    let mut options = Options::tiny(cpus);
    options.nic.busy_poll_lock = Some(form);
    options
}

fn poll_once(net: &std::sync::Arc<pollproof_netcore::Net>) {
    net.ll_poll_once(1, 0);
}

/// NAPI on one CPU, `pollers` sockets that poll on others.
fn busy_poll(form: QvLockForm, pollers: u32) {
    let mut options = with_lock(1 + pollers, form);
    options.delays = pollers == 1;
    let mut scene = Scene::open(&options);
    scene.device.run_wire(frames(1, 1));
    scene.start([0]);
    for cpu in 1..=pollers {
        scene.actor(cpu, |net, _| poll_once(net));
    }
    scene.finish();
}

/// The port is closed while a socket polls.
fn busy_poll_close(form: QvLockForm) {
    let mut scene = Scene::open(&at_once(with_lock(2, form)));
    scene.device.run_wire(frames(1, 1));
    scene.actor(1, |_, port| port.close());
    scene.actor(0, |net, _| poll_once(net));
    scene.finish();
}

/// The driver lets go of the device while a socket polls: the context is taken out of the hash and
/// freed.
fn busy_poll_remove() {
    let mut scene = Scene::open(&with_lock(2, QvLockForm::SpinBh));
    scene.actor(1, |_, port| port.remove());
    scene.actor(0, |net, _| poll_once(net));
    scene.finish();
}

/// A CPU closes its port while the port's interrupts come in on it.
fn inline_close(form: QvLockForm) {
    let mut scene = Scene::open(&at_once(with_lock(1, form)));
    scene.start([]);
    scene.wire(frames(1, 1));
    scene.process(0, |_, port| port.close());
    scene.finish();
}

/// A socket polls on the CPU that takes the queue's interrupts.
fn inline_busy_poll(form: QvLockForm) {
    let mut scene = Scene::open(&with_lock(1, form));
    scene.start([]);
    scene.wire(frames(1, 1));
    scene.process(0, |net, _| poll_once(net));
    scene.finish();
}

/// A driver's own code polls with BHs on, where the softirq of the same CPU may come in between.
fn inline_bh_on(form: QvLockForm) {
    let mut scene = Scene::open(&with_lock(1, form));
    scene.start([]);
    scene.wire(frames(1, 1));
    scene.process(0, |_, port| {
        if let Some((q_vector, napi)) = port.q_vectors().first().and_then(|q| Some((q, q.napi()?)))
        {
            q_vector.ll_poll(napi);
        }
    });
    scene.finish();
}

const DELIVERED: &[(&str, &str)] = &[("PACKET-CONSERVATION", "delivered")];
const DISABLED: &[(&str, &str)] = &[("DISABLE-MEANS-DISABLED", "disabled")];

scenario!(
    IXGBE_BUSY_POLL_SPIN,
    "ixgbe/busy-poll-spin",
    EXPLORE,
    5,
    || busy_poll(QvLockForm::Spin, 1),
    DELIVERED,
    "NAPI and a socket poll one queue, with the lock of the first series."
);
scenario!(
    IXGBE_BUSY_POLL_BH,
    "ixgbe/busy-poll-bh",
    EXPLORE,
    5,
    || busy_poll(QvLockForm::SpinBh, 1),
    DELIVERED,
    "NAPI and a socket poll one queue, with the lock that turns BHs off."
);
scenario!(
    IXGBE_BUSY_POLL_CMPXCHG,
    "ixgbe/busy-poll-cmpxchg",
    EXPLORE,
    5,
    || busy_poll(QvLockForm::Cmpxchg, 1),
    DELIVERED,
    "NAPI and a socket poll one queue, with the lock that is one word."
);
scenario!(
    IXGBE_BUSY_POLLERS,
    "ixgbe/busy-pollers",
    GRAPHS,
    6,
    || busy_poll(QvLockForm::Cmpxchg, 2),
    DELIVERED,
    "NAPI and two sockets poll one queue."
);
scenario!(
    IXGBE_BUSY_POLL_CLOSE_SPIN,
    "ixgbe/busy-poll-close-spin",
    GRAPHS,
    3,
    || busy_poll_close(QvLockForm::Spin),
    DISABLED,
    "The port is closed while a socket polls it, with the lock of the first series."
);
scenario!(
    IXGBE_BUSY_POLL_CLOSE,
    "ixgbe/busy-poll-close",
    GRAPHS,
    3,
    || busy_poll_close(QvLockForm::SpinBh),
    DISABLED,
    "The port is closed while a socket polls it, with the lock that stays disabled."
);
scenario!(
    IXGBE_BUSY_POLL_CLOSE_CMPXCHG,
    "ixgbe/busy-poll-close-cmpxchg",
    GRAPHS,
    3,
    || busy_poll_close(QvLockForm::Cmpxchg),
    DISABLED,
    "The port is closed while a socket polls it, with the lock that is one word."
);
scenario!(
    IXGBE_BUSY_POLL_REMOVE,
    "ixgbe/busy-poll-remove",
    GRAPHS,
    3,
    busy_poll_remove,
    DISABLED,
    "The driver frees its contexts while a socket polls by an id that it has from before."
);
scenario!(
    IXGBE_INLINE_CLOSE_SPIN,
    "ixgbe/inline-close-spin",
    GRAPHS,
    4,
    || inline_close(QvLockForm::Spin),
    DISABLED,
    "A CPU closes its port while its own softirq polls it, with the lock of the first series."
);
scenario!(
    IXGBE_INLINE_CLOSE,
    "ixgbe/inline-close",
    GRAPHS,
    4,
    || inline_close(QvLockForm::SpinBh),
    DISABLED,
    "A CPU closes its port while its own softirq polls it, with the lock that turns BHs off."
);
scenario!(
    IXGBE_INLINE_CLOSE_CMPXCHG,
    "ixgbe/inline-close-cmpxchg",
    GRAPHS,
    4,
    || inline_close(QvLockForm::Cmpxchg),
    DISABLED,
    "A CPU closes its port while its own softirq polls it, with the lock that is one word."
);
scenario!(
    IXGBE_INLINE_BUSY_POLL_SPIN,
    "ixgbe/inline-busy-poll-spin",
    GRAPHS,
    4,
    || inline_busy_poll(QvLockForm::Spin),
    DELIVERED,
    "A socket polls where the interrupts come in, with the lock of the first series."
);
scenario!(
    IXGBE_INLINE_BUSY_POLL,
    "ixgbe/inline-busy-poll",
    GRAPHS,
    4,
    || inline_busy_poll(QvLockForm::SpinBh),
    DELIVERED,
    "A socket polls where the interrupts come in, with the lock that turns BHs off."
);
scenario!(
    IXGBE_BH_ON_SPIN,
    "ixgbe/bh-on-spin",
    GRAPHS,
    4,
    || inline_bh_on(QvLockForm::Spin),
    &[],
    "A queue is polled with BHs on where its softirq runs, with the lock of the first series."
);
scenario!(
    IXGBE_BH_ON,
    "ixgbe/bh-on",
    GRAPHS,
    4,
    || inline_bh_on(QvLockForm::SpinBh),
    DELIVERED,
    "A queue is polled with BHs on where its softirq runs, with the lock that turns BHs off."
);
scenario!(
    IXGBE_BH_ON_CMPXCHG,
    "ixgbe/bh-on-cmpxchg",
    GRAPHS,
    4,
    || inline_bh_on(QvLockForm::Cmpxchg),
    DELIVERED,
    "A queue is polled with BHs on where its softirq runs, with the lock that is one word."
);

/// All of them.
pub const ALL: &[&Scenario] = &[
    &IXGBE_BUSY_POLL_SPIN,
    &IXGBE_BUSY_POLL_BH,
    &IXGBE_BUSY_POLL_CMPXCHG,
    &IXGBE_BUSY_POLLERS,
    &IXGBE_BUSY_POLL_CLOSE_SPIN,
    &IXGBE_BUSY_POLL_CLOSE,
    &IXGBE_BUSY_POLL_CLOSE_CMPXCHG,
    &IXGBE_BUSY_POLL_REMOVE,
    &IXGBE_INLINE_CLOSE_SPIN,
    &IXGBE_INLINE_CLOSE,
    &IXGBE_INLINE_CLOSE_CMPXCHG,
    &IXGBE_INLINE_BUSY_POLL_SPIN,
    &IXGBE_INLINE_BUSY_POLL,
    &IXGBE_BH_ON,
    &IXGBE_BH_ON_CMPXCHG,
];
