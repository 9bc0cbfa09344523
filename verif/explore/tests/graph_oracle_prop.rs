//! Random programs: the engine finds each consistent execution graph once, and nothing else.

mod axioms;

use axioms::compare::random;
use axioms::models::Model;
use axioms::run::{interleaved, run};
use pollproof_explore::Config;

/// Programs a model: `EXPLORE_FUZZ_PROGRAMS`, else so many that it takes seconds.
fn programs() -> u64 {
    number("EXPLORE_FUZZ_PROGRAMS").unwrap_or(400)
}

fn seed() -> u64 {
    number("EXPLORE_FUZZ_SEED").unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn interleavings_are_the_graphs_of_sc() {
    random(seed(), programs(), Model::Sc, &|p| run(p, &Config::default(), &interleaved));
}
