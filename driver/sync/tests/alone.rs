//! Objects of a thread that is alone behave as those of std do for one thread.

use pollproof_sync::Ordering::{AcqRel, Relaxed};
use pollproof_sync::{alone, AtomicU32, AtomicU64};

/// All that a word can be asked to do, and what it answered.
fn script(word: &AtomicU32, wide: &AtomicU64) -> Vec<u64> {
    let mut seen = vec![
        u64::from(word.swap(7, AcqRel)),
        u64::from(word.fetch_add(u32::MAX, AcqRel)),
        u64::from(word.fetch_sub(10, AcqRel)),
        u64::from(word.fetch_and(0xffff, AcqRel)),
        u64::from(word.fetch_or(0x1_0000, AcqRel)),
        wide.fetch_sub(1, AcqRel),
        wide.fetch_add(2, AcqRel),
    ];
    for expected in [0, 0x1_fffc] {
        let result = word.compare_exchange(expected, 5, AcqRel, Relaxed);
        seen.extend([u64::from(result.is_ok()), u64::from(result.unwrap_or_else(|v| v))]);
    }
    for refuse in [true, false] {
        let result = word.update(AcqRel, |v| (!refuse).then_some(v + 1));
        seen.extend([u64::from(result.is_ok()), u64::from(result.unwrap_or_else(|v| v))]);
    }
    seen.extend([u64::from(word.load(Relaxed)), wide.load(Relaxed)]);
    seen
}

#[test]
fn a_word_of_a_lone_thread_changes_as_any_other() {
    let run = || script(&AtomicU32::new(1), &AtomicU64::new(0));
    let shared = run();
    let scope = alone::enter();
    assert_eq!(run(), shared);
    drop(scope);
    assert_eq!(shared.last(), Some(&1));
}
