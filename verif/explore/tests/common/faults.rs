//! A faulty program, and the first finding of a search.
#![allow(dead_code)] // Each test file uses its part.

use pollproof_explore::{explore, rt, Config, Schedule};
use std::ops::ControlFlow::{Break, Continue};
use std::panic::Location;

/// First finding of a search: its text and its schedule.
pub fn find(program: &dyn Fn()) -> Option<(String, Schedule)> {
    let mut found = None;
    let summary = explore(&Config::default(), program, &mut |e| {
        if e.is_clean() {
            return Continue(());
        }
        let races: Vec<_> = e.races().iter().map(ToString::to_string).collect();
        found = Some((format!("{:?} {}", e.end, races.join("; ")), e.schedule().clone()));
        Break(())
    });
    assert!(found.is_some() || summary.is_exhaustive());
    found
}

/// Two locks taken in opposite order.
pub fn abba() {
    let at = Location::caller();
    let (a, b) = (rt::lock_new(), rt::lock_new());
    let both = move |x, y| {
        rt::lock(x, at);
        rt::lock(y, at);
        rt::unlock(y, at);
        rt::unlock(x, at);
    };
    rt::spawn(Box::new(move || both(a, b)), at);
    both(b, a);
}
