//! The hand-written scenarios: a lock that leaves its state behind, and a list that RCU readers
//! walk, at one shared-memory operation a step.
#![allow(dead_code)] // Each test file uses its part.

use pollproof_explore::rt::{self, Ordering::*};
use pollproof_explore::What;
use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;

const STATE: What = What { rule: "STATE", name: "state" };

/// A lock that is a state word under a mutex, taken and given back `rounds` times by each thread.
pub fn qv_lock(threads: usize, rounds: usize) {
    let at = Location::caller();
    let mutex = rt::lock_new();
    let cell = rt::plain_new(STATE, at);
    let state = Rc::new(Cell::new(0));
    let bodies = (1..=threads).map(|me| {
        let state = Rc::clone(&state);
        move || {
            for _ in 0..rounds {
                rt::lock(mutex, at);
                rt::read(cell, at);
                let free = state.get() == 0;
                if free {
                    rt::write(cell, at);
                    state.set(me);
                }
                rt::unlock(mutex, at);
                if free {
                    rt::lock(mutex, at);
                    rt::write(cell, at);
                    state.set(0);
                    rt::unlock(mutex, at);
                }
            }
        }
    });
    let children: Vec<_> = bodies.map(|b| rt::spawn(Box::new(b), at)).collect();
    children.into_iter().for_each(|c| rt::join(c, at));
}

/// What a thread does to the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOp {
    /// Publishes a node at the head, under the writers' lock.
    Add,
    /// Unlinks the first node, under the writers' lock.
    Del,
    /// Walks the list.
    Lookup,
}

/// A list of one node, and a thread for each operation; the first runs on the main thread if told.
pub fn list(ops: &[ListOp], first_on_main: bool) {
    let at = Location::caller();
    let head = rt::atomic_new(1, 32);
    // Links of the nodes 1 to 4; node 0 is the end.
    let links: Rc<Vec<_>> = Rc::new((0..5).map(|_| rt::atomic_new(0, 32)).collect());
    let writers = rt::lock_new();
    let mut new = 1;
    let mut bodies: Vec<Box<dyn FnOnce()>> = Vec::new();
    for &op in ops {
        let links = Rc::clone(&links);
        new += usize::from(op == ListOp::Add);
        let node = new;
        bodies.push(Box::new(move || match op {
            ListOp::Add => {
                rt::lock(writers, at);
                let first = rt::load(head, Relaxed, at);
                rt::store(links[node], first, Relaxed, at);
                rt::store(head, node as u64, Release, at);
                rt::unlock(writers, at);
            }
            ListOp::Del => {
                rt::lock(writers, at);
                let first = rt::load(head, Relaxed, at) as usize;
                if first != 0 {
                    let next = rt::load(links[first], Relaxed, at);
                    rt::store(head, next, Relaxed, at);
                }
                rt::unlock(writers, at);
            }
            ListOp::Lookup => {
                let mut node = rt::load(head, Acquire, at) as usize;
                while node != 0 {
                    node = rt::load(links[node], Acquire, at) as usize;
                }
            }
        }));
    }
    let main = first_on_main.then(|| bodies.remove(0));
    let children: Vec<_> = bodies.into_iter().map(|b| rt::spawn(b, at)).collect();
    if let Some(main) = main {
        main();
    }
    children.into_iter().for_each(|c| rt::join(c, at));
}
