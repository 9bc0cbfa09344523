//! Properties: whatever the choices, both sides stay together. What fails shrinks to few choices.
#![cfg(feature = "rtl")]

use pollproof_lockstep::equivalence::BLOCKS;
use pollproof_lockstep::run::run_tape;
use proptest::prelude::*;

/// Choices, many of which do nothing, so that what happens lies apart.
fn choices() -> impl Strategy<Value = Vec<u32>> {
    let word = prop_oneof![2 => Just(0), 3 => any::<u32>(), 1 => (28..32u32).prop_map(|n| 1 << n)];
    prop::collection::vec(word, 0..3_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn both_sides_stay_together_whatever_is_chosen(
        block in 0..BLOCKS.len(),
        words in choices(),
    ) {
        let block = &BLOCKS[block];
        let found = run_tape(block, words, None);
        let text = found.as_ref().map(|found| found.text(block.observables));
        prop_assert!(found.is_none(), "{}", text.unwrap_or_default());
    }
}
