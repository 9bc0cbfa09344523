//! Timed runs with all rules watching.

use super::host::ENDLESS;
use super::{House, Nic, Options, TimedError, TimedReport};
use pollproof_events::{with_visitor, Event, Record, Visitor};
use pollproof_explore::quiet;
use pollproof_netcore::Arrival;
use pollproof_rules::{Finding, Judge};
use pollproof_sync::switch::{take_faults, Fault};
use pollproof_wire::{Frame, Packet};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

/// What a run and its rules gave.
#[derive(Debug)]
pub struct Judged {
    /// The report, or why there is none; findings count in both cases.
    pub outcome: Result<TimedReport, TimedError>,
    /// Rules that were broken.
    pub findings: Vec<Finding>,
    /// Points reached, with their rules.
    pub reached: BTreeSet<(&'static str, &'static str)>,
    /// Events that the rules saw.
    pub events: u64,
    /// Hash of all events with their times, for comparing runs.
    pub events_hash: u64,
}

impl Judged {
    /// Whether a rule was broken.
    pub fn breaks(&self, rule: &str) -> bool {
        self.findings.iter().any(|f| f.rule == rule)
    }
}

/// What is kept of a run beside its report.
#[derive(Default)]
pub(super) struct Kept {
    /// Frames that arrived at the port, by number.
    pub frames: Vec<Frame>,
    /// Frame of each packet.
    pub frame_of: BTreeMap<u64, u64>,
    /// When the port was open, nanoseconds.
    pub opened_ns: u64,
    /// What arrived at the sockets.
    pub arrivals: Vec<Arrival>,
}

/// FNV-1a of what is written to it.
struct Hash(u64);

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for &byte in text.as_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

struct Watch {
    judge: Judge,
    events: u64,
    hash: Hash,
    frame_of: BTreeMap<u64, u64>,
}

impl Visitor for Watch {
    fn visit(&mut self, record: &Record) {
        self.judge.visit(record);
        self.events += 1;
        // Writing to the hash can not fail.
        let _ = write!(self.hash, "{} {:?}", record.time_ps, record.event);
        if let Event::CqeWrite { cq, index, number } = record.event {
            self.frame_of.insert(u64::from(cq) << 32 | u64::from(index), number);
        }
    }
}

/// Runs packets through a house with all rules watching.
pub fn run_judged<N: Nic>(
    packets: impl IntoIterator<Item = Packet>,
    options: &Options<N>,
) -> Judged {
    run_kept(packets, options).0
}

pub(super) fn run_kept<N: Nic>(
    packets: impl IntoIterator<Item = Packet>,
    options: &Options<N>,
) -> (Judged, Kept) {
    let watch = Rc::new(RefCell::new(Watch {
        judge: Judge::new(),
        events: 0,
        hash: Hash(0xcbf2_9ce4_8422_2325),
        frame_of: BTreeMap::new(),
    }));
    let mut kept = Kept::default();
    // What an earlier run on this thread left is not ours.
    take_faults();
    let outcome = with_visitor(watch.clone(), || {
        let mut house = House::open(options)?;
        house.send(packets);
        kept.frames = house.on_street();
        kept.opened_ns = house.opened_ps() / 1000;
        let outcome = drive(&mut house, &watch);
        kept.arrivals = house.net().ledger.take_arrivals();
        outcome
    });
    let mut watch = watch.borrow_mut();
    kept.frame_of = std::mem::take(&mut watch.frame_of);
    let mut findings = watch.judge.findings().to_vec();
    findings.extend(take_faults().iter().map(to_finding));
    if let Err(TimedError::Panicked(message)) = &outcome {
        findings.push(panicked(message));
    }
    let judged = Judged {
        outcome,
        findings,
        reached: watch.judge.reached().clone(),
        events: watch.events,
        events_hash: watch.hash.0,
    };
    (judged, kept)
}

/// Steps after the first finding: enough to see what follows, and an end to a broken driver that
/// would go on for ever.
const STEPS_AFTER_FINDING: u64 = 2_000;

/// Runs to the end, a panic, or somewhat after the first finding.
fn drive<N: Nic>(
    house: &mut House<N>,
    watch: &Rc<RefCell<Watch>>,
) -> Result<TimedReport, TimedError> {
    let _quiet = quiet::Scope::enter();
    let steps = || {
        let mut left = STEPS_AFTER_FINDING;
        while house.step()? {
            if !watch.borrow().judge.findings().is_empty() {
                left -= 1;
                if left == 0 {
                    return Err(TimedError::CutAfterFinding(STEPS_AFTER_FINDING));
                }
            }
        }
        house.finish()
    };
    catch_unwind(AssertUnwindSafe(steps))
        .unwrap_or_else(|panic| Err(TimedError::Panicked(quiet::message(panic.as_ref()))))
}

fn panicked(message: &str) -> Finding {
    let rule = if message.starts_with(ENDLESS) { "ENDLESS-CALL" } else { "PANIC" };
    let at = (file!(), line!());
    Finding { rule, message: message.into(), at, thread: 0, event: None, other: None }
}

fn to_finding(fault: &Fault) -> Finding {
    Finding {
        rule: fault.rule,
        message: fault.what.clone(),
        at: fault.at,
        thread: fault.thread,
        event: None,
        other: None,
    }
}
