//! Classes of equivalent executions by brute force: the measure of what a search must cover.

use crate::trace::{Execution, StepKind};
use crate::{explore, Config, Reduction};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Rounds of steps: thread, operation, object, value after.
pub type NormalForm = Vec<BTreeSet<(usize, &'static str, u32, u64)>>;

/// Normal form of Foata: rounds of steps, each as early as what it depends on allows. Two
/// executions are equivalent exactly when it is equal. It looks at the steps alone, not at the
/// clocks that the search goes by.
pub fn normal_form(e: &Execution<'_>) -> NormalForm {
    let mut rounds = NormalForm::new();
    let mut of_thread: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut of_write, mut of_any) = (BTreeMap::<u32, usize>::new(), BTreeMap::new());
    for s in e.steps() {
        let mut level = of_thread.get(&s.thread).copied().unwrap_or(0);
        match s.kind {
            StepKind::Rest => level = rounds.len(),
            StepKind::Join => {
                level = level.max(of_thread.get(&(s.object as usize)).copied().unwrap_or(0));
            }
            kind => {
                let conflicts = if kind.writes() { &of_any } else { &of_write };
                level = level.max(conflicts.get(&s.object).copied().unwrap_or(0));
                let any = of_any.entry(s.object).or_insert(0);
                *any = (*any).max(level + 1);
                if kind.writes() {
                    of_write.insert(s.object, level + 1);
                }
            }
        }
        of_thread.insert(s.thread, level + 1);
        rounds.resize_with(rounds.len().max(level + 1), BTreeSet::new);
        rounds[level].insert((s.thread, s.kind.name(), s.object, s.after));
    }
    rounds
}

/// Number of classes of `program`, by running every single interleaving; `None` when there are
/// more than `max_interleavings`. Programs that choose are not judged.
pub fn count_classes(program: &dyn Fn(), max_interleavings: u64) -> Option<u64> {
    let config = Config {
        reduction: Reduction::None,
        max_executions: max_interleavings,
        ..Config::default()
    };
    let mut classes = BTreeSet::new();
    let summary = explore(&config, program, &mut |e| {
        classes.insert(normal_form(e));
        ControlFlow::Continue(())
    });
    summary.is_exhaustive().then_some(classes.len() as u64)
}
