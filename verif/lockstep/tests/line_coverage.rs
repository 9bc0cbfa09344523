//! Which lines of the RTL run in lock-step. What does not run is listed here, with a reason.
#![cfg(feature = "rtl-coverage")]

use pollproof_lockstep::equivalence::BLOCKS;
use pollproof_lockstep::run::cover;
use std::collections::BTreeMap;
use std::path::Path;

/// Percent of the points of a file that must run.
const FLOOR: f64 = 95.0;

/// Points that do not run: file, text of the line, why.
const NOT_RUN: &[(&str, &str, &str)] = &[
    ("ixgbe_rx.sv", "default: state <= IDLE;", "no state has this code"),
    ("ixgbe_rx.sv", "default: ;", "offsets between the registers are not written"),
    ("ixgbe_tx.sv", "default: ;", "offsets between the registers are not written"),
];

/// Points of all files: how often each ran.
type Points = BTreeMap<(String, u32, String), u64>;

/// Adds a line such as `C '^Af^Bfifo.sv^Al^B12^An^B3^A...' 42`; ^A and ^B are bytes 1 and 2.
fn add(points: &mut Points, line: &str) {
    let Some((key, count)) = line.strip_prefix("C '").and_then(|l| l.rsplit_once("' ")) else {
        return;
    };
    let fields: BTreeMap<&str, &str> =
        key.split('\u{1}').filter_map(|field| field.split_once('\u{2}')).collect();
    let text = |name: &str| fields.get(name).copied().unwrap_or_default();
    let line = text("l").parse().unwrap_or(0);
    let point = format!("{} {}", text("n"), text("o"));
    *points.entry((text("f").to_owned(), line, point)).or_default() +=
        count.parse::<u64>().unwrap_or(0);
}

#[test]
fn nearly_every_line_of_the_rtl_runs_and_the_rest_is_listed() {
    let mut points = Points::new();
    for block in BLOCKS {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.coverage", block.id));
        assert!(cover(block, 200, 7, &file), "{}", block.id);
        let text = std::fs::read_to_string(&file).expect("what was written");
        text.lines().for_each(|line| add(&mut points, line));
    }
    let mut files: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut missed = Vec::new();
    for ((file, line, point), count) in &points {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl-sim/rtl").join(file);
        let source = std::fs::read_to_string(path).expect("the source");
        let text = source.lines().nth(*line as usize - 1).unwrap_or_default().trim();
        // What a planted fault does runs in the runs that plant it.
        if text.contains("planted(") {
            continue;
        }
        let entry = files.entry(file).or_default();
        entry.0 += u64::from(*count != 0);
        entry.1 += 1;
        if *count == 0 {
            if !NOT_RUN.iter().any(|known| known.0 == file && known.1 == text) {
                missed.push(format!("{file}:{line} ({point}): {text}"));
            }
        }
    }
    assert!(files.len() >= 7, "{files:?}");
    for (file, (ran, all)) in &files {
        let percent = 100.0 * *ran as f64 / *all as f64;
        println!("{file}: {ran} of {all} points, {percent:.1} %");
        assert!(percent >= FLOOR, "{file}: {percent:.1} %\n{}", missed.join("\n"));
    }
    assert!(missed.is_empty(), "not run and not listed:\n{}", missed.join("\n"));
}
