//! Random programs: the engine finds each consistent execution graph once, and nothing else.

mod axioms;

use axioms::buffers::Buffers;
use axioms::compare::{differences, random};
use axioms::generate::program;
use axioms::graph::all;
use axioms::machine::{ends, ends_of, Machine};
use axioms::models::{Model, MODELS};
use axioms::program::Program;
use axioms::run::{graphs, graphs_with_plain_locks, interleaved, run};
use axioms::text;
use axioms::views::Views;
use pollproof_explore::Config;

/// Programs a model: `EXPLORE_FUZZ_PROGRAMS`, else so many that it takes seconds.
fn programs() -> u64 {
    number("EXPLORE_FUZZ_PROGRAMS").unwrap_or(250)
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

#[test]
fn graphs_are_those_of_sc() {
    random(seed(), programs(), Model::Sc, &|p| graphs(p, Model::Sc));
}

#[test]
fn graphs_are_those_of_tso() {
    random(seed(), programs(), Model::Tso, &|p| graphs(p, Model::Tso));
}

#[test]
fn graphs_are_those_of_ra() {
    random(seed(), programs(), Model::Ra, &|p| graphs(p, Model::Ra));
}

#[test]
fn graphs_are_those_of_rc11() {
    random(seed(), programs(), Model::Rc11, &|p| graphs(p, Model::Rc11));
}

/// The rules for locks are the engine's own, so the search without them is a second opinion.
#[test]
fn plain_locks_give_the_same_graphs() {
    for model in MODELS {
        random(seed() + 1, programs() / 4, model, &|p| graphs_with_plain_locks(p, model));
    }
}

/// States of a machine before it gives up.
const STATES: usize = 200_000;

/// Holds the axioms against a machine; nothing where they are not to be compared.
fn axioms_meet_machine<M: Machine>(model: Model, machine: impl Fn(&Program) -> Option<M>) {
    let (mut compared, mut tried) = (0, 0);
    for index in 0..programs() {
        let program = program(seed(), index);
        let Some(start) = machine(&program) else { continue };
        tried += 1;
        let Some(machine) = ends(start, &program, STATES) else { continue };
        let Some(found) = all(&program, model, STATES) else { continue };
        compared += 1;
        let axioms = ends_of(&program, &found);
        let more: Vec<_> = axioms.difference(&machine).collect();
        let less: Vec<_> = machine.difference(&axioms).collect();
        assert_eq!((more, less), (vec![], vec![]), "axioms only, machine only: {program}");
    }
    println!("{model:?}: {compared} of {tried} programs compared");
    assert!(compared >= tried * 9 / 10 && tried >= programs() / 4, "{compared} of {tried}");
}

#[test]
fn the_axioms_of_sc_allow_what_a_plain_memory_does() {
    axioms_meet_machine(Model::Sc, |p| Some(Buffers::new(p, false)));
}

#[test]
fn the_axioms_of_tso_allow_what_store_buffers_do() {
    axioms_meet_machine(Model::Tso, |p| Some(Buffers::new(p, true)));
}

#[test]
fn the_axioms_of_ra_allow_what_views_do() {
    axioms_meet_machine(Model::Ra, |p| Some(Views::new(p, true)));
}

/// Views know no SC accesses, only SC fences.
#[test]
fn the_axioms_of_rc11_allow_what_views_do() {
    axioms_meet_machine(Model::Rc11, |p| (!p.has_sc_accesses()).then(|| Views::new(p, false)));
}

#[test]
fn with_seqcst_everywhere_all_is_sc() {
    for index in 0..programs() {
        let program = program(seed(), index).strongest();
        let graphs = |model| all(&program, model, STATES).map(|f| (f.complete, f.stuck));
        let sc = graphs(Model::Sc);
        for model in [Model::Tso, Model::Rc11] {
            assert!(graphs(model) == sc, "{model:?}: {program}");
        }
    }
}

/// An unordered store is stronger in RA than TSO has it, and RA has no SC accesses.
#[test]
fn a_weaker_model_allows_more() {
    for index in 0..programs() {
        let program = program(seed(), index);
        let graphs = |model| all(&program, model, STATES).map(|f| f.complete);
        let models = [Model::Sc, Model::Tso, Model::Ra, Model::Rc11].map(graphs);
        let [Some(sc), Some(tso), Some(ra), Some(rc11)] = models else { continue };
        assert!(sc.is_subset(&tso) && sc.is_subset(&ra) && sc.is_subset(&rc11), "{program}");
        if !program.has_unordered_stores() {
            assert!(tso.is_subset(&ra) && tso.is_subset(&rc11), "{program}");
        }
        if !program.has_sc_accesses() {
            assert!(ra.is_subset(&rc11), "{program}");
        }
    }
}

/// Programs on which the engine once differed, made small.
const ONCE: [&str; 6] = [
    "choose 2",
    "r y || w y 1; cas x 1 1 || w x 2 || w x 1; w y 1",
    "w.sc x 1; f.acq; w.rel x 1 || r.acq x; r.sc y || w.sc y 1; r.sc x",
    "w.sc x 1; f.rel; w x 1 || r.acq x; r.sc y || w.sc y 1; r.sc x",
    "w.sc x 1; f.acq; swap.sc x 2 || r.acq x; r.sc y || w.sc y 1; r.sc x",
    "w.sc x 1; w.rel y 1 || add y 1; f.acq; r.sc y || w.sc y 3; r.sc x",
];

#[test]
fn what_differed_once_differs_no_more() {
    for text in ONCE {
        for model in MODELS {
            let lines = differences(&text::program(text), model, &|p| graphs(p, model));
            assert_eq!(lines, Some(vec![]), "{model:?}: {text}");
        }
    }
}
