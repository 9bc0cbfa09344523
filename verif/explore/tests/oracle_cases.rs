//! Programs that a version of the search once missed something in, against brute force.

mod common;

use common::{compare_program, Op::*, Program};

fn agrees(program: Program, classes: u64) {
    let compared = compare_program(&program, 100_000);
    assert!(compared.judged);
    assert_eq!(compared.wrong, None);
    assert_eq!(compared.brute, classes);
}

#[test]
fn a_wait_is_reversed_at_the_end_of_an_execution_that_was_given_up() {
    agrees(vec![vec![Load(1)], vec![Wait(0, 1), Update(1, 1)], vec![Store(0, 1), Store(0, 0)]], 3);
}

#[test]
fn a_wait_is_reversed_over_writes_that_would_have_left_it_disabled() {
    agrees(vec![vec![Store(0, 1)], vec![Store(0, 2), Store(0, 1)], vec![Wait(0, 1)]], 6);
}

#[test]
fn a_second_wait_is_asked_again_though_nobody_wrote() {
    agrees(vec![vec![Store(0, 0)], vec![Wait(1, 0), Wait(0, 1)]], 1);
}

#[test]
fn a_wait_inside_a_lock_blocks_the_others() {
    agrees(
        vec![
            vec![Lock(0), Wait(0, 1), Unlock(0)],
            vec![Lock(0), Store(0, 1), Unlock(0)],
            vec![Store(0, 1), Store(0, 0)],
        ],
        9,
    );
}

#[test]
fn iriw_has_fifteen_classes() {
    agrees(
        vec![vec![Store(0, 1)], vec![Store(1, 1)], vec![Load(0), Load(1)], vec![Load(1), Load(0)]],
        15,
    );
}
