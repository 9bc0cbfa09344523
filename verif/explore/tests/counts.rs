//! Exact numbers of executions of the hand-written scenarios, and that none is given up.

mod common;
#[path = "common/scenarios.rs"]
mod scenarios;

use common::{compare, Seen};
use pollproof_explore::{explore, Config};
use scenarios::{list, qv_lock, ListOp, ListOp::*};
use std::cell::RefCell;
use std::ops::ControlFlow::Continue;
use std::rc::Rc;

/// Executions and blocked ones; each must end well.
fn counts(program: &dyn Fn()) -> (u64, u64) {
    let summary = explore(&Config::default(), program, &mut |e| {
        assert!(e.is_clean(), "{:?} {:?}", e.end, e.races());
        Continue(())
    });
    assert!(summary.is_exhaustive());
    (summary.executions, summary.blocked)
}

fn equals_brute_force(program: &dyn Fn()) {
    let seen = Rc::new(RefCell::new(Seen::new()));
    let compared = compare(program, &seen, 2_000_000);
    assert!(compared.judged, "too big for brute force");
    assert_eq!(compared.wrong, None);
}

#[test]
fn the_state_lock_has_the_known_counts() {
    assert_eq!(counts(&|| qv_lock(2, 1)), (4, 0));
    assert_eq!(counts(&|| qv_lock(3, 1)), (24, 0));
    assert_eq!(counts(&|| qv_lock(4, 1)), (192, 0));
    assert_eq!(counts(&|| qv_lock(2, 2)), (26, 0));
    assert_eq!(counts(&|| qv_lock(3, 2)), (1_620, 0));
}

#[test]
fn the_state_lock_equals_brute_force() {
    equals_brute_force(&|| qv_lock(2, 1));
    equals_brute_force(&|| qv_lock(3, 1));
    equals_brute_force(&|| qv_lock(2, 2));
}

const LISTS: [(&[ListOp], u64); 7] = [
    (&[Add, Lookup], 2),
    (&[Del, Lookup], 2),
    (&[Add, Del], 2),
    (&[Add, Del, Lookup], 6),
    (&[Add, Add, Lookup], 6),
    (&[Add, Del, Lookup, Lookup], 18),
    (&[Add, Add, Del, Lookup], 24),
];

#[test]
fn the_list_has_the_known_counts() {
    for (ops, count) in LISTS {
        for first_on_main in [false, true] {
            let (executions, blocked) = counts(&|| list(ops, first_on_main));
            assert_eq!((executions, blocked), (count, 0), "{ops:?} {first_on_main}");
        }
    }
}

#[test]
fn the_list_equals_brute_force() {
    for (ops, _) in &LISTS[..5] {
        equals_brute_force(&|| list(ops, false));
        equals_brute_force(&|| list(ops, true));
    }
    equals_brute_force(&|| list(&[Add, Add, Del, Lookup], true));
}
