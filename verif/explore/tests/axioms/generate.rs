//! Random programs, all from one seed, and how a failing one is made smaller.

use super::program::{Op, Order, Program, Val};

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What the operations of a program are picked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Load,
    Store,
    Unordered,
    Copy,
    Update,
    Cas,
    Fence,
    FullFence,
    Await,
    /// A critical section, of words that are no locks.
    Section,
    /// Two of them, one in the other.
    Nested,
    /// One with an await inside.
    AwaitInside,
    If,
    Choose,
    Cell,
}

/// Kinds of programs.
const KINDS: [&[Word]; 12] = {
    use Word::*;
    [
        &[Load, Store],
        &[Load, Store, Store, Load, Copy, Fence],
        &[Update, Cas, Update, Cas, Load, Store],
        &[Load, Store, Load, Store, FullFence, Fence],
        &[Section, Section, Load, Store],
        &[Nested, Section, Store, Load],
        &[Await, Store, Load, Store, Fence],
        &[AwaitInside, Section, Store, Update],
        &[Unordered, Unordered, Load, Store, Fence, Update],
        &[If, Load, Store, Copy, Update, Choose],
        &[Cell, Cell, Load, Store, Fence, Await, Section],
        &[Load, Store, Unordered, Update, Cas, FullFence, Await, Section, If, Choose],
    ]
};

/// Orders that loads, stores, updates and fences pick from; each program takes one of the styles.
struct Style {
    loads: &'static [Order],
    stores: &'static [Order],
    updates: &'static [Order],
    locs: usize,
}

const STYLES: [[&[Order]; 3]; 4] = {
    use Order::*;
    [
        [&[Relaxed], &[Relaxed], &[Relaxed]],
        [&[Relaxed, Acquire], &[Relaxed, Release], &[Relaxed, Acquire, Release, AcqRel]],
        [&[Acquire, SeqCst], &[Release, SeqCst], &[AcqRel, SeqCst]],
        [&[Relaxed, SeqCst], &[Relaxed, SeqCst], &[Relaxed, SeqCst]],
    ]
};

/// Program number `index` of a seed.
pub fn program(seed: u64, index: u64) -> Program {
    let mut random = Random::new(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
    random.next();
    let words = KINDS[index as usize % KINDS.len()];
    let [loads, stores, updates] = random.pick(&STYLES);
    let style = Style { loads, stores, updates, locs: 1 + random.below(3) };
    let threads = 2 + random.below(3);
    let mut left = 6 + random.below(5);
    let mut program = vec![Vec::new(); threads];
    while left > 0 {
        let thread: usize = random.below(threads);
        let word = random.pick(words);
        let ops = spell(&mut random, word, &style);
        left = left.saturating_sub(ops.len());
        program[thread].extend(ops);
    }
    Program(program)
}

fn spell(random: &mut Random, word: Word, style: &Style) -> Vec<Op> {
    let lock = random.below(2);
    let mut inside = |word| spell(random, word, style);
    match word {
        Word::Section => {
            let mut ops = inside(Word::Load);
            ops.extend(inside(Word::Store));
            ops.truncate(1 + lock);
            locked(lock, ops)
        }
        Word::Nested => {
            let ops = inside(Word::Store);
            locked(lock, locked(1 - lock, ops))
        }
        Word::AwaitInside => {
            let ops = inside(Word::Await);
            locked(lock, ops)
        }
        Word::If => {
            let mut ops = inside(Word::Load);
            let body = inside(Word::Store);
            let value = random.below(3) as u64;
            ops.push(Op::IfEq { value, skip: body.len() });
            ops.extend(body);
            ops
        }
        _ => vec![single(random, word, style)],
    }
}

fn locked(lock: usize, inside: Vec<Op>) -> Vec<Op> {
    let mut ops = vec![Op::Lock(lock)];
    ops.extend(inside);
    ops.push(Op::Unlock(lock));
    ops
}

fn single(random: &mut Random, word: Word, style: &Style) -> Op {
    use Order::{AcqRel, Acquire, Release, SeqCst};
    let loc = random.below(style.locs);
    let value = random.below(3) as u64;
    // Few values, so that reads of other writes see the same; 0 is the initial one.
    let stored = Val::Const(value.max(1));
    let (load, store) = (random.pick(style.loads), random.pick(style.stores));
    let update = random.pick(style.updates);
    match word {
        Word::Load => Op::Load(loc, load),
        Word::Store => Op::Store(loc, stored, store),
        Word::Unordered => Op::StoreUnord(loc, stored),
        Word::Copy => Op::Store(loc, Val::Last(value), store),
        Word::Update if value == 0 => Op::Swap(loc, 1 + random.below(2) as u64, update),
        Word::Update => Op::Add(loc, value, update),
        Word::Cas => {
            let new = 1 + random.below(2) as u64;
            let expected = random.below(2) as u64;
            Op::Cas { loc, expected, new, success: update, failure: load }
        }
        Word::Fence => Op::Fence(random.pick(&[Acquire, Release, AcqRel, SeqCst])),
        Word::FullFence => Op::Fence(SeqCst),
        Word::Await => {
            let equal = random.below(2) == 0;
            let value = if equal { value.max(1) } else { 0 };
            Op::Await { loc, value, equal, order: load }
        }
        Word::Choose => Op::Choose(2),
        Word::Cell if value == 0 => Op::PlainRead(0),
        Word::Cell => Op::PlainWrite(0),
        Word::Section | Word::Nested | Word::AwaitInside | Word::If => unreachable!("many"),
    }
}

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
