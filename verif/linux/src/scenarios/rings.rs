//! Rings of several sizes, and more frames at once than they hold.

use super::echo::{Burst, US};
use super::script::Script;
use super::{Case, Setting};
use crate::capture::capture_problem;
use crate::run::RunReport;

/// Sizes that a driver takes, from the smallest to the largest.
const IXGBE: &[u32] = &[64, 128, 512, 4096];
const MLX4: &[u32] = &[256, 512, 8192];
/// Fewer than the largest ring has, and more bytes than the packet buffer of 512 KiB.
const FRAMES: u32 = 2500;
/// A port where nobody listens: the packet socket sees the frames all the same.
const NOBODY: u16 = 9;

pub fn rings(setting: &Setting<'_>) -> Vec<Case> {
    let sizes = if setting.is_mlx4() { MLX4 } else { IXGBE };
    // About the longest interval there is: the whole burst comes before the first poll.
    let slow = match setting.is_mlx4() {
        true => "coalesce adaptive-rx=0 rx-usecs=1000 rx-frames=5000",
        false => "coalesce rx-usecs=1000",
    };
    sizes.iter().map(|&size| ring(size, size == sizes[0], slow)).collect()
}

fn ring(size: u32, is_smallest: bool, slow: &str) -> Case {
    let settings = format!("rings rx={size} tx={size}");
    let mut script = Script::up(&[&settings, "gro off", slow]);
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
        let count = |name| report.counts.get(name).copied().unwrap_or(0);
        let lost: u64 = count("rx_missed") + count("rx_no_descriptor");
        // The smallest ring and the buffer before it cannot hold the burst, the largest can.
        if (is_smallest && lost == 0) || (size > FRAMES && lost > 0) {
            problems.push(format!("{lost} frames were missed for want of descriptors"));
        }
        problems
    };
    Case { name: format!("{size} descriptors"), ..Case::new(script, phases, Box::new(judge)) }
}
