//! The explored scene of ixgbe, run by hand without an engine: one order of its steps.

use pollproof_bench::explored::{frames, IxgbeScene, SceneOptions};

#[test]
fn frames_reach_the_socket_step_by_step() {
    let scene = IxgbeScene::open(&SceneOptions::tiny(1));
    assert!(scene.port.is_up());
    scene.device.run_wire(frames(3, 1));
    assert!(scene.interrupt_pending(0), "{:?}", scene.device.step(|d| *d.stats()));
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    scene.device.settle();
    assert_eq!(scene.net.ledger.packets(), 3);
    let state = scene.port.ring_states()[0];
    assert_eq!((state.consumed, state.posted), (3, 7), "a refill comes before the next look");
    assert!(scene.device.step(|d| d.misuses().is_empty()));
}

#[test]
fn a_port_goes_down_and_comes_up_again() {
    let scene = IxgbeScene::open(&SceneOptions::tiny(1));
    for _ in 0..2 {
        scene.port.down();
        assert!(!scene.port.is_up());
        scene.device.run_wire(frames(1, 1));
        assert!(!scene.interrupt_pending(0));
        assert!(scene.port.up().is_ok());
        scene.device.settle();
    }
    scene.device.run_wire(frames(1, 1));
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    assert_eq!(scene.net.ledger.packets(), 1);
    scene.port.close();
    scene.port.remove();
}

#[test]
fn a_device_that_left_is_noticed_and_let_go() {
    let scene = IxgbeScene::open(&SceneOptions::tiny(1));
    scene.device.run_wire(frames(1, 1));
    scene.device.unplug();
    scene.port.service_task();
    assert!(scene.port.is_removed());
    scene.port.service_task();
    assert!(!scene.port.is_up());
    scene.port.remove();
}
