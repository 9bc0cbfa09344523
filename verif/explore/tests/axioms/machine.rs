//! Machines: an operational reading of a memory model, run through all its states. Their ends are
//! held against those of the axioms, which they share no line with.

use super::graph::{Found, Graph, Outcome};
use super::program::Program;
use std::collections::BTreeSet;

/// How a program ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub outcome: Outcome,
    /// Last value of each atomic and lock.
    pub memory: Vec<u64>,
    /// Whether some threads wait for ever.
    pub waits: bool,
}

pub trait Machine: Clone + Ord {
    fn steps(&self, program: &Program) -> Vec<Self>;
    /// The end, if nobody has to go on.
    fn end(&self, program: &Program) -> Option<End>;
}

/// All ends of a machine; nothing if it takes more than `cap` states.
pub fn ends<M: Machine>(start: M, program: &Program, cap: usize) -> Option<BTreeSet<End>> {
    let mut seen = BTreeSet::from([start.clone()]);
    let mut work = vec![start];
    let mut ends = BTreeSet::new();
    while let Some(machine) = work.pop() {
        ends.extend(machine.end(program));
        for next in machine.steps(program) {
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
        if seen.len() > cap {
            return None;
        }
    }
    Some(ends)
}

/// All ends that the axioms allow.
pub fn ends_of(program: &Program, found: &Found) -> BTreeSet<End> {
    let end = |graph: &Graph, waits| {
        let memory = (0..graph.co.len()).map(|loc| graph.newest(loc)).collect();
        End { outcome: graph.outcome(program), memory, waits }
    };
    let complete = found.complete.iter().map(|g| end(g, false));
    complete.chain(found.stuck.iter().map(|g| end(g, true))).collect()
}

/// What the events of each thread gave: a value, and whether it counts as read or chosen.
pub type Done = Vec<Vec<(u64, bool)>>;

pub fn outcome(done: &Done) -> Outcome {
    done.iter().map(|t| t.iter().filter(|e| e.1).map(|e| e.0).collect()).collect()
}
