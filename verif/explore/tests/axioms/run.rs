//! Runs a program in the engine, and gives its executions as the oracle names them.

use super::graph::Outcome;
use super::key::Key;
use super::models::Model;
use super::program::{Op, Order, Program};
use pollproof_explore::quiet::message;
use pollproof_explore::rt::{self, Atomic, Lock, Ordering, Plain};
use pollproof_explore::{explore, Config, End, Execution, Reduction, Step, StepKind, What};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::panic::{AssertUnwindSafe, Location};
use std::rc::Rc;

/// What the engine says of a program.
#[derive(Debug, Default)]
pub struct Run {
    /// Keys of complete executions, and how often each was seen.
    pub complete: BTreeMap<String, u64>,
    /// Whether some execution ended with threads that wait for ever.
    pub stuck: bool,
    /// Whether two accesses of a plain cell raced.
    pub races: bool,
    /// Executions that were begun and given up.
    pub blocked: u64,
    /// Anything that should not be, such as a search that is not exhausted.
    pub faults: Vec<String>,
}

/// Sources and coherence orders of an execution, by indices of its steps.
pub struct Shape {
    /// Of each step whom it reads, if it reads; nobody for the initial value.
    pub sources: Vec<Option<Option<usize>>>,
    /// Writes of each object in order.
    pub co: Vec<Vec<usize>>,
}

/// Tells what an execution over so many objects was.
pub type Shaper<'a> = &'a dyn Fn(&Execution<'_>, usize) -> Result<Shape, String>;

/// Explores `program`; `shape` tells what an execution was.
pub fn run(program: &Program, config: &Config, shape: Shaper) -> Run {
    let seen = Rc::new(RefCell::new(Outcome::new()));
    let mut run = Run::default();
    let body = || start(program, &seen);
    let mut at_end = |e: &Execution<'_>| {
        run.races |= !e.races().is_empty();
        match e.end {
            End::Complete => match key(program, e, shape, &seen.borrow()) {
                Ok(key) => *run.complete.entry(key).or_insert(0) += 1,
                Err(fault) => run.faults.push(fault),
            },
            End::Deadlock(_) => run.stuck = true,
            ref other => run.faults.push(format!("{other:?}")),
        }
        Continue(())
    };
    // A panic of the engine itself is a finding like others.
    let search = AssertUnwindSafe(|| explore(config, &body, &mut at_end));
    match std::panic::catch_unwind(search) {
        Ok(summary) if summary.is_exhaustive() => run.blocked = summary.blocked,
        Ok(summary) => run.faults.push(format!("{:?}", summary.coverage)),
        Err(payload) => run.faults.push(format!("the engine: {}", message(&*payload))),
    }
    run
}

/// In a sequentially consistent interleaving each read sees the last write, and writes are in
/// coherence order as they come.
pub fn interleaved(e: &Execution<'_>, objects: usize) -> Result<Shape, String> {
    let mut shape = Shape { sources: Vec::new(), co: vec![Vec::new(); objects] };
    for (i, step) in e.steps().iter().enumerate() {
        let writes = &mut shape.co[step.object as usize];
        shape.sources.push(reads(step.kind).then(|| writes.last().copied()));
        if step.kind.writes() {
            writes.push(i);
        }
    }
    Ok(shape)
}

/// What an engine over graphs says itself.
pub fn told(e: &Execution<'_>, objects: usize) -> Result<Shape, String> {
    let mut shape = Shape { sources: Vec::new(), co: vec![Vec::new(); objects] };
    let mut places = vec![Vec::new(); objects];
    for (i, step) in e.steps().iter().enumerate() {
        let source = step.reads_from.map(|s| s.map(|s| s as usize));
        if source.is_some() != reads(step.kind) {
            return Err(format!("step {i} reads {source:?}: {step}"));
        }
        if source.flatten().is_some_and(|s| s >= i) {
            return Err(format!("step {i} comes before its source {source:?}: {step}"));
        }
        shape.sources.push(source);
        if step.position > 0 {
            places[step.object as usize].push((step.position, i));
        }
    }
    for (object, mut places) in places.into_iter().enumerate() {
        places.sort_unstable();
        if !places.iter().map(|p| p.0).eq(1..=places.len() as u32) {
            return Err(format!("object {object} has places {places:?}"));
        }
        shape.co[object] = places.iter().map(|p| p.1).collect();
    }
    Ok(shape)
}

fn reads(kind: StepKind) -> bool {
    accesses(kind) && !matches!(kind, StepKind::Store | StepKind::Unlock)
}

fn accesses(kind: StepKind) -> bool {
    use StepKind::{Choose, Fence, Join, Rest};
    !matches!(kind, Join | Rest | Fence | Choose)
}

