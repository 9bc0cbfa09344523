//! One ixgbe port that sends: what the device reports, when the driver takes it back, and when it
//! believes in a hang.

use super::ixgbe::Options;
use super::macros::scenario;
use super::{EXPLORE, GRAPHS};
use pollproof_bench::explored::IxgbeScene as Scene;
use pollproof_bench::scenario::Scenario;
use pollproof_ixgbe::{Adapter, TxFrag, TxPacket};
use pollproof_wire::Frame;
use std::sync::Arc;

fn sender(cpus: u32) -> Options {
    let mut options = Options::tiny(cpus);
    options.bufs = 96;
    options.posted_max = 128;
    options
}

/// Sends a packet of `frags` buffers; what is refused is freed.
fn send(scene: &Scene, frags: usize) {
    send_from(&scene.net, &scene.port, frags);
}

fn send_from(net: &Arc<pollproof_netcore::Net>, port: &Arc<Adapter>, frags: usize) {
    use pollproof_ixgbe::TxRefused::{Busy, Down, Malformed};
    let dma = &net.below().dma;
    let bufs = (0..frags).map_while(|_| dma.alloc_buf().ok());
    let frags = bufs.map(|buf| TxFrag { buf, len: 60 }).collect();
    let packet = TxPacket { frags, checksum: None, vlan: None, more: false };
    if let Err(Busy(packet) | Down(packet) | Malformed(packet)) = port.xmit_frame(0, packet) {
        packet.frags.iter().for_each(|frag| dma.free_buf(frag.buf));
    }
}

/// Takes interrupts and polls until nothing is left; no time passes.
fn poll_now(scene: &Scene) {
    scene.device.settle();
    while scene.interrupt_pending(0) {
        scene.take_interrupts(0);
        while scene.net.do_softirq() {}
        scene.device.settle();
    }
}

/// The same, and lets the device do what it does by itself.
fn poll(scene: &Scene) {
    poll_now(scene);
    while scene.let_time_pass() {
        poll_now(scene);
    }
}

/// One packet is sent on one CPU while another takes the interrupt of the one before.
fn transmit() {
    let mut scene = Scene::open(&sender(2));
    send(&scene, 1);
    scene.device.settle();
    scene.start([0]);
    scene.actor(1, |net, port| send_from(net, port, 2));
    scene.finish();
}

/// The ring fills up while it is cleaned on another CPU: whoever stops the queue is woken.
fn full_ring() {
    let mut options = sender(2);
    options.delays = false;
    let mut scene = Scene::open(&options);
    for _ in 0..3 {
        send(&scene, 12);
    }
    scene.start([0]);
    // The second begins where the first of all did, if that was cleaned.
    scene.actor(1, |net, port| {
        send_from(net, port, 12);
        send_from(net, port, 12);
    });
    scene.finish();
}

/// Six packets of eight buffers each; all are cleaned in time.
fn fragments() {
    let mut options = sender(1);
    options.nic.tx_ring_count = 64;
    let scene = Scene::open(&options);
    for _ in 0..3 {
        send(&scene, 8);
        send(&scene, 8);
        poll(&scene);
    }
    scene.emit_rest(false);
}

/// A packet of one descriptor after the other, more than a lap, cleaned now and then.
fn laps() {
    let scene = Scene::open(&sender(1));
    for n in 0..60 {
        send(&scene, 1);
        if n % 20 == 19 {
            poll(&scene);
        }
    }
    scene.emit_rest(false);
}

/// One packet is sent on a part that holds its report back until the next interrupt; then nothing
/// happens but the watchdog.
fn idle() {
    let mut options = sender(1);
    options.nic.itr = pollproof_ixgbe::ItrSetting::Usecs(50);
    options.device.params.tx_wb_idle = pollproof_intel_82599::IdleWriteBack::Never;
    let scene = Scene::open(&options);
    send(&scene, 1);
    poll(&scene);
    scene.port.service_task();
    poll(&scene);
    scene.emit_rest(false);
}

/// A partner asks for a pause of so many times 512 bits.
fn pause_frame(quanta: u16) -> Frame {
    let mut bytes = vec![0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1];
    bytes.extend(quanta.to_be_bytes());
    bytes.resize(60, 0);
    Frame::new(0, bytes.into())
}

/// Pause frames keep the transmitter quiet between looks of the watchdog, `pauses` of them one by
/// one; then they stop and the packet goes out.
fn paused(pauses: u32) {
    let mut options = sender(1);
    options.nic.rx_pause = true;
    options.device.params.wire_byte_ps = 800;
    let scene = Scene::open(&options);
    let pause = |quanta| scene.device.run_wire(vec![pause_frame(quanta)]);
    pause(u16::MAX);
    send(&scene, 1);
    for _ in 0..pauses {
        scene.port.service_task();
        poll_now(&scene);
        pause(u16::MAX);
    }
    pause(0);
    scene.port.service_task();
    poll(&scene);
    scene.emit_rest(false);
}

