//! The search tree: source sets and sleep sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).
//!
//! Steps depend on one another when they are on the same object and one of them writes. After an
//! execution each pair of dependent steps that nothing else orders is tried the other way round:
//! at the node of the earlier step some thread is added from which that is reached, unless one is
//! there already. Sleep sets see to it that no class of equivalent executions is completed twice.
//!
//! Operations that block need care. A lock, or a wait for a value, could not have come right before
//! the step that enabled it; what it may be reversed with is the last write before which it was
//! enabled. The same holds for what threads are blocked in at a deadlock.

use crate::clock::MAX_THREADS;
use crate::session::{bits, Strategy, Turn, View};
use crate::state::{Reversal, State};
use crate::Reduction;

enum Node {
    Thread(ThreadNode),
    Choice { value: usize, n: usize },
}

struct ThreadNode {
    thread: usize,
    enabled: u16,
    /// Threads to run here.
    backtrack: u16,
    /// Threads whose subtree is done.
    done: u16,
    /// Threads whose next step leads only to what is done elsewhere.
    sleep: u16,
    preemptions: u32,
}

/// A depth-first search.
pub(crate) struct Search {
    nodes: Vec<Node>,
    at: usize,
    /// First node that differs from the execution before.
    fork: usize,
    /// Sleep set after the last step.
    sleep: u16,
    /// Node of each step.
    node_of_step: Vec<u32>,
    reduction: Reduction,
    bound: u32,
    preemptions: u32,
}

impl Search {
    pub(crate) fn new(reduction: Reduction) -> Self {
        let bound = match reduction {
            Reduction::Preemptions(bound) => bound,
            _ => u32::MAX,
        };
        Self {
            nodes: Vec::new(),
            at: 0,
            fork: 0,
            sleep: 0,
            node_of_step: Vec::new(),
            reduction,
            bound,
            preemptions: 0,
        }
    }

    pub(crate) fn reduces(&self) -> bool {
        self.reduction == Reduction::Dpor
    }

    /// Goes to the next branch; false when there is none.
    pub(crate) fn next_branch(&mut self) -> bool {
        (self.at, self.sleep, self.preemptions) = (0, 0, 0);
        self.node_of_step.clear();
        while let Some(node) = self.nodes.last_mut() {
            match node {
                Node::Choice { value, n } => *value += usize::from(*value < *n),
                Node::Thread(t) => t.done |= 1 << t.thread,
            }
            let goes_on = match node {
                Node::Choice { value, n } => value < n,
                Node::Thread(t) => {
                    let left = t.backtrack & !t.done & !t.sleep;
                    t.thread = left.trailing_zeros() as usize;
                    left != 0
                }
            };
            if goes_on {
                self.fork = self.nodes.len() - 1;
                return true;
            }
            self.nodes.pop();
        }
        false
    }

    /// Adds what the last execution shows to be missing.
    pub(crate) fn add_reversals(&mut self, state: &State) {
        for reversal in &state.reversals {
            let initials = initials(state, reversal);
            let node = self.node_of_step.get(reversal.first as usize);
            let Some(Node::Thread(t)) = node.and_then(|&n| self.nodes.get_mut(n as usize)) else {
                continue;
            };
            if initials & (t.backtrack | t.done | t.sleep) != 0 {
                continue;
            }
            let usable = initials & t.enabled;
            t.backtrack |= match usable {
                // Cannot be: what comes first among independent steps is enabled. Trying all
                // threads is right whatever happened.
                0 => t.enabled,
                _ if usable >> reversal.thread & 1 == 1 => 1 << reversal.thread,
                _ => 1 << usable.trailing_zeros(),
            };
        }
    }

    fn new_node(&mut self, view: &View) -> Option<ThreadNode> {
        let bounded = |t: &usize| self.preemptions + u32::from(view.preempts(*t)) <= self.bound;
        let (allowed, sleep) = if self.reduces() {
            (view.enabled & !self.sleep, self.sleep)
        } else {
            (bits(view.enabled).filter(bounded).fold(0, |all, t| all | 1 << t), 0)
        };
        if allowed == 0 {
            return None;
        }
        let thread = view.default_of(allowed);
        let backtrack = if self.reduces() { 1 << thread } else { allowed };
        let (enabled, preemptions) = (view.enabled, self.preemptions);
        Some(ThreadNode { thread, enabled, backtrack, done: 0, sleep, preemptions })
    }
}

impl Strategy for Search {
    fn analyses(&self) -> bool {
        // `at` is past the node of the step.
        self.reduces() && self.at > self.fork
    }

    fn pick(&mut self, view: &View) -> Turn {
        if self.at == self.nodes.len() {
            match self.new_node(view) {
                Some(node) => self.nodes.push(Node::Thread(node)),
                None => return Turn::Redundant,
            }
        }
        let Node::Thread(node) = &self.nodes[self.at] else {
            return Turn::Diverged("a step where a choice was before".into());
        };
        if node.enabled != view.enabled {
            return Turn::Diverged("other threads are enabled than before".into());
        }
        let thread = node.thread;
        self.preemptions = node.preemptions + u32::from(view.preempts(thread));
        self.node_of_step.push(self.at as u32);
        self.at += 1;
        Turn::Run(thread)
    }

    fn choose(&mut self, n: usize) -> Result<usize, String> {
        if self.at == self.nodes.len() {
            self.nodes.push(Node::Choice { value: 0, n });
        }
        let result = match &self.nodes[self.at] {
            Node::Choice { value, n: before } if *before == n => Ok(*value),
            Node::Choice { .. } => Err("a choice of another size than before".into()),
            Node::Thread(_) => Err("a choice where a step was before".into()),
        };
        self.at += 1;
        result
    }

    fn asleep(&self) -> u16 {
        match self.node_of_step.last().map(|&n| &self.nodes[n as usize]) {
            Some(Node::Thread(t)) if self.reduces() => t.sleep | t.done,
            _ => 0,
        }
    }

    fn stepped(&mut self, woken: u16) {
        self.sleep = self.asleep() & !woken;
    }
}

/// Threads that can come first when the later step of `r`, and what does not depend on the earlier
/// one, is run without the earlier one.
fn initials(state: &State, r: &Reversal) -> u16 {
    let first = &state.steps[r.first as usize];
    let (mut seen, mut initial) = (0u16, 0u16);
    let mut start = [0u32; MAX_THREADS];
    for step in &state.steps[r.first as usize + 1..r.second as usize] {
        let t = step.thread;
        if seen >> t & 1 == 1 || step.clock.get(first.thread) >= first.num {
            continue;
        }
        let free = !bits(seen).any(|other| step.clock.get(other) >= start[other]);
        initial |= u16::from(free) << t;
        seen |= 1 << t;
        start[t] = step.num;
    }
    if seen >> r.thread & 1 == 0 && !bits(seen).any(|o| r.past.get(o) >= start[o]) {
        initial |= 1 << r.thread;
    }
    initial
}
