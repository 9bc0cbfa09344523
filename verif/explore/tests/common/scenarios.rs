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

/// A node found under RCU by `readers` while one thread unlinks it, waits for a grace period and
/// frees it. RCU is a lock for each reader.
pub fn hash(readers: usize) {
    let at = Location::caller();
    let head = rt::atomic_new(1, 32);
    let writers = rt::lock_new();
    let node = rt::plain_new(What { rule: "LIFETIME", name: "node" }, at);
    let rcu: Rc<Vec<_>> = Rc::new((0..readers).map(|_| rt::lock_new()).collect());
    let mut threads = Vec::new();
    for reader in 0..readers {
        let rcu = Rc::clone(&rcu);
        threads.push(rt::spawn(
            Box::new(move || {
                rt::lock(rcu[reader], at);
                if rt::load(head, Acquire, at) != 0 {
                    rt::read(node, at);
                }
                rt::unlock(rcu[reader], at);
            }),
            at,
        ));
    }
    threads.push(rt::spawn(
        Box::new(move || {
            rt::lock(writers, at);
            rt::store(head, 0, Relaxed, at);
            rt::unlock(writers, at);
            for &lock in rcu.iter() {
                rt::lock(lock, at);
                rt::unlock(lock, at);
            }
            rt::write(node, at);
        }),
        at,
    ));
    threads.into_iter().for_each(|t| rt::join(t, at));
}

/// `napi`: a device that raises `events`, a poller that completes and then arms, a handler that
/// schedules; full barriers around the state word, as the kernel has them.
pub fn napi(events: u64) {
    let at = Location::caller();
    let (work, armed, state) =
        (rt::atomic_new(0, 32), rt::atomic_new(1, 32), rt::atomic_new(0, 32));
    let device = rt::spawn(
        Box::new(move || {
            for _ in 0..events {
                rt::rmw(work, |w| w + 1, SeqCst, at);
                if rt::rmw(armed, |_| 0, SeqCst, at) == 1 {
                    rt::rmw(state, |s| s | 1, SeqCst, at);
                }
            }
        }),
        at,
    );
    let poller = rt::spawn(
        Box::new(move || {
            let mut seen = 0;
            for _ in 0..2 {
                if rt::load(state, Acquire, at) & 1 == 0 {
                    continue;
                }
                seen += rt::rmw(work, |_| 0, SeqCst, at);
                rt::rmw(state, |s| s & !1, SeqCst, at);
                rt::store(armed, 1, SeqCst, at);
                if rt::load(work, SeqCst, at) != 0 {
                    rt::rmw(state, |s| s | 1, SeqCst, at);
                }
            }
            let _ = seen;
        }),
        at,
    );
    rt::join(device, at);
    rt::join(poller, at);
}
