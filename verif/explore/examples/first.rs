//! A message that x86 would deliver and C11 may not: `cargo run -p pollproof-explore --example
//! first`.

use pollproof_explore::handles::start;
use pollproof_explore::rt::{Atomic, Ordering::*};
use pollproof_explore::{explore, Config, Model, Reduction};
use std::ops::ControlFlow::{Break, Continue};

fn program() {
    let (length, ready) = (Atomic::new(0), Atomic::new(0));
    let sender = start(move || {
        length.store(60, Relaxed);
        ready.store(1, Relaxed); // Release is missing.
    });
    if ready.load(Acquire) == 1 {
        assert_eq!(length.load(Relaxed), 60, "stale length");
    }
    sender.join();
}

fn main() {
    for model in Model::ALL {
        let config = Config { reduction: Reduction::Graphs, model, ..Config::default() };
        let summary = explore(&config, &program, &mut |execution| {
            if execution.is_clean() {
                return Continue(());
            }
            println!("{}: {:?}", model.name(), execution.end);
            execution.steps().iter().for_each(|step| println!("  {step}"));
            println!("  replay: {}", execution.token());
            Break(())
        });
        println!("{}: {} executions, {:?}", model.name(), summary.executions, summary.coverage);
    }
}
