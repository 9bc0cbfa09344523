//! The litmus table, read from its text.

use super::models::{Model, MODELS};
use super::program::Program;
use super::text::{outcome, program, Wish};

pub struct Litmus {
    pub name: &'static str,
    pub program: Program,
    pub weak: Vec<Wish>,
    /// In the order of [`MODELS`].
    allowed: Vec<bool>,
    pub source: &'static str,
}

impl Litmus {
    pub fn allowed_in(&self, model: Model) -> bool {
        self.allowed[model as usize]
    }
}

pub fn table() -> Vec<Litmus> {
    let lines = include_str!("litmus.txt").lines();
    let lines: Vec<_> = lines.filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    lines.chunks(3).map(|entry| one(entry[0], entry[1], entry[2])).collect()
}

fn one(head: &'static str, text: &'static str, weak: &'static str) -> Litmus {
    let (name, rest) = head.split_once(' ').expect("a name and more");
    let (verdicts, source) = rest.split_once(' ').expect("verdicts and a source");
    let allowed: Vec<_> = verdicts.chars().map(|c| c == 'y').collect();
    assert_eq!(allowed.len(), MODELS.len(), "{name}");
    Litmus { name, program: program(text), weak: outcome(weak), allowed, source }
}
