//! The story of each bug, as its finding tells it: compared with the checked-in text.
//!
//! `cargo xtask bless` rewrites the texts; review them like prose.

use pollproof_bench::run::{run, Change, Limits};
use pollproof_bugs::stories;
use pollproof_report::narrative;
use std::path::Path;

const LINES_MAX: usize = 12;

#[test]
fn every_bug_tells_its_story_in_twelve_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/narratives");
    let bless = std::env::var_os("POLLPROOF_BLESS").is_some();
    for story in stories::ALL {
        let change = Change { bug: story.id, ..Change::default() };
        let run = run(story.scenario, story.engine, change, &Limits::default());
        let found = run.found.as_ref().unwrap_or_else(|| panic!("{} is not caught", story.id));
        let text = narrative(found.rule, &found.message, &found.records, found.event);
        assert!(text.lines().count() <= LINES_MAX, "{}:\n{text}", story.id);
        let file = folder.join(format!("{}.txt", story.id));
        if bless {
            std::fs::create_dir_all(&folder).expect("the folder of the narratives");
            std::fs::write(&file, &text).expect("the narrative is written");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, expected, "{}: 'cargo xtask bless' takes the new text over", story.id);
    }
}
