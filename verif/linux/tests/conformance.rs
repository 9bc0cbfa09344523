//! Our ixgbe does on its data path what Linux's did, step by step. No kernel is needed: what Linux
//! did is recorded, by `pollproof linux conformance --bless`.

use pollproof_linux::conformance::{difference, ours, parse, Pattern, Step, PATTERNS};
use std::path::PathBuf;

fn recorded(pattern: &Pattern) -> Vec<Step> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/linux"));
    let path = folder.join(format!("ixgbe-{}.trace", pattern.name));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    parse(&text).unwrap_or_else(|e| panic!("{path:?}: {e}"))
}

#[test]
fn our_driver_takes_the_steps_that_linux_took() {
    for pattern in PATTERNS {
        let (linux, ours) = (recorded(pattern), ours(pattern).expect("a run"));
        let last = Step::Frame(pattern.frames().len() as u64 - 1);
        assert!(linux.contains(&last), "{}: a whole trace", pattern.name);
        if let Some(difference) = difference(&linux, &ours) {
            panic!("{}: {difference}", pattern.name);
        }
    }
}

#[test]
fn the_traces_have_all_kinds_of_steps() {
    let all: Vec<Step> = PATTERNS.iter().flat_map(recorded).collect();
    let kinds: [fn(&Step) -> bool; 6] = [
        |s| matches!(s, Step::Frame(_)),
        |s| matches!(s, Step::WriteBack { .. }),
        |s| matches!(s, Step::Interrupt(_)),
        |s| matches!(s, Step::Tail { .. }),
        |s| matches!(s, Step::Moderation { .. }),
        |s| matches!(s, Step::Rearm { .. }),
    ];
    for (n, is_kind) in kinds.iter().enumerate() {
        assert!(all.iter().filter(|step| is_kind(step)).count() > 20, "kind {n}");
    }
}
