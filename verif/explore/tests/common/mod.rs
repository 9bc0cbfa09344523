//! Programs as data, and the classes of their executions, counted without the explorer's clocks.
#![allow(dead_code)] // Each test file uses its part.

use pollproof_explore::rt::{self, Atomic, Lock, Ordering::*};
use pollproof_explore::{explore, normal_form, Config, End, NormalForm, Reduction, Summary};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::panic::Location;
use std::rc::Rc;

/// One operation on atomic or lock number `.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Cas(usize, u64, u64),
    /// Adds one while below the number.
    Update(usize, u64),
    /// Waits for the value.
    Wait(usize, u64),
    Lock(usize),
    Unlock(usize),
    Choose(usize),
}

/// A program: what each thread does. Thread 0 is the main thread, after it spawned the others.
pub type Program = Vec<Vec<Op>>;

pub const OBJECTS: usize = 3;

fn perform(op: Op, atomics: &[Atomic], locks: &[Lock]) -> u64 {
    let at = Location::caller();
    match op {
        Op::Load(x) => rt::load(atomics[x], Acquire, at),
        Op::Store(x, v) => {
            rt::store(atomics[x], v, Release, at);
            0
        }
        Op::Add(x) => rt::rmw(atomics[x], |v| v + 1, AcqRel, at),
        Op::Cas(x, old, new) => match rt::cas(atomics[x], (old, new), (AcqRel, Acquire), at) {
            Ok(v) => v + 100,
            Err(v) => v,
        },
        Op::Update(x, max) => {
            match rt::update(atomics[x], &mut |v| (v < max).then_some(v + 1), AcqRel, at) {
                Ok(v) => v + 100,
                Err(v) => v,
            }
        }
        Op::Wait(x, v) => rt::wait(atomics[x], &|seen| seen == v, Acquire, at),
        Op::Lock(l) => {
            rt::lock(locks[l], at);
            0
        }
        Op::Unlock(l) => {
            rt::unlock(locks[l], at);
            0
        }
        Op::Choose(n) => rt::choose(n, at) as u64,
    }
}

/// What every thread saw.
pub type Seen = Vec<Vec<u64>>;

/// Runs `program` in the engine, noting what each thread sees.
pub fn run(program: &Program, seen: &Rc<RefCell<Seen>>) {
    let at = Location::caller();
    *seen.borrow_mut() = vec![Vec::new(); program.len()];
    let atomics: Vec<_> = (0..OBJECTS).map(|_| rt::atomic_new(0, 64)).collect();
    let locks: Vec<_> = (0..OBJECTS).map(|_| rt::lock_new()).collect();
    let body = |i: usize| {
        let (ops, atomics, locks) = (program[i].clone(), atomics.clone(), locks.clone());
        let seen = Rc::clone(seen);
        move || {
            for op in ops {
                let value = perform(op, &atomics, &locks);
                seen.borrow_mut()[i].push(value);
            }
        }
    };
    for i in 1..program.len() {
        rt::spawn(Box::new(body(i)), at);
    }
    if let Some(first) = program.first() {
        assert_eq!(first.len(), program[0].len());
        body(0)();
    }
}

/// Class of an execution: its normal form, what was seen (choices among it), how it ended.
pub type Class = (NormalForm, Seen, &'static str);

fn end_name(end: &End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Deadlock(_) => "deadlock",
        End::Panicked { .. } => "panicked",
        End::Limit(_) => "limit",
        End::Diverged(_) => "diverged",
    }
}

/// All classes of `program` under a reduction, with how often each was run.
pub fn classes(
    config: &Config,
    program: &dyn Fn(),
    seen: &Rc<RefCell<Seen>>,
) -> (BTreeMap<Class, u64>, Summary) {
    let mut classes = BTreeMap::new();
    let summary = explore(config, program, &mut |e| {
        let class = (normal_form(e), seen.borrow().clone(), end_name(&e.end));
        *classes.entry(class).or_insert(0) += 1;
        Continue(())
    });
    (classes, summary)
}

/// What the comparison of the search with brute force gives.
#[derive(Debug)]
pub struct Compared {
    pub dpor: Summary,
    pub brute: u64,
    /// Why they differ, if they do.
    pub wrong: Option<String>,
    /// False when brute force took too long to say anything.
    pub judged: bool,
}

/// Compares the search with every interleaving of `program`.
pub fn compare(program: &dyn Fn(), seen: &Rc<RefCell<Seen>>, max: u64) -> Compared {
    let brute = Config {
        reduction: Reduction::None,
        max_executions: max,
        stack_size: 64 * 1024,
        ..Config::default()
    };
    let (all, whole) = classes(&brute, program, seen);
    let dpor = Config { reduction: Reduction::Dpor, ..brute };
    let (ours, summary) = classes(&dpor, program, seen);
    let mut compared =
        Compared { dpor: summary, brute: all.len() as u64, wrong: None, judged: false };
    if !whole.is_exhaustive() {
        return compared;
    }
    compared.judged = true;
    if !summary.is_exhaustive() {
        compared.wrong = Some(format!("the search did not finish: {summary:?}"));
    } else if let Some(missed) = all.keys().find(|c| !ours.contains_key(c)) {
        compared.wrong =
            Some(format!("{} of {} classes, missed is {missed:?}", ours.len(), all.len()));
    } else if let Some(twice) = ours.iter().find(|c| *c.1 != 1) {
        compared.wrong = Some(format!("run more than once: {twice:?}"));
    } else if ours.len() != all.len() {
        compared.wrong = Some("classes that brute force does not know".into());
    }
    compared
}

/// The same for a program given as data.
pub fn compare_program(program: &Program, max: u64) -> Compared {
    let seen = Rc::new(RefCell::new(Seen::new()));
    let inner = Rc::clone(&seen);
    compare(&move || run(program, &inner), &seen, max)
}
