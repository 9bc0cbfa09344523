//! The order in which locks are taken, and the contexts: rule `LOCK-ORDER`, as lockdep has it.
//!
//! Locks that are made at one place are one class. Two classes must not be taken inside each other
//! both ways, nor a class inside itself; and one that an interrupt or a softirq takes must not be
//! taken where that may interrupt. Neither needs the unlucky schedule: what one execution does in
//! all its threads is put together, and forgotten with the execution.

use crate::cpu;
use crate::engine::Loc;
use crate::switch::fault;
use crate::thread;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Locks made at one place: file, line, column. One that is not watched is of no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class(Option<(&'static str, u32, u32)>);

impl Class {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn of(at: Loc) -> Self {
        Self(Some((at.file(), at.line(), at.column())))
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some((file, line, _)) => write!(f, "the lock of {file}:{line}"),
            None => f.write_str("a lock"),
        }
    }
}

/// Where a class was taken; the places are kept for the report.
#[derive(Default)]
struct Usage {
    in_hardirq: Option<Loc>,
    in_softirq: Option<Loc>,
    with_irqs: Option<Loc>,
    with_softirqs: Option<Loc>,
}

#[derive(Default)]
struct Watch {
    held: Vec<(usize, Class)>,
    /// Second taken while the first was held.
    inside: BTreeSet<(Class, Class)>,
    usage: BTreeMap<Class, Usage>,
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::new(Watch::default());
}

/// A new execution.
pub(crate) fn forget() {
    WATCH.with(|w| *w.borrow_mut() = Watch::default());
}

/// The running thread is about to take a lock of `class`.
#[inline]
pub(crate) fn takes(class: Class, spinning: bool, at: Loc) {
    if cfg!(feature = "engines") && class != Class::NONE {
        let wrong = WATCH.with(|w| w.borrow_mut().takes(class, spinning, at));
        wrong.into_iter().for_each(|what| fault("LOCK-ORDER", what, at));
    }
}

/// It has the lock.
#[inline]
pub(crate) fn has(class: Class) {
    if cfg!(feature = "engines") && class != Class::NONE {
        WATCH.with(|w| w.borrow_mut().held.push((thread::current(), class)));
    }
}

/// It gives the lock back.
#[inline]
pub(crate) fn gives(class: Class) {
    if cfg!(feature = "engines") && class != Class::NONE {
        let entry = (thread::current(), class);
        WATCH.with(|w| {
            let held = &mut w.borrow_mut().held;
            if let Some(at) = held.iter().rposition(|h| *h == entry) {
                held.remove(at);
            }
        });
    }
}

impl Watch {
    fn takes(&mut self, class: Class, spinning: bool, at: Loc) -> Vec<String> {
        let me = thread::current();
        let held: Vec<_> = self.held.iter().filter(|h| h.0 == me).map(|h| h.1).collect();
        let mut wrong: Vec<_> = held.into_iter().filter_map(|o| self.orders(o, class)).collect();
        if spinning {
            wrong.extend(self.uses(class, at));
        }
        wrong
    }

    /// `inner` is taken while `outer` is held.
    fn orders(&mut self, outer: Class, inner: Class) -> Option<String> {
        if outer == inner {
            return Some(format!("{inner} is taken inside itself, or inside its like"));
        }
        self.inside.insert((outer, inner));
        let told =
            || format!("{inner} is taken inside {outer}, which is taken inside it elsewhere");
        self.leads(inner, outer).then(told)
    }

    /// Whether `to` is taken inside `from`, over others perhaps.
    fn leads(&self, from: Class, to: Class) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut left = vec![from];
        while let Some(class) = left.pop() {
            let next = self.inside.iter().filter(|(outer, _)| *outer == class).map(|(_, i)| *i);
            for inner in next {
                if inner == to {
                    return true;
                }
                if seen.insert(inner) {
                    left.push(inner);
                }
            }
        }
        false
    }

    fn uses(&mut self, class: Class, at: Loc) -> Option<String> {
        let now = cpu::context();
        let usage = self.usage.entry(class).or_default();
        for (holds, place) in [
            (now.hardirq > 0, &mut usage.in_hardirq),
            (now.softirq > 0 && now.hardirq == 0, &mut usage.in_softirq),
            (now.takes_irqs(), &mut usage.with_irqs),
            (now.takes_softirqs(), &mut usage.with_softirqs),
        ] {
            if holds {
                place.get_or_insert(at);
            }
        }
        let told = |inside: Loc, beside: Loc, what: &str| {
            let (a, b) = (inside.line(), beside.line());
            let (f, g) = (inside.file(), beside.file());
            format!("{class} is taken by {what} ({f}:{a}) and where one may come ({g}:{b})")
        };
        match (usage.in_hardirq, usage.with_irqs, usage.in_softirq, usage.with_softirqs) {
            (Some(i), Some(b), _, _) => Some(told(i, b, "an interrupt")),
            (_, _, Some(i), Some(b)) => Some(told(i, b, "a softirq")),
            _ => None,
        }
    }
}