/// The transmitter never gets anywhere: a partner that paused once and for all.
fn hung() {
    let mut options = sender(1);
    options.nic.rx_pause = true;
    options.device.params.wire_byte_ps = 800;
    let mut scene = Scene::open(&options);
    scene.device.run_wire(vec![pause_frame(u16::MAX)]);
    send(&scene, 1);
    for _ in 0..4 {
        scene.port.service_task();
        poll_now(&scene);
    }
    scene.start_worker(0);
    scene.finish();
}

/// The port is closed, or reset and used again, while a packet waits for the link.
fn stopped_without_link(again: bool) {
    let scene = Scene::open(&sender(1));
    let plug = |present| scene.device.step(|core| core.set_cable(present));
    plug(false);
    send(&scene, 1);
    poll_now(&scene);
    if again {
        scene.port.reinit_locked();
        send(&scene, 1);
    } else {
        scene.port.close();
    }
    plug(true);
    poll(&scene);
    scene.emit_rest(false);
}

/// The port is closed while a packet is sent.
fn close() {
    let mut options = sender(2);
    options.delays = false;
    let mut scene = Scene::open(&options);
    send(&scene, 1);
    scene.start([0]);
    scene.actor(1, |_, port| port.close());
    scene.finish();
}

const SENT: &[(&str, &str)] = &[("RING-TAIL", "transmit"), ("CAUSE-LEDGER", "rest")];

scenario!(
    IXGBE_TX,
    "ixgbe/tx",
    EXPLORE,
    4,
    transmit,
    SENT,
    "A packet is sent while the report of the one before is cleaned on another CPU."
);
scenario!(
    IXGBE_TX_FULL,
    "ixgbe/tx-full",
    EXPLORE,
    3,
    full_ring,
    SENT,
    "A ring fills up while it is cleaned on another CPU."
);
scenario!(
    IXGBE_TX_FRAGMENTS,
    "ixgbe/tx-fragments",
    GRAPHS,
    1,
    fragments,
    SENT,
    "Six packets of eight buffers each are sent."
);
scenario!(
    IXGBE_TX_LAPS,
    "ixgbe/tx-laps",
    GRAPHS,
    1,
    laps,
    SENT,
    "Sixty packets go through a ring of 48 and are cleaned now and then."
);
scenario!(
    IXGBE_TX_IDLE,
    "ixgbe/tx-idle",
    GRAPHS,
    1,
    idle,
    SENT,
    "One packet is sent on a part that reports it with the next interrupt, and none comes."
);
scenario!(
    IXGBE_TX_PAUSED,
    "ixgbe/tx-paused",
    GRAPHS,
    1,
    || paused(3),
    &[("HANG-SOUND", "looked"), ("RING-TAIL", "transmit")],
    "Pause frames keep a packet waiting while the watchdog looks."
);
scenario!(
    IXGBE_TX_HUNG,
    "ixgbe/tx-hung",
    GRAPHS,
    2,
    hung,
    &[("HANG-SOUND", "hung"), ("PORT-LIFECYCLE", "up")],
    "A packet is never sent: the watchdog finds out and resets the port."
);
scenario!(
    IXGBE_TX_NO_LINK_CLOSE,
    "ixgbe/tx-no-link-close",
    GRAPHS,
    1,
    || stopped_without_link(false),
    &[("RESET-FENCE", "reset"), ("RING-TAIL", "transmit")],
    "The port is closed while a packet waits for the link, which then comes."
);
scenario!(
    IXGBE_TX_NO_LINK_RESET,
    "ixgbe/tx-no-link-reset",
    GRAPHS,
    1,
    || stopped_without_link(true),
    &[("RESET-FENCE", "reset"), ("PORT-LIFECYCLE", "up")],
    "The port is reset while a packet waits for the link, and sends another one."
);
scenario!(
    IXGBE_TX_CLOSE,
    "ixgbe/tx-close",
    GRAPHS,
    4,
    close,
    &[("DISABLE-MEANS-DISABLED", "disabled")],
    "The port is closed while the report of a packet is cleaned."
);

/// All of them.
pub const ALL: &[&Scenario] = &[
    &IXGBE_TX,
    &IXGBE_TX_FULL,
    &IXGBE_TX_FRAGMENTS,
    &IXGBE_TX_LAPS,
    &IXGBE_TX_IDLE,
    &IXGBE_TX_PAUSED,
    &IXGBE_TX_HUNG,
    &IXGBE_TX_NO_LINK_CLOSE,
    &IXGBE_TX_NO_LINK_RESET,
    &IXGBE_TX_CLOSE,
];
