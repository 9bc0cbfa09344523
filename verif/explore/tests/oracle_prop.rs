//! The search against brute force on random programs: the same classes, each exactly once.

mod common;

use common::{compare_program, Op, Program};
use proptest::prelude::*;

/// Interleavings beyond which a program is not judged.
const BRUTE_MAX: u64 = 20_000;

fn access() -> impl Strategy<Value = Vec<Op>> {
    prop_oneof![
        4 => (0..2usize).prop_map(|x| vec![Op::Load(x)]),
        4 => (0..2usize, 0..3u64).prop_map(|(x, v)| vec![Op::Store(x, v)]),
        2 => (0..2usize).prop_map(|x| vec![Op::Add(x)]),
        3 => (0..2usize, 0..2u64, 0..3u64).prop_map(|(x, old, new)| vec![Op::Cas(x, old, new)]),
        2 => (0..2usize, 1..3u64).prop_map(|(x, max)| vec![Op::Update(x, max)]),
        1 => Just(vec![Op::Choose(2)]),
    ]
}

fn waiting() -> impl Strategy<Value = Vec<Op>> {
    prop_oneof![
        3 => access(),
        2 => (0..2usize, 0..3u64).prop_map(|(x, v)| vec![Op::Wait(x, v)]),
    ]
}

fn locking() -> impl Strategy<Value = Vec<Op>> {
    prop_oneof![
        2 => access(),
        2 => (0..2usize, access()).prop_map(|(l, inner)| around(l, inner)),
        1 => (0..2usize, 0..2usize, access())
            .prop_map(|(a, b, inner)| {
                if a == b {
                    around(a, inner)
                } else {
                    around(a, around(b, inner))
                }
            }),
        1 => (0..2usize, waiting()).prop_map(|(l, inner)| around(l, inner)),
    ]
}

fn around(lock: usize, mut inner: Vec<Op>) -> Vec<Op> {
    inner.insert(0, Op::Lock(lock));
    inner.push(Op::Unlock(lock));
    inner
}

fn program(
    part: impl Strategy<Value = Vec<Op>> + Clone + 'static,
    threads: std::ops::RangeInclusive<usize>,
    parts: usize,
) -> impl Strategy<Value = Program> {
    let thread = prop::collection::vec(part, 0..=parts).prop_map(|parts| parts.concat());
    prop::collection::vec(thread, threads)
}

/// Three threads that all have work; most of it is about the same object.
fn busy() -> impl Strategy<Value = Program> {
    let thread = prop::collection::vec(waiting(), 2..=3).prop_map(|parts| parts.concat());
    prop::collection::vec(thread, 3..=3)
}

fn agrees(program: &Program) -> Result<(), TestCaseError> {
    let compared = compare_program(program, BRUTE_MAX);
    prop_assert!(compared.wrong.is_none(), "{}", compared.wrong.unwrap_or_default());
    Ok(())
}

fn cases(default: u32) -> ProptestConfig {
    let scale: u32 = std::env::var("ORACLE_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    ProptestConfig { cases: default * scale, ..Default::default() }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn two_to_four_threads_of_accesses_are_covered(p in program(access().boxed(), 2..=4, 3)) {
        agrees(&p)?;
    }

    #[test]
    fn busy_threads_are_covered(p in busy()) {
        agrees(&p)?;
    }

    #[test]
    fn waits_are_covered(p in program(waiting().boxed(), 2..=4, 3)) {
        agrees(&p)?;
    }

    #[test]
    fn locks_with_waits_inside_are_covered(p in program(locking().boxed(), 2..=3, 2)) {
        agrees(&p)?;
    }

    #[test]
    fn many_short_threads_are_covered(p in program(waiting().boxed(), 4..=5, 1)) {
        agrees(&p)?;
    }
}
