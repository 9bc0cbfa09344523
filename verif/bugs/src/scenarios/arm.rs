//! Arm and look again: the device reads the arm record from memory after each completion, so it can
//! miss an arm that comes at the same time.

use super::ENGINES;
use pollproof_bench::explored::{frame, Scene, SceneOptions, DEVICE_CPU};
use pollproof_bench::scenario::Scenario;
use pollproof_mlx4::ArmForm;
use pollproof_sync::thread;

/// The first frame's interrupt was taken; while its poll ends, a second frame comes.
fn arm_record() {
    let mut options = SceneOptions::small(1, 1);
    options.nic.arm = ArmForm::RecordAndRecheck;
    options.nic.weight = 4;
    let scene = Scene::open(&options);
    scene.device.run_wire(vec![frame(0, 1)]);
    scene.take_interrupts(0);
    scene.device.settle();
    let device = scene.device.clone();
    let wire = thread::spawn(DEVICE_CPU, move || device.run_wire(vec![frame(1, 1)]));
    while scene.net.do_softirq() {}
    wire.join();
    // An interrupt that is pending now is somebody who is coming.
    let coming = scene.interrupt_pending(0);
    scene.emit_rest(coming);
}

/// The poll arms by doorbell; the device reads the record that the doorbell points at.
fn arm_doorbell() {
    let mut options = SceneOptions::small(1, 1);
    options.device.record_on_doorbell = true;
    let scene = Scene::open(&options);
    scene.device.run_wire(vec![frame(0, 1)]);
    scene.take_interrupts(0);
    scene.device.settle();
    let device = scene.device.clone();
    let doorbell = thread::spawn(DEVICE_CPU, move || device.settle());
    while scene.net.do_softirq() {}
    doorbell.join();
    // What was not taken yet comes now, and another frame.
    scene.device.settle();
    scene.device.run_wire(vec![frame(1, 1)]);
    let coming = scene.interrupt_pending(0);
    scene.emit_rest(coming);
}

/// Two frames wait, which is the whole budget; while they are polled, a third comes.
fn budget_race() {
    let scene = Scene::open(&SceneOptions::small(1, 2));
    scene.device.run_wire(vec![frame(0, 1), frame(1, 1)]);
    scene.take_interrupts(0);
    scene.device.settle();
    let device = scene.device.clone();
    let wire = thread::spawn(DEVICE_CPU, move || device.run_wire(vec![frame(2, 1)]));
    // Several rounds, should a context never leave the list.
    for _ in 0..4 {
        scene.net.do_softirq();
    }
    wire.join();
    // The arm that was posted last is taken now.
    scene.device.settle();
    let coming = scene.interrupt_pending(0);
    scene.emit_rest(coming);
}

/// The budget contract beside a device.
pub const BUDGET_RACE: Scenario = Scenario {
    id: "mlx4/budget-race",
    about: "A poll uses its whole budget, completes later, and a frame comes meanwhile.",
    threads: 2,
    body: budget_race,
    engines: ENGINES,
    must_reach: &[("NAPI-BUDGET", "full-budget"), ("NAPI-BUDGET", "completed")],
    loom_preemptions: None,
};

/// The record must be in memory before the doorbell.
pub const ARM_DOORBELL: Scenario = Scenario {
    id: "mlx4/arm-doorbell",
    about: "A poll arms by record and doorbell; the device reads the record on the doorbell.",
    threads: 2,
    body: arm_doorbell,
    engines: ENGINES,
    must_reach: &[("NO-LOST-WORK", "rest"), ("ARM-DISCIPLINE", "armed")],
    loom_preemptions: None,
};

/// The scenario.
pub const ARM_RECORD: Scenario = Scenario {
    id: "mlx4/arm-record",
    about: "A poll arms by record and looks again while the device completes another frame.",
    threads: 2,
    body: arm_record,
    engines: ENGINES,
    must_reach: &[("NO-LOST-WORK", "rest"), ("ARM-DISCIPLINE", "armed")],
    loom_preemptions: None,
};
