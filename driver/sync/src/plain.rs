//! Plain (non-atomic) words whose races an engine reports, and the lifetime token.
//!
//! Without an engine a plain word is a relaxed atomic of std: free on every machine we know and
//! sound in Rust even when the driver under test is wrong.

#[cfg(feature = "engines")]
use crate::engine::{current, PlainCell};
use crate::engine::{Loc, What};
use crate::switch::fault;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

macro_rules! plain {
    ($name:ident, $word:ty, $std:ty, $doc:literal) => {
        #[doc = $doc]
        pub struct $name {
            std: $std,
            #[cfg(feature = "engines")]
            cell: Option<Box<dyn PlainCell>>,
        }

        impl $name {
            /// A new cell; a race on it breaks `what.rule`.
            #[track_caller]
            pub fn new(value: $word, what: What) -> Self {
                let _ = what;
                Self {
                    std: <$std>::new(value),
                    #[cfg(feature = "engines")]
                    cell: current().map(|e| e.plain(what, Location::caller())),
                }
            }

            /// Plain read.
            #[inline]
            #[track_caller]
            pub fn get(&self) -> $word {
                self.get_at(Location::caller())
            }

            /// Plain read on behalf of the code at `at`.
            #[inline]
            pub fn get_at(&self, at: Loc) -> $word {
                let _ = at;
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    cell.read(at);
                }
                self.std.load(Relaxed)
            }

            /// Plain write.
            #[inline]
            #[track_caller]
            pub fn set(&self, value: $word) {
                self.set_at(value, Location::caller());
            }

            /// Plain write on behalf of the code at `at`.
            #[inline]
            pub fn set_at(&self, value: $word, at: Loc) {
                let _ = at;
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    cell.write(at);
                }
                self.std.store(value, Relaxed);
            }
        }
    };
}

plain!(PlainU32, u32, std::sync::atomic::AtomicU32, "A plain 32-bit word.");
plain!(PlainU64, u64, std::sync::atomic::AtomicU64, "A plain 64-bit word.");

/// Lifetime of an object that RCU or a reference count guards.
///
/// Each use of the object reads a private cell and its free writes it, so that the race check
/// reports a use after free even when the reader came first. The memory itself stays allocated.
pub struct Lifetime {
    freed: PlainU32,
    name: &'static str,
}

impl Lifetime {
    /// The object lives. `name` says what it is in reports.
    #[track_caller]
    pub fn new(name: &'static str) -> Self {
        Self { freed: PlainU32::new(0, What { rule: "LIFETIME", name }), name }
    }

    /// The object is used here; false when it was freed already.
    #[inline]
    #[track_caller]
    pub fn used(&self) -> bool {
        let at = Location::caller();
        let alive = self.freed.get_at(at) == 0;
        if !alive {
            fault("LIFETIME", format!("{} is used after its free", self.name), at);
        }
        alive
    }

    /// The object is freed here.
    #[track_caller]
    pub fn free(&self) {
        let at = Location::caller();
        if self.freed.get_at(at) != 0 {
            fault("LIFETIME", format!("{} is freed twice", self.name), at);
        }
        self.freed.set_at(1, at);
    }
}
