//! Rings of several sizes, and more frames at once than they hold.

use super::echo::{Burst, US};
use super::script::Script;
use super::{Case, Setting};
use crate::capture::capture_problem;
use crate::run::RunReport;

/// Sizes that ixgbe takes, from the smallest to the largest.
const SIZES: &[u32] = &[64, 128, 512, 4096];
/// Fewer than the largest ring has, and more bytes than the packet buffer of 512 KiB.
const FRAMES: u32 = 2500;
/// A port where nobody listens: the packet socket sees the frames all the same.
const NOBODY: u16 = 9;

pub fn rings(_: &Setting<'_>) -> Vec<Case> {
    SIZES.iter().map(|&size| ring(size)).collect()
}

fn ring(size: u32) -> Case {
    let settings = format!("rings rx={size} tx={size}");
    // About the longest interval there is: the whole burst comes before the first poll.
    let mut script = Script::up(&[&settings, "gro off", "coalesce rx-usecs=1000"]);
    let mut phases = Vec::new();
    script.line("capture");
    let burst = Burst { port: NOBODY, numbers: 0..FRAMES, gap_ps: US / 4, ..Burst::of(0) };
    burst.add(&mut script, &mut phases);
    // And at leisure: nothing may be lost now.
    let slow = Burst { port: NOBODY, gap_ps: 200 * US, ..Burst::of(1) };
    let wait = Burst { wait_ms: 100, ..slow };
    wait.add(&mut script, &mut phases);
    let captured = script.line("captured");
    let judge = move |report: &RunReport| {
        let mut problems: Vec<_> = capture_problem(report, captured).into_iter().collect();
        let lost = report.counts.get("rx_missed").copied().unwrap_or(0);
        // The smallest ring and the buffer before it cannot hold the burst, the largest can.
        if (size == SIZES[0] && lost == 0) || (size > FRAMES && lost > 0) {
            problems.push(format!("{lost} frames were missed for want of descriptors"));
        }
        problems
    };
    Case { name: format!("{size} descriptors"), ..Case::new(script, phases, Box::new(judge)) }
}
