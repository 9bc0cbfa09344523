//! Programs and outcomes as text: the litmus table is written in it, and a failing random program
//! is printed in it.
//!
//! Threads are parted by `||`, operations by `;`. A verb takes its orders after dots, relaxed when
//! none is given: `r.acq x`, `w.rel x 1` (`+1`: the value read last plus one), `w.un x 1`
//! (unordered store), `add.ar x 1`, `swap x 2`, `cas.sc.rlx x 0 1`, `f.sc`, `lock l`, `unlock l`,
//! `await.acq x 1`, `differ.acq x 0`, `if 1 2` (skip two unless 1), `pr c`, `pw c`, `choose 2`.

use super::program::{Op, Order, Program, Val};
use std::fmt;

const ATOMICS: &str = "xyzv";
const LOCKS: &str = "lmn";
const CELLS: &str = "cd";
const ORDERS: [(&str, Order); 5] = [
    ("rlx", Order::Relaxed),
    ("acq", Order::Acquire),
    ("rel", Order::Release),
    ("ar", Order::AcqRel),
    ("sc", Order::SeqCst),
];

fn order(text: Option<&str>) -> Order {
    let Some(text) = text else { return Order::Relaxed };
    ORDERS.iter().find(|o| o.0 == text).unwrap_or_else(|| panic!("order {text}?")).1
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("number {text}?"))
}

fn val(text: &str) -> Val {
    match text.strip_prefix('+') {
        Some(plus) => Val::Last(number(plus)),
        None => Val::Const(number(text)),
    }
}

fn object(kinds: &str, text: &str) -> usize {
    kinds.find(text).unwrap_or_else(|| panic!("object {text}?"))
}

fn op(text: &str) -> Op {
    let words: Vec<&str> = text.split_whitespace().collect();
    let verb: Vec<&str> = words[0].split('.').collect();
    let (first, second) = (verb.get(1).copied(), verb.get(2).copied());
    let atomic = || object(ATOMICS, words[1]);
    let order = order(first.filter(|&o| o != "un"));
    match verb[0] {
        "r" => Op::Load(atomic(), order),
        "w" if first == Some("un") => Op::StoreUnord(atomic(), val(words[2])),
        "w" => Op::Store(atomic(), val(words[2]), order),
        "add" => Op::Add(atomic(), number(words[2]), order),
        "swap" => Op::Swap(atomic(), number(words[2]), order),
        "cas" => Op::Cas {
            loc: atomic(),
            expected: number(words[2]),
            new: number(words[3]),
            success: order,
            failure: self::order(second),
        },
        "f" => Op::Fence(order),
        "lock" => Op::Lock(object(LOCKS, words[1])),
        "unlock" => Op::Unlock(object(LOCKS, words[1])),
        "await" | "differ" => {
            let equal = verb[0] == "await";
            Op::Await { loc: atomic(), value: number(words[2]), equal, order }
        }
        "if" => Op::IfEq { value: number(words[1]), skip: number(words[2]) },
        "pr" => Op::PlainRead(object(CELLS, words[1])),
        "pw" => Op::PlainWrite(object(CELLS, words[1])),
        "choose" => Op::Choose(number(words[1])),
        verb => panic!("operation {verb}?"),
    }
}

/// Reads a program.
pub fn program(text: &str) -> Program {
    let ops = |t: &str| t.split(';').map(str::trim).filter(|o| !o.is_empty()).map(op).collect();
    Program(text.split("||").map(ops).collect())
}

/// One thing that an outcome demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// `1:r0=2`: the first value that thread 1 read is 2.
    Read { thread: usize, nth: usize, value: u64 },
    /// `x=2`: the last value of `x`.
    Final { loc: usize, value: u64 },
}

/// Reads an outcome: wishes between blanks, all of which must hold.
pub fn outcome(text: &str) -> Vec<Wish> {
    let wish = |t: &str| {
        let (left, value) = t.split_once('=').expect("a value");
        let value = number(value);
        match left.split_once(":r") {
            Some((thread, nth)) => Wish::Read { thread: number(thread), nth: number(nth), value },
            None => Wish::Final { loc: object(ATOMICS, left), value },
        }
    };
    text.split_whitespace().map(wish).collect()
}

fn suffix(order: Order) -> &'static str {
    ORDERS.iter().find(|o| o.1 == order).expect("every order has a name").0
}

/// Name of an object.
pub fn name(kinds: &str, index: usize) -> char {
    kinds.chars().nth(index).unwrap_or('?')
}

/// Name of an atomic.
pub fn atomic(index: usize) -> char {
    name(ATOMICS, index)
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Val::Const(v) => write!(f, "{v}"),
            Val::Last(plus) => write!(f, "+{plus}"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Op::Load(x, o) => write!(f, "r.{} {}", suffix(o), atomic(x)),
            Op::Store(x, v, o) => write!(f, "w.{} {} {v}", suffix(o), atomic(x)),
            Op::StoreUnord(x, v) => write!(f, "w.un {} {v}", atomic(x)),
            Op::Add(x, by, o) => write!(f, "add.{} {} {by}", suffix(o), atomic(x)),
            Op::Swap(x, v, o) => write!(f, "swap.{} {} {v}", suffix(o), atomic(x)),
            Op::Cas { loc, expected, new, success, failure } => {
                let (s, a) = (suffix(success), suffix(failure));
                write!(f, "cas.{s}.{a} {} {expected} {new}", atomic(loc))
            }
            Op::Fence(o) => write!(f, "f.{}", suffix(o)),
            Op::Lock(l) => write!(f, "lock {}", name(LOCKS, l)),
            Op::Unlock(l) => write!(f, "unlock {}", name(LOCKS, l)),
            Op::Await { loc, value, equal, order } => {
                let verb = if equal { "await" } else { "differ" };
                write!(f, "{verb}.{} {} {value}", suffix(order), atomic(loc))
            }
            Op::IfEq { value, skip } => write!(f, "if {value} {skip}"),
            Op::PlainRead(c) => write!(f, "pr {}", name(CELLS, c)),
            Op::PlainWrite(c) => write!(f, "pw {}", name(CELLS, c)),
            Op::Choose(n) => write!(f, "choose {n}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread =
            |ops: &Vec<Op>| ops.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        write!(f, "{}", self.0.iter().map(thread).collect::<Vec<_>>().join(" || "))
    }
}
