//! Finds the same failure with the fewest preemptions.

use crate::schedule::Schedule;
use crate::trace::Execution;
use crate::{explore, replay, Config, Reduction};
use std::ops::ControlFlow;

/// A failure that is easier to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimised {
    /// Schedule of the failure.
    pub schedule: Schedule,
    /// Its preemptions.
    pub preemptions: u32,
    /// Executions that it took.
    pub executions: u64,
    /// Whether no failure with fewer preemptions exists: all of those were run.
    pub minimal: bool,
}

/// Searches for an execution that `fails` the same way as that of `schedule` with the fewest
/// preemptions: none first, then one and so on, in at most `max_executions` executions in all.
///
/// Gives `None` when `schedule` itself does not fail.
pub fn minimise(
    config: &Config,
    program: &dyn Fn(),
    schedule: &Schedule,
    max_executions: u64,
    fails: &mut dyn FnMut(&Execution<'_>) -> bool,
) -> Option<Minimised> {
    let mut known = None;
    replay(config, schedule, program, &mut |e| {
        known = fails(e).then(|| (e.schedule().clone(), e.preemptions()));
        ControlFlow::Break(())
    });
    let (schedule, preemptions) = known?;
    let mut executions = 1;
    let mut minimal = true;
    for bound in 0..preemptions {
        let config = Config {
            max_executions: max_executions.saturating_sub(executions),
            reduction: Reduction::Preemptions(bound),
            ..config.clone()
        };
        let mut found = None;
        let summary = explore(&config, program, &mut |e| {
            if !fails(e) {
                return ControlFlow::Continue(());
            }
            found = Some((e.schedule().clone(), e.preemptions()));
            ControlFlow::Break(())
        });
        executions += summary.executions + summary.blocked;
        if let Some((schedule, preemptions)) = found {
            return Some(Minimised { schedule, preemptions, executions, minimal });
        }
        minimal &= summary.is_exhaustive();
    }
    Some(Minimised { schedule, preemptions, executions, minimal })
}
