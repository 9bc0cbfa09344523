//! Litmus tests with known verdicts, among them all of the Linux kernel's: first on the oracle,
//! which they check, then on the engine.

mod axioms;

use axioms::compare::differences;
use axioms::graph::{all, search};
use axioms::models::{Model, MODELS};
use axioms::program::Program;
use axioms::run::graphs;
use axioms::table::table;
use axioms::text::program;

/// States of the oracle; no litmus test comes near.
const CAP: usize = 100_000;

#[test]
fn the_oracle_gives_every_known_verdict() {
    let mut wrong = Vec::new();
    for test in table() {
        for model in MODELS {
            let found = all(&test.program, model, CAP).expect("small");
            let seen = found.complete.iter().any(|g| g.grants(&test.program, &test.weak));
            if seen != test.allowed_in(model) {
                wrong.push(format!("{} {model:?}: {seen}", test.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_engine_finds_the_graphs_of_every_litmus_test() {
    let mut wrong = Vec::new();
    for test in table() {
        for model in MODELS {
            let engine = |p: &Program| graphs(p, model);
            for line in differences(&test.program, model, &engine).expect("small") {
                wrong.push(format!("{} {model:?}: {line}", test.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rc11_agrees_with_the_kernel_but_for_stated_reasons() {
    let mut kernel = 0;
    for test in table() {
        let Some(result) = test.source.strip_prefix("LKMM ") else { continue };
        kernel += 1;
        let agrees = result.starts_with("Sometimes") == test.allowed_in(Model::Rc11);
        assert_eq!(agrees, !result.contains(';'), "{}", test.name);
    }
    assert_eq!(kernel, 35);
}

#[test]
fn the_table_is_large_and_its_names_differ() {
    let mut names: Vec<_> = table().iter().map(|t| t.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), table().len());
    assert!(names.len() >= 55, "{}", names.len());
}

#[test]
fn what_sc_allows_every_model_allows() {
    for test in table() {
        let graphs = |model| all(&test.program, model, CAP).expect("small").complete;
        let sc = graphs(Model::Sc);
        for model in [Model::Tso, Model::Ra, Model::Rc11] {
            assert!(sc.is_subset(&graphs(model)), "{} {model:?}", test.name);
        }
    }
}

#[test]
fn taking_local_steps_first_loses_no_graph() {
    for test in table() {
        for model in MODELS {
            let eager = search(&test.program, model, CAP, true).expect("small");
            let Some(plain) = search(&test.program, model, CAP, false) else { continue };
            assert_eq!(eager.complete, plain.complete, "{} {model:?}", test.name);
            assert_eq!(eager.stuck, plain.stuck, "{} {model:?}", test.name);
        }
    }
}

/// Complete graphs in SC, TSO and RC11, as known from elsewhere.
#[test]
fn numbers_of_graphs_are_those_known() {
    let known = [
        ("SB+poonceonces", [3, 4, 4]),
        ("MP+poonceonces", [3, 3, 4]),
        ("IRIW+poonceonces+OnceOnce", [15, 15, 16]),
        ("WRC+poonceonces+Once", [7, 7, 8]),
        ("CoRR2", [72, 72, 72]),
    ];
    for (name, counts) in known {
        let test = table().into_iter().find(|t| t.name == name).expect("it is there");
        let count = |model| all(&test.program, model, CAP).expect("small").complete.len();
        assert_eq!([Model::Sc, Model::Tso, Model::Rc11].map(count), counts, "{name}");
    }
}

/// Programs with a plain cell, and whether it is raced for: by the orders of C11 in every model.
const RACES: [(&str, bool); 9] = [
    ("pw c || pw c", true),
    ("pr c || pr c", false),
    ("pw c; w.rel x 1 || await.acq x 1; pr c", false),
    ("pw c; w x 1 || await.acq x 1; pr c", true),
    ("pw c; w.rel x 1 || await x 1; pr c", true),
    ("pw c; f.rel; w x 1 || await x 1; f.acq; pr c", false),
    ("pw c; w.rel x 1 || add x 1 || await.acq x 2; pr c", false),
    ("lock l; pw c; unlock l || lock l; pr c; unlock l", false),
    ("lock l; pw c; unlock l; pr c || lock l; pw c; unlock l", true),
];

#[test]
fn the_oracle_tells_races_in_every_model() {
    for (text, races) in RACES {
        for model in MODELS {
            let found = all(&program(text), model, CAP).expect("small");
            assert_eq!(!found.races.is_empty(), races, "{text} {model:?}");
        }
    }
}

/// Programs, and whether somebody can wait for ever in them, in every model.
const STUCK: [(&str, bool); 6] = [
    ("await x 1 || w x 1", false),
    ("await x 1 || w x 1; w x 2", true),
    ("differ x 0 || w x 1; w x 2", false),
    ("lock l; lock m; unlock m; unlock l || lock m; lock l; unlock l; unlock m", true),
    ("lock l; lock m; unlock m; unlock l || lock l; lock m; unlock m; unlock l", false),
    ("lock l; await x 1; unlock l || lock l; w x 1; unlock l", true),
];

#[test]
fn the_oracle_tells_who_waits_for_ever() {
    for (text, stuck) in STUCK {
        for model in MODELS {
            let found = all(&program(text), model, CAP).expect("small");
            assert_eq!(!found.stuck.is_empty(), stuck, "{text} {model:?}");
        }
    }
}
