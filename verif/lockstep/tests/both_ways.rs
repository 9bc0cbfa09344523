//! The RTL beside the models: clean as they are, and every planted fault found, by name.
#![cfg(feature = "rtl")]

use pollproof_lockstep::equivalence::BLOCKS;
use pollproof_lockstep::plants::{Side, PLANTS};
use pollproof_lockstep::run::{run, Options, CASE_CYCLES};

/// So many cycles must be enough to find a planted fault.
const FIND_CYCLES: u64 = 100_000;

#[test]
fn a_million_random_cycles_of_each_block_have_no_difference() {
    for block in BLOCKS {
        let cases = 1_000_000 / CASE_CYCLES;
        let report = run(block, &Options { cases, ..Options::default() }).expect("no file");
        if let Some(found) = report.found {
            panic!("{}: {}\n{}", block.id, found.token, found.difference.text(block.observables));
        }
        assert_eq!(report.cycles, 1_000_000, "{}", block.id);
        println!("{}: {} cycles, {} values compared", block.id, report.cycles, report.compared);
        assert!(20 * report.compared > report.cycles, "{}: {}", block.id, report.compared);
    }
}

#[test]
fn every_planted_fault_is_found_within_a_hundred_thousand_cycles() {
    let mut missed = Vec::new();
    for plant in PLANTS {
        let block = BLOCKS.iter().find(|b| b.id == plant.block).expect("a block of that name");
        let cases = FIND_CYCLES / CASE_CYCLES;
        let options = Options { cases, plant: Some(plant), ..Options::default() };
        let report = run(block, &options).expect("no file");
        match report.found {
            Some(found) => {
                println!("{} {} {}", plant.id, report.cycles, found.difference.headline())
            }
            None => missed.push(plant.id),
        }
    }
    assert_eq!(missed, [""; 0], "planted and not found");
    let of = |side: fn(Side) -> bool| PLANTS.iter().filter(|p| side(p.side)).count();
    assert!(of(|s| s != Side::Model) >= 10 && of(|s| s == Side::Model) >= 6);
}
