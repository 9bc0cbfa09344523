//! Executions a second: `cargo bench -p pollproof-explore`. Counts are exact, rates are not.
#![allow(clippy::disallowed_methods)] // The one place that measures: a rate needs a clock.

#[path = "../tests/common/scenarios.rs"]
mod scenarios;

use pollproof_explore::rt::{self, Ordering::*};
use pollproof_explore::{explore, Config};
use scenarios::{list, qv_lock, ListOp::*};
use std::ops::ControlFlow::Continue;
use std::panic::Location;
use std::time::{Duration, Instant};

fn store_buffering() {
    let at = Location::caller();
    let (x, y) = (rt::atomic_new(0, 32), rt::atomic_new(0, 32));
    let child = move || {
        rt::store(y, 1, Relaxed, at);
        rt::load(x, Relaxed, at);
    };
    let child = rt::spawn(Box::new(child), at);
    rt::store(x, 1, Relaxed, at);
    rt::load(y, Relaxed, at);
    rt::join(child, at);
}

fn measure(name: &str, program: &dyn Fn()) {
    let began = Instant::now();
    let (mut executions, mut steps) = (0, 0);
    let mut once = 0;
    while began.elapsed() < Duration::from_millis(500) {
        let summary = explore(&Config::default(), program, &mut |_| Continue(()));
        assert!(summary.is_exhaustive());
        once = summary.executions;
        executions += summary.executions + summary.blocked;
        steps += summary.steps;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{name:<28} {once:>7} executions, {:>9.0} a second, {:>6.0} ns a step",
        executions as f64 / seconds,
        seconds * 1e9 / steps as f64
    );
}

fn main() {
    measure("store buffering", &store_buffering);
    measure("list add, del, lookup", &|| list(&[Add, Del, Lookup], false));
    measure("list add, add, del, lookup", &|| list(&[Add, Add, Del, Lookup], false));
    measure("state lock, 3 threads", &|| qv_lock(3, 1));
    measure("state lock, 3 x 2", &|| qv_lock(3, 2));
    measure("state lock, 3 x 3", &|| qv_lock(3, 3));
}
