//! The search itself: stored graphs are taken from a stack, run, and what they lead to is put
//! there.

use super::token::Stored;
use super::world::Names;
use super::{Item, Search, Shared, Stop, World};
use crate::quiet;
use crate::random::SplitMix;
use crate::trace::{End, Execution};
use crate::{AtEnd, Config, Coverage, Reduction, Summary};
use std::ops::ControlFlow;

/// What is left to do, and what was done.
pub(crate) struct Tree {
    pub(crate) stack: Vec<Item>,
    pub(crate) summary: Summary,
    /// Threads by parent and number.
    pub(crate) names: Names,
    /// Executions that are left to this tree.
    pub(crate) max_executions: u64,
}

impl Tree {
    pub(crate) fn of(stack: Vec<Item>, names: Names, max_executions: u64) -> Self {
        Self { stack, summary: Summary::new(Coverage::Exhausted), names, max_executions }
    }
}

/// Whether a walk is over or needs wider sets.
enum Walk {
    Over,
    Wider,
}

/// Every consistent graph of `program`.
pub(crate) fn explore(config: &Config, program: &dyn Fn(), at_end: &mut AtEnd<'_>) -> Summary {
    let mut tree = Tree::of(vec![Item::default()], Names::default(), config.max_executions);
    walk(config, program, &mut tree, &mut |e, _| at_end(e));
    tree.summary
}

/// Called at the end of each execution, with what is left to do.
pub(crate) type AtNode<'a> = dyn FnMut(&Execution<'_>, &mut Tree) -> ControlFlow<()> + 'a;

/// Works on `tree` until it is empty or the callback stops it.
pub(crate) fn walk(config: &Config, program: &dyn Fn(), tree: &mut Tree, at_end: &mut AtNode<'_>) {
    let _quiet = quiet::Scope::enter();
    let restore_yielder = crate::coro::save();
    let widths = [walk_at::<1>, walk_at::<2>, walk_at::<4>, walk_at::<8>, walk_at::<16>];
    // At the widest, what does not fit is told as a limit, so the last one comes to an end.
    let _ = widths.iter().any(|walk| matches!(walk(config, program, tree, at_end), Walk::Over));
    restore_yielder();
}

fn walk_at<const W: usize>(
    config: &Config,
    program: &dyn Fn(),
    tree: &mut Tree,
    at_end: &mut AtNode<'_>,
) -> Walk {
    let world = Shared::new(World::new(config, tree.names.clone()));
    let mut search = Search::<W>::new(config, program, world);
    let walked = walk_with(tree, &mut search, at_end);
    search.clear();
    walked
}

fn walk_with<const W: usize>(
    tree: &mut Tree,
    search: &mut Search<'_, W>,
    at_end: &mut AtNode<'_>,
) -> Walk {
    while let Some(item) = tree.stack.pop() {
        let done = tree.summary.executions + tree.summary.blocked;
        if done >= tree.max_executions {
            tree.stack.push(item);
            tree.summary.coverage = Coverage::Executions;
            return Walk::Over;
        }
        let stop = search.run(&item);
        search.g.recycle(item);
        tree.stack.append(&mut search.found);
        tree.summary.steps += search.operations();
        let mut flow = ControlFlow::Continue(());
        match stop {
            Stop::Dead => tree.summary.blocked += 1,
            Stop::Again => {}
            Stop::Wider => {
                search.clear();
                return Walk::Wider;
            }
            Stop::End(end) => flow = tell(tree, search, end, at_end),
        }
        search.clear();
        if flow.is_break() {
            return Walk::Over;
        }
    }
    Walk::Over
}

fn tell<const W: usize>(
    tree: &mut Tree,
    search: &mut Search<'_, W>,
    end: End,
    at_end: &mut AtNode<'_>,
) -> ControlFlow<()> {
    tree.summary.executions += 1;
    search.settle();
    let diverged = matches!(end, End::Diverged(_));
    if let End::Limit(limit) = end {
        tree.summary.coverage = Coverage::Cut(limit);
    }
    let flow = at_end(&Execution::new(end, search), tree);
    if flow.is_break() {
        tree.summary.coverage = Coverage::Stopped;
    } else if diverged {
        tree.summary.coverage = Coverage::Diverged;
        return ControlFlow::Break(());
    }
    flow
}

/// A guess at how much there is, from random descents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean of the descents: executions.
    pub executions: f64,
    /// Standard error of the mean. Such guesses have long tails and tend to be low, so even with it
    /// take the order of magnitude only.
    pub error: f64,
    /// Descents.
    pub walks: u64,
}

/// Guesses how many executions `program` has under the search over graphs (Knuth 1975): each
/// descent follows one stored graph at random and counts it for all of its siblings.
pub fn estimate(config: &Config, program: &dyn Fn(), walks: u64, seed: u64) -> Estimate {
    let mut random = SplitMix::new(seed);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..walks {
        let mut next = Some(Item::default());
        let (mut weight, mut total) = (1.0, 0.0);
        while let Some(item) = next.take() {
            let mut tree = Tree::of(vec![item], Names::default(), u64::MAX);
            walk(config, program, &mut tree, &mut |_, _| ControlFlow::Break(()));
            total += weight * tree.summary.executions as f64;
            weight *= tree.stack.len() as f64;
            if !tree.stack.is_empty() {
                next = Some(tree.stack.swap_remove(random.below(tree.stack.len())));
            }
        }
        sum += total;
        squares += total * total;
    }
    let n = walks.max(1) as f64;
    let variance = (squares / n - (sum / n) * (sum / n)).max(0.0);
    Estimate { executions: sum / n, error: (variance / n).sqrt(), walks }
}

/// Runs `program` along one graph and on.
pub(crate) fn replay(
    config: &Config,
    graph: &Stored,
    program: &dyn Fn(),
    at_end: &mut AtEnd<'_>,
) -> Summary {
    let mut tree = Tree::of(vec![graph.item.clone()], Names::default(), 1);
    let (model, plain_locks) = (graph.model, graph.plain_locks);
    let config = Config { model, plain_locks, reduction: Reduction::Graphs, ..config.clone() };
    let mut told = false;
    walk(&config, program, &mut tree, &mut |e, _| {
        told = true;
        let _ = at_end(e);
        ControlFlow::Break(())
    });
    tree.summary.coverage = match tree.summary.coverage {
        Coverage::Stopped => Coverage::Sampled,
        // Such a graph is not consistent, so it was run nowhere.
        _ if !told => Coverage::Diverged,
        coverage => coverage,
    };
    tree.summary
}
