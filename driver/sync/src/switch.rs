//! Switches of a run: which documented bug is on, which barrier is taken out, and what was broken.
//!
//! A bug is one `if bug("C-1")` at the line where the real one was. A *site* is the file and line
//! of a barrier or ordered access; taking it out answers "is this barrier needed, and which rule
//! says so?". Without the feature `engines` both are constant false and cost nothing.

use crate::engine::Loc;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// A site in the code: file and line.
pub type Site = (&'static str, u32);

/// Something that the run-time context broke, told to the harness after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Rule that was broken.
    pub rule: &'static str,
    /// What happened, in one line.
    pub what: String,
    /// Where.
    pub at: Site,
    /// Thread that did it.
    pub thread: usize,
}

thread_local! {
    static BUG: Cell<&'static str> = const { Cell::new("") };
    /// Whether any site is taken out or recorded: most runs ask, and do neither.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static OUT: Cell<Option<Site>> = const { Cell::new(None) };
    static SEEN: RefCell<Option<BTreeSet<Site>>> = const { RefCell::new(None) };
    static FAULTS: RefCell<Vec<Fault>> = const { RefCell::new(Vec::new()) };
}

/// Whether the documented bug `id` is switched on in this run.
#[inline]
pub fn bug(id: &'static str) -> bool {
    cfg!(feature = "engines") && BUG.with(|b| b.get() == id)
}

/// Runs `body` with one documented bug switched on; `""` is none.
pub fn with_bug<R>(id: &'static str, body: impl FnOnce() -> R) -> R {
    struct Restore(&'static str);
    impl Drop for Restore {
        fn drop(&mut self) {
            BUG.with(|b| b.set(self.0));
        }
    }
    let _restore = Restore(BUG.with(|b| b.replace(id)));
    body()
}

/// The bug that is on, or `""`.
pub fn current_bug() -> &'static str {
    BUG.with(Cell::get)
}

/// Runs `body` with the barrier or ordering at `site` taken out.
pub fn without_site<R>(site: Option<Site>, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Site>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OUT.with(|o| o.set(self.0));
            look();
        }
    }
    let _restore = Restore(OUT.with(|o| o.replace(site)));
    look();
    body()
}

/// Runs `body` and gives the sites of barriers and ordered accesses that it passed.
pub fn record_sites<R>(body: impl FnOnce() -> R) -> (R, BTreeSet<Site>) {
    SEEN.with(|s| *s.borrow_mut() = Some(BTreeSet::new()));
    look();
    let result = body();
    let seen = SEEN.with(|s| s.borrow_mut().take()).unwrap_or_default();
    look();
    (result, seen)
}

/// Finds out whether sites matter.
fn look() {
    WATCHED.set(OUT.get().is_some() || SEEN.with(|s| s.borrow().is_some()));
}

/// Whether the barrier at `at` is taken out in this run; also records that it was passed.
#[inline]
pub(crate) fn taken_out(at: Loc) -> bool {
    cfg!(feature = "engines") && WATCHED.get() && is_out(at)
}

#[inline(never)]
fn is_out(at: Loc) -> bool {
    let site = (at.file(), at.line());
    SEEN.with(|s| {
        if let Some(seen) = s.borrow_mut().as_mut() {
            seen.insert(site);
        }
    });
    OUT.with(|o| o.get() == Some(site))
}

/// Notes that a rule of the run-time context was broken.
///
/// The list is bounded: a run that breaks a rule a thousand times has told enough.
pub fn fault(rule: &'static str, what: String, at: Loc) {
    const FAULTS_MAX: usize = 1_000;
    let thread = crate::thread::current();
    FAULTS.with(|f| {
        let mut faults = f.borrow_mut();
        if faults.len() < FAULTS_MAX {
            faults.push(Fault { rule, what, at: (at.file(), at.line()), thread });
        }
    });
}

/// The faults noted since the last call.
pub fn take_faults() -> Vec<Fault> {
    FAULTS.with(|f| std::mem::take(&mut *f.borrow_mut()))
}
