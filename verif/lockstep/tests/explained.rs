//! A difference is explained: a line, both values, last events, a token, a waveform.
#![cfg(feature = "rtl")]

use pollproof_lockstep::equivalence::{block, Relation, BLOCKS};
use pollproof_lockstep::lock::{Lock, Why};
use pollproof_lockstep::plants::{plant, PLANTS};
use pollproof_lockstep::run::{run, Options};
use pollproof_lockstep::token::{parse, TokenError};

fn fields(first: u64) -> [u64; 6] {
    [first, 0, 0, 0, 0, 0]
}

#[test]
fn names_are_known_once_and_belong_together() {
    for (n, fault) in PLANTS.iter().enumerate() {
        assert!(block(fault.block).is_some(), "{}", fault.id);
        assert!(PLANTS[..n].iter().all(|other| other.id != fault.id), "{}", fault.id);
    }
    for block in BLOCKS {
        for (n, about) in block.observables.iter().enumerate() {
            assert!(block.observables[..n].iter().all(|other| other.name != about.name));
            assert!(about.fields.len() <= 6 && !about.why.is_empty());
        }
    }
}

/// Books over a table in which 0 is in order within 4 cycles and 1 is of the same cycle.
fn books() -> Lock {
    let block = &BLOCKS[0];
    assert_eq!(block.observables[0].relation, Relation::Order { within: 4 });
    assert_eq!(block.observables[2].relation, Relation::Same);
    Lock::new(block.observables)
}

#[test]
fn what_comes_in_order_and_in_time_is_no_difference() {
    let mut lock = books();
    for cycle in 0..100 {
        lock.begin(cycle);
        lock.model(0, fields(cycle));
        lock.rtl(0, fields(cycle));
        lock.same(2, fields(cycle), fields(cycle));
        lock.open(0);
    }
    assert!(!lock.has_difference());
    assert_eq!(lock.compared(), 200);
}

#[test]
fn each_kind_of_difference_is_told_from_the_others() {
    let why = |play: fn(&mut Lock)| {
        let mut lock = books();
        play(&mut lock);
        lock.take_difference().map(|d| d.why)
    };
    let late = |lock: &mut Lock, cycles: u64| {
        lock.model(0, fields(1));
        (0..cycles).for_each(|_| lock.open(0));
    };
    assert_eq!(why(|lock| lock.rtl(0, fields(1))), Some(Why::Unasked));
    let differ = |lock: &mut Lock| {
        lock.model(0, fields(1));
        lock.rtl(0, fields(2));
    };
    assert_eq!(why(differ), Some(Why::Differ));
    assert_eq!(why(|lock| lock.same(2, fields(1), fields(2))), Some(Why::Differ));
    let mut lock = books();
    late(&mut lock, 4);
    assert!(!lock.has_difference(), "the bound itself is in time");
    lock.open(0);
    assert_eq!(lock.take_difference().map(|d| d.why), Some(Why::Late));
    let failed = |lock: &mut Lock| lock.assertion("x.sv:1".into());
    assert_eq!(why(failed), Some(Why::Assertion("x.sv:1".into())));
}

#[test]
fn a_token_replays_the_same_difference() {
    let fault = plant("R-CQ-STALE");
    let block = block("mlx4-cq").expect("the block");
    let options = Options { cases: 50, seed: 3, plant: fault, ..Options::default() };
    let found = run(block, &options).expect("no file").found.expect("a difference");
    let (again, options) = parse(&found.token).expect("our own token");
    let report = run(again, &options).expect("no file");
    let second = report.found.expect("the same difference");
    let text = |d: &pollproof_lockstep::lock::Difference| d.text(block.observables);
    assert_eq!(text(&found.difference), text(&second.difference));
    assert_eq!((found.token, report.cases), (second.token, 1));
    assert!(text(&second.difference).contains("last events, RTL"));
}

#[test]
fn tokens_that_make_no_sense_are_refused_in_words() {
    let form = |text: &str| matches!(parse(text), Err(TokenError::Form(_)));
    assert!(form("x") && form("lockstep/mlx4-cq") && form("lockstep/mlx4-cq@12"));
    assert!(matches!(parse("lockstep/x@1:1.1"), Err(TokenError::Block(_))));
    assert!(matches!(parse("lockstep/mlx4-cq+x@1:1.1"), Err(TokenError::Plant(_))));
    let Err(TokenError::Hash { here, .. }) = parse("lockstep/mlx4-cq@1:1.1") else {
        panic!("another version's token is refused");
    };
    for numbers in ["", "1", "1.", ".1", "1.x", "-1.1", "99999999999999999999.1"] {
        assert!(form(&format!("lockstep/mlx4-cq@{here}:{numbers}")), "{numbers}");
    }
    assert!(parse(&format!("lockstep/mlx4-cq@{here}:1.18446744073709551615")).is_ok());
}
