//! Executions a CPU-second of each engine on the same scenario, without rules and recorder: what
//! the engine itself costs.

use crate::scenario::{EngineKind, Scenario};
use pollproof_engines::{check_explore, check_loom, check_shuttle, AtEnd, Config, Walk};

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
        let cpu_seconds = clock() - began;
        if cpu_seconds >= seconds {
            return Rate { executions, once, cpu_seconds };
        }
    }
}
