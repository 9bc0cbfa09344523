//! Text of an execution graph, put together in one way from the oracle's and from the engine's.

use super::graph::Outcome;
use std::fmt::Write;

/// What each thread did so far.
pub struct Key(Vec<String>);

impl Key {
    pub fn new(threads: usize) -> Self {
        Self(vec![String::new(); threads])
    }

    /// Next event of a thread; `source` of a read is nobody for the initial value.
    pub fn event(
        &mut self,
        thread: usize,
        object: usize,
        source: Option<Option<(usize, usize)>>,
        writes: bool,
    ) {
        let kind = match (source, writes) {
            (Some(_), true) => "U",
            (Some(_), false) => "R",
            _ => "W",
        };
        let text = &mut self.0[thread];
        let _ = write!(text, " {kind}{object}");
        if let Some(source) = source {
            let _ = match source {
                Some((t, n)) => write!(text, "<T{t}.{n}"),
                None => write!(text, "<init"),
            };
        }
    }

    pub fn text(self, co: &[Vec<(usize, usize)>], outcome: &Outcome) -> String {
        let mut text = String::new();
        for (t, events) in self.0.iter().enumerate() {
            let _ = write!(text, "T{t}:{events}; ");
        }
        for (loc, writes) in co.iter().enumerate().filter(|w| !w.1.is_empty()) {
            let names: Vec<_> = writes.iter().map(|(t, n)| format!("T{t}.{n}")).collect();
            let _ = write!(text, "co{loc}: {}; ", names.join(" "));
        }
        let _ = write!(text, "read {outcome:?}");
        text
    }
}
