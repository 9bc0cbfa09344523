//! An explored scene gives all of its memory back: executions are many.

use pollproof_bench::explored::{frames, IxgbeScene, Mlx4Scene, SceneOptions};
use std::sync::{Arc, Weak};

/// Whether anything of a scene is left, by its host and its network core.
fn left<H, N>(host: &Weak<H>, net: &Weak<N>) -> bool {
    host.strong_count() + net.strong_count() > 0
}

#[test]
fn nothing_is_left_of_a_scene_of_ixgbe() {
    let scene = IxgbeScene::open(&SceneOptions::tiny(1));
    scene.device.run_wire(frames(2, 1));
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    let (host, net) = (Arc::downgrade(&scene.host), Arc::downgrade(&scene.net));
    drop(scene);
    assert!(!left(&host, &net));
}

#[test]
fn nothing_is_left_of_a_scene_of_mlx4() {
    let scene = Mlx4Scene::open(&SceneOptions::small(1, 1));
    scene.device.run_wire(frames(2, 1));
    scene.take_interrupts(0);
    while scene.net.do_softirq() {}
    let (host, net) = (Arc::downgrade(&scene.host), Arc::downgrade(&scene.net));
    drop(scene);
    assert!(!left(&host, &net));
}
