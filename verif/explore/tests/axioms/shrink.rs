//! Makes a failing program as small as it goes.

use super::program::{Op, Order, Program, Val};

/// A program that still `fails`, from which nothing can be left out or weakened.
pub fn shrink(mut program: Program, fails: &dyn Fn(&Program) -> bool) -> Program {
    while let Some(smaller) = smaller(&program).into_iter().find(|p| fails(p)) {
        program = smaller;
    }
    program
}

fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for thread in 0..program.0.len() {
        let mut without = program.clone();
        without.0.remove(thread);
        all.push(without);
        for at in 0..program.0[thread].len() {
            all.extend(without_op(program, thread, at));
        }
    }
    for thread in 0..program.0.len() {
        for at in 0..program.0[thread].len() {
            for op in simpler(program.0[thread][at]) {
                let mut with = program.clone();
                with.0[thread][at] = op;
                all.push(with);
            }
        }
    }
    all
}

/// The program without one operation; a lock goes with its unlock, which alone is nothing.
fn without_op(program: &Program, thread: usize, at: usize) -> Option<Program> {
    let ops = &program.0[thread];
    let mut gone = vec![at];
    match ops[at] {
        Op::Unlock(_) => return None,
        Op::Lock(l) => gone.extend((at..ops.len()).find(|&i| ops[i] == Op::Unlock(l))),
        _ => {}
    }
    let mut program = program.clone();
    for &at in gone.iter().rev() {
        let ops = &mut program.0[thread];
        ops.remove(at);
        for (i, op) in ops[..at].iter_mut().enumerate() {
            match op {
                Op::IfEq { skip, .. } if i + *skip >= at => *skip -= 1,
                _ => {}
            }
        }
    }
    Some(program)
}

/// The operation in weaker forms, the weakest first.
fn simpler(op: Op) -> Vec<Op> {
    use Order::Relaxed;
    let relaxed = match op {
        Op::Load(x, _) => Op::Load(x, Relaxed),
        Op::Store(x, v, _) => Op::Store(x, v, Relaxed),
        Op::Add(x, by, _) => Op::Add(x, by, Relaxed),
        Op::Swap(x, v, _) => Op::Swap(x, v, Relaxed),
        Op::Cas { loc, expected, new, .. } => {
            Op::Cas { loc, expected, new, success: Relaxed, failure: Relaxed }
        }
        Op::Await { loc, value, equal, .. } => Op::Await { loc, value, equal, order: Relaxed },
        _ => op,
    };
    let plainer = match op {
        Op::Store(x, Val::Last(_), order) => Op::Store(x, Val::Const(1), order),
        Op::Store(x, Val::Const(2), order) => Op::Store(x, Val::Const(1), order),
        Op::StoreUnord(x, v) => Op::Store(x, v, Relaxed),
        _ => op,
    };
    [relaxed, plainer].into_iter().filter(|&new| new != op).collect()
}
