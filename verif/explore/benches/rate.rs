//! Executions a second: `cargo bench -p pollproof-explore`. Counts are exact, rates are not.
#![allow(clippy::disallowed_methods)] // The one place that measures: a rate needs a clock.

#[path = "../tests/common/scenarios.rs"]
mod scenarios;

use pollproof_explore::rt::{self, Ordering::*};
use pollproof_explore::{explore, Config, Model, Reduction};
use scenarios::{hash, list, napi, qv_lock, ListOp::*};
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

/// Two threads that count each other's doings with SeqCst accesses, or with fences instead.
fn counters(fences: bool) {
    let at = Location::caller();
    let (x, y) = (rt::atomic_new(0, 32), rt::atomic_new(0, 32));
    let order = if fences { Relaxed } else { SeqCst };
    let full = move || {
        if fences {
            rt::fence(SeqCst);
        }
    };
    let body = move |mine, other| {
        move || {
            for _ in 0..2 {
                rt::store(mine, 1, order, at);
                full();
                rt::load(other, order, at);
                full();
            }
        }
    };
    let one = rt::spawn(Box::new(body(x, y)), at);
    let two = rt::spawn(Box::new(body(y, x)), at);
    rt::join(one, at);
    rt::join(two, at);
}

fn measure(name: &str, config: &Config, program: &dyn Fn()) {
    let began = Instant::now();
    let (mut executions, mut steps) = (0, 0);
    let (mut once, mut blocked) = (0, 0);
    while began.elapsed() < Duration::from_millis(500) {
        let summary = explore(config, program, &mut |_| Continue(()));
        assert!(summary.is_exhaustive());
        (once, blocked) = (summary.executions, summary.blocked);
        executions += summary.executions + summary.blocked;
        steps += summary.steps;
    }
    let seconds = began.elapsed().as_secs_f64();
    let how = match config.reduction {
        Reduction::Graphs => config.model.name(),
        _ => "dpor",
    };
    println!(
        "{name:<28} {how:<5} {once:>7} + {blocked:<5} {:>9.0} a second, {:>6.0} ns a step",
        executions as f64 / seconds,
        seconds * 1e9 / steps as f64
    );
}

fn main() {
    let programs: [(&str, &dyn Fn()); 11] = [
        ("SeqCst accesses", &|| counters(false)),
        ("the same with fences", &|| counters(true)),
        ("store buffering", &store_buffering),
        ("list add, del, lookup", &|| list(&[Add, Del, Lookup], false)),
        ("list add, add, del, lookup", &|| list(&[Add, Add, Del, Lookup], false)),
        ("state lock, 3 threads", &|| qv_lock(3, 1)),
        ("state lock, 3 x 2", &|| qv_lock(3, 2)),
        ("hash, 1 reader", &|| hash(1)),
        ("hash, 2 readers", &|| hash(2)),
        ("hash, 4 readers", &|| hash(4)),
        ("napi, 1 event", &|| napi(1)),
    ];
    for (name, program) in programs {
        for model in Model::ALL {
            let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
            measure(name, &config, program);
        }
        measure(name, &Config::default(), program);
    }
}
