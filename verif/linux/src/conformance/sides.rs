//! Both drivers put to the same pattern: Linux's in a kernel, ours in the timed house.

use super::{data_path, Pattern, Step};
use crate::boot::{Boot, BootError};
use crate::run::{board, run, Device, RunOptions, RunReport};
use crate::world::{Phase, MARK_PORT};
use pollproof_bench::timed::{CpuCosts, IxgbeHouse, IxgbeTimedOptions, TimedError};
use pollproof_events::{with_visitor, Record};
use pollproof_intel_82599::Params;
use pollproof_ixgbe::ItrSetting;
use pollproof_pcie::LinkParams;
use pollproof_wire::{Pacing, Packet};
use std::cell::RefCell;
use std::rc::Rc;

/// Runs Linux's driver: what it did on its data path, and the run.
pub fn linux(boot: Boot, pattern: &Pattern) -> Result<(Vec<Step>, RunReport), BootError> {
    let (ring, usecs) = (pattern.ring, pattern.rx_usecs);
    let lines = [
        "device 0000:00:00.0".to_owned(),
        format!("rings rx={ring}"),
        "up".to_owned(),
        format!("coalesce rx-usecs={usecs}"),
        "address 10.0.0.1".to_owned(),
        "neighbour 10.0.0.2 02:00:00:00:00:02".to_owned(),
        "wait-carrier".to_owned(),
        "sleep 100".to_owned(),
        format!("send 10.0.0.2 {MARK_PORT}"),
        "sleep 1000".to_owned(),
    ];
    let mut boot = boot.with(&(lines.join("\n") + "\n"));
    boot.simulated = true;
    let mut options = RunOptions::new(boot);
    options.phases = vec![Phase { frames: pattern.frames(), acts: Vec::new() }];
    options.link = LinkParams::zero();
    options.device = Device::Ixgbe(Params {
        msix_masked_at_reset: true,
        medium: board().medium,
        ..Params::zero()
    });
    options.keep_events = true;
    let mut report = run(options)?;
    let records = std::mem::take(&mut report.records);
    Ok((cut(data_path(&records), pattern), report))
}

/// Runs our driver.
pub fn ours(pattern: &Pattern) -> Result<Vec<Step>, TimedError> {
    let mut options = IxgbeTimedOptions {
        link: LinkParams::zero(),
        costs: CpuCosts::zero(),
        device: Params::zero(),
        pacing: Pacing::AsCaptured,
        ..IxgbeTimedOptions::default()
    };
    options.nic.rx_ring_count = pattern.ring;
    options.nic.max_frame = 1518;
    options.nic.itr = match pattern.rx_usecs {
        1 => ItrSetting::Adaptive,
        usecs => ItrSetting::Usecs(usecs),
    };
    let frames = pattern.frames();
    let packet = |(at_ps, bytes): (u64, _)| Packet { time_ns: at_ps / 1000, bytes };
    let records = Rc::new(RefCell::new(Vec::<Record>::new()));
    with_visitor(records.clone(), || {
        let mut house = IxgbeHouse::open(&options)?;
        house.send(frames.into_iter().map(packet));
        house.run_for(1_000_000_000_000)
    })?;
    let steps = data_path(&records.borrow());
    Ok(cut(steps, pattern))
}

/// Up to the re-arm behind the last frame: what comes then is the watchdog's.
fn cut(mut steps: Vec<Step>, pattern: &Pattern) -> Vec<Step> {
    let last = pattern.frames().len() as u64 - 1;
    let frame = steps.iter().rposition(|step| *step == Step::Frame(last));
    let end = frame.and_then(|from| {
        let rearm = steps.get(from..)?.iter().position(|s| matches!(s, Step::Rearm { .. }))?;
        Some(from + rearm + 1)
    });
    steps.truncate(end.unwrap_or(steps.len()));
    steps
}
