//! Executions a CPU-second of each engine on the same scenario, without rules and recorder: what
//! the engine itself costs.

use crate::scenario::{EngineKind, Scenario};
use pollproof_engines::{check_explore, check_loom, check_shuttle, AtEnd, Config, Walk};
use pollproof_sync::{thread, AtomicU32, Lifetime, Mutex, Ordering, PlainU32, What};
use std::sync::Arc;

/// The lock that leaves its state behind (`ixgbe`'s q_vector lock), three threads, no core around.
pub const STATE_LOCK: Scenario = Scenario {
    id: "bare/state-lock-3",
    about: "Three threads take and give back a state word under a lock.",
    threads: 4,
    body: state_lock,
    engines: &EngineKind::ALL,
    must_reach: &[],
    loom_preemptions: None,
};

/// A hash of one node with two readers under RCU, no core around.
pub const HASH: Scenario = Scenario {
    id: "bare/hash-2-readers",
    about: "Two readers look a node up while it is unlinked and freed after a grace period.",
    threads: 4,
    body: hash,
    engines: &EngineKind::ALL,
    must_reach: &[],
    loom_preemptions: None,
};

fn state_lock() {
    const STATE: What = What { rule: "SINGLE-CONSUMER", name: "state" };
    let lock = Arc::new((Mutex::new(()), PlainU32::new(0, STATE)));
    let body = |lock: Arc<(Mutex<()>, PlainU32)>| {
        move || {
            let held = lock.0.lock();
            let free = lock.1.get() == 0;
            if free {
                lock.1.set(1);
            }
            drop(held);
            if free {
                let _held = lock.0.lock();
                lock.1.set(0);
            }
        }
    };
    let threads: Vec<_> = (0..3).map(|cpu| thread::spawn(cpu, body(lock.clone()))).collect();
    threads.into_iter().for_each(thread::JoinHandle::join);
}

fn hash() {
    struct Hash {
        head: AtomicU32,
        node: Lifetime,
        readers: [Mutex<()>; 2],
    }
    let hash = Arc::new(Hash {
        head: AtomicU32::new(1),
        node: Lifetime::new("node"),
        readers: [Mutex::new(()), Mutex::new(())],
    });
    let mut threads = Vec::new();
    for reader in 0..2 {
        let hash = hash.clone();
        threads.push(thread::spawn(reader, move || {
            let _rcu = hash.readers[reader as usize].lock();
            if hash.head.load(Ordering::Acquire) != 0 {
                hash.node.used();
            }
        }));
    }
    threads.push(thread::spawn(2, move || {
        hash.head.store(0, Ordering::Relaxed);
        hash.readers.iter().for_each(|reader| drop(reader.lock()));
        hash.node.free();
    }));
    threads.into_iter().for_each(thread::JoinHandle::join);
}

/// What an engine did in some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Executions, also those that were given up.
    pub executions: u64,
    /// Those of one whole search; of shuttle the number that was asked for.
    pub once: u64,
    /// Processor seconds.
    pub cpu_seconds: f64,
}

impl Rate {
    /// Executions a processor second.
    pub fn per_second(&self) -> f64 {
        self.executions as f64 / self.cpu_seconds.max(1e-9)
    }
}

/// Executions of shuttle, and most of loom, between two looks at the clock.
const BATCH: u64 = 2_000;

/// Repeats whole searches for at least `seconds` of processor time, as `clock` tells it.
pub fn rate(
    scenario: &'static Scenario,
    engine: EngineKind,
    seconds: f64,
    clock: &dyn Fn() -> f64,
) -> Rate {
    let config = Config {
        search: engine.search().unwrap_or(Config::default().search),
        preemption_bound: None,
        max_executions: if engine == EngineKind::Loom { BATCH } else { u64::MAX },
        ..Config::default()
    };
    let nothing = || -> AtEnd { Box::new(|_| None) };
    let began = clock();
    let (mut executions, mut once) = (0, 0);
    // The clock is looked at seldom: a look is dearer than a small search.
    let mut next_look = 0;
    loop {
        let outcome = match engine {
            EngineKind::Loom => check_loom(&config, scenario.body, nothing()),
            EngineKind::Shuttle => {
                check_shuttle(&config, Walk::Urw, BATCH, 7, scenario.body, nothing())
            }
            _ => check_explore(&config, scenario.body, nothing()),
        };
        once = once.max(outcome.executions);
        executions += outcome.executions + outcome.blocked;
        if executions < next_look {
            continue;
        }
        next_look = executions + BATCH;
        let cpu_seconds = clock() - began;
        if cpu_seconds >= seconds {
            return Rate { executions, once, cpu_seconds };
        }
    }
}
