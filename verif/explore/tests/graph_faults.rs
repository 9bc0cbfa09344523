//! The comparison with the oracle is seen to fail: engines with one planted fault each, and how
//! small a failing program is made.

mod axioms;

use axioms::compare::differences;
use axioms::models::Model;
use axioms::program::Program;
use axioms::run::{interleaved, run, Run};
use axioms::shrink::shrink;
use axioms::text::program;
use pollproof_explore::Config;

fn interleavings(program: &Program) -> Run {
    run(program, &Config::default(), &interleaved)
}

/// What the comparison says of an engine of SC with a fault.
fn said(text: &str, fault: impl Fn(&mut Run)) -> String {
    let engine = |p: &Program| {
        let mut run = interleavings(p);
        fault(&mut run);
        run
    };
    differences(&program(text), Model::Sc, &engine).expect("small").join("\n")
}

const SB: &str = "w x 1; r y || w y 1; r x";

#[test]
fn a_sound_engine_gives_no_difference() {
    assert_eq!(said(SB, |_| {}), "");
}

#[test]
fn a_missing_execution_is_seen() {
    assert!(said(SB, |run| drop(run.complete.pop_first())).starts_with("missing: T0:"));
}

#[test]
fn an_execution_too_many_is_seen() {
    let fault = |run: &mut Run| run.complete.extend([("T0: R0<T1.7".into(), 1)]);
    assert_eq!(said(SB, fault), "extra: T0: R0<T1.7");
}

#[test]
fn an_execution_run_twice_is_seen() {
    let fault = |run: &mut Run| run.complete.values_mut().take(1).for_each(|n| *n += 1);
    assert!(said(SB, fault).starts_with("2 times: T0:"));
}

#[test]
fn a_deadlock_that_is_missed_or_made_up_is_seen() {
    let stuck = "await x 1 || w x 1; w x 2";
    assert!(said(stuck, |run| run.stuck = false).starts_with("stuck:"));
    assert!(said(SB, |run| run.stuck = true).starts_with("stuck:"));
}

#[test]
fn a_race_that_is_missed_or_made_up_is_seen() {
    assert!(said("pw c || pr c", |run| run.races = false).starts_with("races:"));
    assert!(said("pr c || pr c", |run| run.races = true).starts_with("races:"));
}

#[test]
fn a_search_that_gave_up_is_seen() {
    let short = Config { max_executions: 2, ..Config::default() };
    let engine = |p: &Program| run(p, &short, &interleaved);
    let lines = differences(&program(SB), Model::Sc, &engine).expect("small");
    assert_eq!(lines[0], "Executions");
}

/// Taken for an engine of `model`, interleavings fail on this smallest program.
fn smallest(text: &str, model: Model) -> String {
    let fails =
        |p: &Program| differences(p, model, &interleavings).is_some_and(|lines| !lines.is_empty());
    let small = shrink(program(text), &fails);
    assert!(fails(&small));
    small.to_string()
}

#[test]
fn a_failing_program_is_made_small() {
    let text = "lock l; add y 1; unlock l; w.rel x 2; f.acq; r y || r z; w z 1 \
        || choose 2; if 1 1; w y 2; w.rel y 1; r.acq x";
    assert_eq!(smallest(text, Model::Tso), "w.rlx x 1; r.rlx y || w.rlx y 1; r.rlx x");
    assert_eq!(smallest(SB, Model::Rc11), "w.rlx x 1; r.rlx y || w.rlx y 1; r.rlx x");
}
