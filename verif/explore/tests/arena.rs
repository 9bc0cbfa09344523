//! A program with the arena: addresses that do not depend on who ran when, and stale pointers that
//! read what was there.

use pollproof_explore::arena::{outside, Arena};
use pollproof_explore::handles::start;
use pollproof_explore::rt::{Atomic, Ordering::*};
use pollproof_explore::{explore, Config, End, Model, Reduction};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;
use std::rc::Rc;

#[global_allocator]
static ARENA: Arena = Arena;

fn config() -> Config {
    Config { reduction: Reduction::Graphs, model: Model::Rc11, ..Config::default() }
}

#[test]
fn addresses_are_the_same_in_every_execution() {
    let all: RefCell<BTreeSet<Vec<usize>>> = RefCell::default();
    let program = || {
        let seen = outside(|| Rc::new(RefCell::new(vec![0; 3])));
        let x = Atomic::new(0);
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let seen = Rc::clone(&seen);
                start(move || {
                    x.fetch_add(1, AcqRel);
                    let mine = Box::new([i; 8]);
                    seen.borrow_mut()[i] = mine.as_ptr() as usize;
                    x.fetch_add(1, AcqRel);
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join());
        outside(|| all.borrow_mut().insert(seen.borrow().clone()));
    };
    let summary = explore(&config(), &program, &mut |e| {
        assert_eq!(e.end, End::Complete);
        Continue(())
    });
    assert!(summary.executions > 50, "{summary:?}");
    let all = all.into_inner();
    assert_eq!(all.len(), 1, "{all:?}");
    let one: BTreeSet<_> = all.into_iter().flatten().collect();
    assert_eq!(one.len(), 3, "each thread has memory of its own");
}

#[test]
fn freed_memory_is_not_used_again_within_an_execution() {
    let program = || {
        let first = Box::new(7_u64);
        let at = std::ptr::from_ref(&*first) as usize;
        drop(first);
        for _ in 0..100 {
            let other = Box::new(8_u64);
            assert_ne!(std::ptr::from_ref(&*other) as usize, at);
        }
    };
    assert!(explore(&config(), &program, &mut |e| {
        assert_eq!(e.end, End::Complete);
        Continue(())
    })
    .is_exhaustive());
}

#[test]
fn what_is_made_outside_outlives_the_execution() {
    let kept: RefCell<Vec<String>> = RefCell::new(Vec::with_capacity(1));
    let program = || {
        let x = Atomic::new(0);
        let other = start(move || x.store(1, Release));
        let seen = x.load(Acquire);
        // The list is outside already and grows there; the text is not.
        kept.borrow_mut().push(outside(|| format!("the value was {seen}")));
        other.join();
    };
    let summary = explore(&config(), &program, &mut |_| Continue(()));
    assert_eq!(summary.executions, 2);
    assert_eq!(kept.into_inner().len() as u64, 2);
}

#[test]
fn a_panic_keeps_its_text() {
    let mut texts = Vec::new();
    explore(&config(), &|| panic!("number {}", 17), &mut |e| {
        if let End::Panicked { message, .. } = &e.end {
            texts.push(message.clone());
        }
        Continue(())
    });
    assert!(texts.len() == 1 && texts[0].contains("number 17"), "{texts:?}");
}

#[test]
fn what_does_not_fit_comes_from_the_system() {
    let program = || {
        let big: Vec<u8> = vec![3; 5 << 20];
        assert_eq!(big.iter().map(|&b| u64::from(b)).sum::<u64>(), 3 * (5 << 20));
    };
    assert!(explore(&config(), &program, &mut |e| {
        assert_eq!(e.end, End::Complete);
        Continue(())
    })
    .is_exhaustive());
}
