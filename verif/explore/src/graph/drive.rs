//! The search itself: stored graphs are taken from a stack, run, and what they lead to is put there.

use super::token::Stored;
use super::{Item, Search, Shared, Stop, World};
use crate::quiet;
use crate::trace::{End, Execution, Limit};
use crate::{AtEnd, Config, Coverage, Reduction, Summary};
use std::ops::ControlFlow;

/// What is left to do, and what was done.
pub(crate) struct Tree {
    pub(crate) stack: Vec<Item>,
    pub(crate) summary: Summary,
    /// Threads by parent and number.
    pub(crate) names: Vec<(u8, u16)>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self {
            stack: vec![Item::default()],
            summary: Summary::new(Coverage::Exhausted),
            names: Vec::new(),
        }
    }
}

/// Whether a walk is over or needs wider sets.
enum Walk {
    Over,
    Wider,
}

/// Every consistent graph of `program`.
pub(crate) fn explore(config: &Config, program: &dyn Fn(), at_end: &mut AtEnd<'_>) -> Summary {
    let mut tree = Tree::new();
    walk(config, program, &mut tree, &mut |e, _| at_end(e));
    tree.summary
}

/// Called at the end of each execution, with what is left to do.
pub(crate) type AtNode<'a> = dyn FnMut(&Execution<'_>, &Tree) -> ControlFlow<()> + 'a;

/// Works on `tree` until it is empty or the callback stops it.
pub(crate) fn walk(config: &Config, program: &dyn Fn(), tree: &mut Tree, at_end: &mut AtNode<'_>) {
    let _quiet = quiet::Scope::enter();
    let restore_yielder = crate::coro::save();
    let widths = [walk_at::<1>, walk_at::<2>, walk_at::<4>, walk_at::<8>, walk_at::<16>];
    let over = widths.iter().any(|walk| matches!(walk(config, program, tree, at_end), Walk::Over));
    restore_yielder();
    if !over {
        tree.summary.coverage = Coverage::Cut(Limit::Events);
    }
}

fn walk_at<const W: usize>(
    config: &Config,
    program: &dyn Fn(),
    tree: &mut Tree,
    at_end: &mut AtNode<'_>,
) -> Walk {
    let world = Shared::new(World::new(config, std::mem::take(&mut tree.names)));
    let mut search = Search::<W>::new(config, program, world);
    let walked = walk_with(config, tree, &mut search, at_end);
    search.clear();
    tree.names = std::mem::take(&mut search.world.names);
    walked
}

fn walk_with<const W: usize>(
    config: &Config,
    tree: &mut Tree,
    search: &mut Search<'_, W>,
    at_end: &mut AtNode<'_>,
) -> Walk {
    while let Some(item) = tree.stack.pop() {
        let done = tree.summary.executions + tree.summary.blocked;
        if done >= config.max_executions {
            tree.stack.push(item);
            tree.summary.coverage = Coverage::Executions;
            return Walk::Over;
        }
        let stop = search.run(&item);
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

/// Runs `program` along one graph and on.
pub(crate) fn replay(
    config: &Config,
    graph: &Stored,
    program: &dyn Fn(),
    at_end: &mut AtEnd<'_>,
) -> Summary {
    let mut tree = Tree::new();
    tree.stack = vec![graph.item.clone()];
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