fn key(
    program: &Program,
    e: &Execution<'_>,
    shape: Shaper,
    seen: &Outcome,
) -> Result<String, String> {
    let shape = shape(e, program.atomics() + program.locks())?;
    let steps = e.steps();
    let name = |i: usize| {
        let thread = steps[i].thread;
        let own = |s: &&Step| s.thread == thread && accesses(s.kind);
        (thread - 1, steps[..i].iter().filter(own).count())
    };
    let mut key = Key::new(program.0.len());
    for (step, source) in steps.iter().zip(&shape.sources).filter(|s| accesses(s.0.kind)) {
        let Step { thread, object, kind, .. } = *step;
        key.event(thread - 1, object as usize, source.map(|s| s.map(name)), kind.writes());
    }
    let names = |writes: &Vec<usize>| writes.iter().map(|&i| name(i)).collect();
    let co: Vec<Vec<_>> = shape.co[..program.atomics()].iter().map(names).collect();
    Ok(key.text(&co, seen))
}

#[derive(Clone)]
struct Objects {
    atomics: Vec<Atomic>,
    locks: Vec<Lock>,
    cells: Vec<Plain>,
}

/// The main thread makes the objects and starts thread `i` of the program as thread `i + 1`.
fn start(program: &Program, seen: &Rc<RefCell<Outcome>>) {
    let at = Location::caller();
    *seen.borrow_mut() = vec![Vec::new(); program.0.len()];
    let cell = |_| rt::plain_new(What { rule: "RACE", name: "cell" }, at);
    let objects = Objects {
        atomics: (0..program.atomics()).map(|_| rt::atomic_new(0, 64)).collect(),
        locks: (0..program.locks()).map(|_| rt::lock_new()).collect(),
        cells: (0..program.cells()).map(cell).collect(),
    };
    for (thread, ops) in program.0.iter().enumerate() {
        let (ops, objects, seen) = (ops.clone(), objects.clone(), Rc::clone(seen));
        let body = move || perform(&ops, &objects, &|value| seen.borrow_mut()[thread].push(value));
        rt::spawn(Box::new(body), at);
    }
}

fn perform(ops: &[Op], objects: &Objects, see: &dyn Fn(u64)) {
    let (mut at, mut last) = (0, 0);
    while let Some(&op) = ops.get(at) {
        at += 1;
        if let Op::IfEq { value, skip } = op {
            at += if last == value { 0 } else { skip };
        } else if let Some(value) = single(op, objects, last) {
            last = value;
            see(value);
        }
    }
}

/// The engine over graphs, under a model.
pub fn graphs(program: &Program, model: Model) -> Run {
    run(program, &over_graphs(model), &told)
}

/// The same with locks as blocking compare-exchanges.
pub fn graphs_with_plain_locks(program: &Program, model: Model) -> Run {
    run(program, &Config { plain_locks: true, ..over_graphs(model) }, &told)
}

fn over_graphs(model: Model) -> Config {
    let model = match model {
        Model::Sc => pollproof_explore::Model::Sc,
        Model::Tso => pollproof_explore::Model::Tso,
        Model::Ra => pollproof_explore::Model::Ra,
        Model::Rc11 => pollproof_explore::Model::Rc11,
    };
    Config { reduction: Reduction::Graphs, model, ..Config::default() }
}

/// Carries out an operation; gives the value that it gives.
fn single(op: Op, objects: &Objects, last: u64) -> Option<u64> {
    let at = Location::caller();
    let Objects { atomics, locks, cells } = objects;
    match op {
        Op::Load(x, o) => return Some(rt::load(atomics[x], std(o), at)),
        Op::Store(x, v, o) => rt::store(atomics[x], v.given(last), std(o), at),
        Op::StoreUnord(x, v) => rt::store_unord(atomics[x], v.given(last), at),
        Op::Add(x, by, o) => {
            return Some(rt::rmw(atomics[x], |v| v.wrapping_add(by), std(o), at));
        }
        Op::Swap(x, v, o) => return Some(rt::rmw(atomics[x], |_| v, std(o), at)),
        Op::Cas { loc, expected, new, success, failure } => {
            let orders = (std(success), std(failure));
            let result = rt::cas(atomics[loc], (expected, new), orders, at);
            return Some(result.unwrap_or_else(|seen| seen));
        }
        Op::Fence(o) => rt::fence(std(o)),
        Op::Lock(l) => rt::lock(locks[l], at),
        Op::Unlock(l) => rt::unlock(locks[l], at),
        Op::Await { loc, value, equal, order } => {
            let ready = move |seen| (seen == value) == equal;
            return Some(rt::wait(atomics[loc], &ready, std(order), at));
        }
        Op::PlainRead(c) => rt::read(cells[c], at),
        Op::PlainWrite(c) => rt::write(cells[c], at),
        Op::Choose(n) => return Some(rt::choose(n as usize, at) as u64),
        Op::IfEq { .. } => unreachable!("no operation of the engine"),
    }
    None
}

fn std(order: Order) -> Ordering {
    match order {
        Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}
