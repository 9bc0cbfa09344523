//! The machines of x86-TSO and of SC: threads with store buffers in front of one memory.
//!
//! Owens, Sarkar and Sewell, "A better x86 memory model: x86-TSO", TPHOLs 2009. Beyond it: an
//! unordered store may leave its buffer before earlier ones to other locations.

use super::machine::{outcome, Done, End, Machine};
use super::program::{Op, Order, Program};

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Buffers {
    /// Atomics, then locks.
    memory: Vec<u64>,
    done: Done,
    /// Of each thread, oldest first: location, value, whether it is unordered.
    buffers: Vec<Vec<(usize, u64, bool)>>,
    buffered: bool,
}

impl Machine for Buffers {
    fn steps(&self, program: &Program) -> Vec<Self> {
        let mut next = Vec::new();
        for thread in 0..self.done.len() {
            next.extend(self.drained(thread));
            if let Some((op, last)) = self.next(program, thread) {
                next.extend(self.stepped(program, thread, op, last));
            }
        }
        next
    }

    fn end(&self, program: &Program) -> Option<End> {
        let waits = (0..self.done.len()).any(|t| self.next(program, t).is_some());
        let (outcome, memory) = (outcome(&self.done), self.memory.clone());
        self.steps(program).is_empty().then_some(End { outcome, memory, waits })
    }
}

impl Buffers {
    /// Before the program; without buffers it is the machine of SC.
    pub fn new(program: &Program, buffered: bool) -> Self {
        let (threads, locations) = (program.0.len(), program.atomics() + program.locks());
        let (done, buffers) = (vec![Vec::new(); threads], vec![Vec::new(); threads]);
        Self { memory: vec![0; locations], done, buffers, buffered }
    }

    fn next(&self, program: &Program, thread: usize) -> Option<(Op, u64)> {
        let done = &self.done[thread];
        program.next(thread, done.len(), |i| done[i].0)
    }

    /// One store leaves the buffer.
    fn drained(&self, thread: usize) -> Vec<Self> {
        let buffer = &self.buffers[thread];
        let may_leave = |&i: &usize| {
            let (loc, _, unordered) = buffer[i];
            i == 0 || unordered && buffer[..i].iter().all(|older| older.0 != loc)
        };
        let leave = |i| {
            let mut machine = self.clone();
            let (loc, value, _) = machine.buffers[thread].remove(i);
            machine.memory[loc] = value;
            machine
        };
        (0..buffer.len()).filter(may_leave).map(leave).collect()
    }

    fn loaded(&self, thread: usize, loc: usize) -> u64 {
        let newest = self.buffers[thread].iter().rev().find(|store| store.0 == loc);
        newest.map_or(self.memory[loc], |store| store.1)
    }

    fn did(&self, thread: usize, value: u64, given: bool) -> Self {
        let mut machine = self.clone();
        machine.done[thread].push((value, given));
        machine
    }

    fn stored(&self, thread: usize, store: (usize, u64, bool)) -> Self {
        let mut machine = self.did(thread, 0, false);
        if self.buffered {
            machine.buffers[thread].push(store);
        } else {
            machine.memory[store.0] = store.1;
        }
        machine
    }

    /// A locked instruction: only with an empty buffer.
    fn locked(&self, thread: usize, loc: usize, new: Option<u64>, given: bool) -> Option<Self> {
        let empty = self.buffers[thread].is_empty();
        let mut machine = self.did(thread, self.memory[loc], given);
        machine.memory[loc] = new.filter(|_| empty)?;
        Some(machine)
    }

    fn stepped(&self, program: &Program, thread: usize, op: Op, last: u64) -> Vec<Self> {
        let seen = |loc| self.loaded(thread, loc);
        let lock = |l| program.atomics() + l;
        let one = match op {
            Op::Load(loc, _) => Some(self.did(thread, seen(loc), true)),
            Op::Await { loc, value, equal, .. } => {
                ((seen(loc) == value) == equal).then(|| self.did(thread, seen(loc), true))
            }
            Op::Store(loc, val, Order::SeqCst) => {
                self.locked(thread, loc, Some(val.given(last)), false)
            }
            Op::Store(loc, val, _) => Some(self.stored(thread, (loc, val.given(last), false))),
            Op::StoreUnord(loc, val) => Some(self.stored(thread, (loc, val.given(last), true))),
            Op::Add(loc, by, _) => {
                self.locked(thread, loc, Some(self.memory[loc].wrapping_add(by)), true)
            }
            Op::Swap(loc, new, _) => self.locked(thread, loc, Some(new), true),
            // A failed one is a load, as it is to the kernel.
            Op::Cas { loc, expected, .. } if seen(loc) != expected => {
                Some(self.did(thread, seen(loc), true))
            }
            Op::Cas { loc, new, .. } => self.locked(thread, loc, Some(new), true),
            Op::Lock(l) => {
                let free = self.memory[lock(l)] == 0;
                self.locked(thread, lock(l), free.then_some(1), false)
            }
            Op::Unlock(l) => Some(self.stored(thread, (lock(l), 0, false))),
            Op::Fence(Order::SeqCst) if !self.buffers[thread].is_empty() => None,
            Op::Fence(_) | Op::PlainRead(_) | Op::PlainWrite(_) => Some(self.did(thread, 0, false)),
            Op::Choose(n) => return (0..n).map(|c| self.did(thread, c, true)).collect(),
            Op::IfEq { .. } => unreachable!("no event"),
        };
        one.into_iter().collect()
    }
}
