//! What sync costs without an engine: `cargo bench -p pollproof-sync`.
//!
//! Each operation is timed in turn on sync's type and on std's, many short rounds of each, and the
//! fastest round of either counts: noise only ever adds. With the feature `engines` off the ratio
//! is 1, but for the lock, whose context tracking costs a few instructions.
#![allow(clippy::disallowed_methods)] // The one place that measures: a ratio needs a clock.

use pollproof_sync as sync;
use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::time::Instant;

const ROUNDS: usize = 400;
const OPS: u32 = 20_000;

/// Nanoseconds an operation in the fastest of many rounds, of two bodies by turns.
fn race(mut ours: impl FnMut(), mut raw: impl FnMut()) -> (f64, f64) {
    let round = |body: &mut dyn FnMut()| {
        let began = Instant::now();
        body();
        began.elapsed().as_secs_f64() * 1e9 / f64::from(OPS)
    };
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        best.0 = best.0.min(round(&mut ours));
        best.1 = best.1.min(round(&mut raw));
    }
    best
}

fn report(name: &str, (ours, raw): (f64, f64)) {
    println!("{name:<28} sync {ours:>7.3} ns, std {raw:>7.3} ns, ratio {:>5.2}", ours / raw);
}

macro_rules! bench {
    ($name:literal, $ours:expr, $raw:expr, |$x:ident| $op:expr) => {
        report(
            $name,
            race(
                || {
                    let $x = black_box(&$ours);
                    for _ in 0..OPS {
                        $op;
                    }
                },
                || {
                    let $x = black_box(&$raw);
                    for _ in 0..OPS {
                        $op;
                    }
                },
            ),
        );
    };
}

fn main() {
    let ours = sync::AtomicU32::new(0);
    let raw = std::sync::atomic::AtomicU32::new(0);
    let on = if std::mem::size_of_val(&ours) == 4 { "off" } else { "on" };
    println!("feature engines: {on}; no engine runs");
    bench!("load + store", ours, raw, |x| {
        let value = x.load(Acquire);
        x.store(black_box(value.wrapping_add(1)), Release);
    });
    bench!("fetch_add", ours, raw, |x| black_box(x.fetch_add(1, AcqRel)));
    bench!("compare_exchange", ours, raw, |x| {
        let value = x.load(Acquire);
        let _ = black_box(x.compare_exchange(value, value.wrapping_add(1), AcqRel, Acquire));
    });
    let spin = sync::SpinLock::new(0u64);
    let sleeping = sync::Mutex::new(0u64);
    let std_lock = std::sync::Mutex::new(0u64);
    let with_std = |lock: &std::sync::Mutex<u64>| {
        for _ in 0..OPS {
            *lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
        }
    };
    let spinning = || {
        let lock = black_box(&spin);
        (0..OPS).for_each(|_| *lock.lock() += 1);
    };
    report("SpinLock and std's Mutex", race(spinning, || with_std(black_box(&std_lock))));
    let mutex = || {
        let lock = black_box(&sleeping);
        (0..OPS).for_each(|_| *lock.lock() += 1);
    };
    report("Mutex and std's Mutex", race(mutex, || with_std(black_box(&std_lock))));
}
