//! Random programs, all from one seed: free ones, and litmus tests that were tampered with, since
//! few free ones synchronise at all.

use super::program::{Op, Order, Program, Val};
use super::table::table;

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
    let [loads, stores, updates] = random.pick(&STYLES);
    let style = Style { loads, stores, updates, locs: 1 + random.below(3) };
    if index.is_multiple_of(3) {
        return tampered(&mut random, &style);
    }
    let words = random.pick(&KINDS);
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

/// A litmus test with some orders changed, some accesses replaced and some operations put in.
fn tampered(random: &mut Random, style: &Style) -> Program {
    let mut litmus = table();
    let index = random.below(litmus.len());
    let mut program = litmus.swap_remove(index).program;
    for _ in 0..1 + random.below(4) {
        let thread = random.below(program.0.len());
        let ops = &mut program.0[thread];
        let at = random.below(ops.len() + 1);
        if at < ops.len() && random.below(3) > 0 {
            ops[at] = varied(random, ops[at], style);
        } else if ops.len() <= 5 {
            let word = random.pick(&[Word::Fence, Word::Load, Word::Store, Word::Update]);
            ops.insert(at, single(random, word, style));
        }
    }
    program
}

/// The operation with another order, or another that does about the same.
fn varied(random: &mut Random, op: Op, style: &Style) -> Op {
    let (load, store) = (random.pick(style.loads), random.pick(style.stores));
    let update = random.pick(style.updates);
    let kind = random.below(4);
    match op {
        Op::Load(x, _) if kind == 0 => Op::Add(x, 0, update),
        Op::Load(x, _) if kind == 1 => {
            Op::Cas { loc: x, expected: 1, new: 2, success: update, failure: load }
        }
        Op::Load(x, _) => Op::Load(x, load),
        Op::Store(x, _, _) if kind == 0 => Op::Add(x, 1, update),
        Op::Store(x, v, _) if kind == 1 => Op::StoreUnord(x, v),
        Op::Store(x, v, _) => Op::Store(x, v, store),
        Op::Fence(_) => single(random, Word::Fence, style),
        Op::Await { loc, value, equal, .. } => Op::Await { loc, value, equal, order: load },
        Op::Add(x, by, _) => Op::Add(x, by, update),
        Op::Swap(x, v, _) => Op::Swap(x, v, update),
        _ => op,
    }
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
