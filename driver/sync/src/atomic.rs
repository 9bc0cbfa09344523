//! `AtomicU32` and `AtomicU64` of std, with the running engine's cell beside the value.

use crate::engine::{current, Loc, Ordering, RmwOp};
#[cfg(feature = "engines")]
use crate::engine::{AtomicCell, Width};
use crate::switch::taken_out;
use std::panic::Location;

/// An ordering as it takes effect: `Relaxed` when this site is taken out.
#[inline]
fn weakened(order: Ordering, at: Loc) -> Ordering {
    if order != Ordering::Relaxed && taken_out(at) {
        Ordering::Relaxed
    } else {
        order
    }
}

macro_rules! atomic {
    ($name:ident, $word:ty, $std:ty, $width:expr, $doc:literal) => {
        #[doc = $doc]
        pub struct $name {
            std: $std,
            #[cfg(feature = "engines")]
            cell: Option<Box<dyn AtomicCell>>,
            /// One thread has it, see [`crate::alone`].
            #[cfg(feature = "engines")]
            alone: bool,
        }

        impl $name {
            /// A new atomic, known to the engine that runs now.
            #[track_caller]
            pub fn new(value: $word) -> Self {
                Self {
                    std: <$std>::new(value),
                    #[cfg(feature = "engines")]
                    cell: current().map(|e| e.atomic(u64::from(value), $width, Location::caller())),
                    #[cfg(feature = "engines")]
                    alone: crate::alone::is_alone(),
                }
            }

            /// A change by the one thread that has it.
            #[cfg(feature = "engines")]
            #[inline]
            fn change(&self, next: impl FnOnce($word) -> $word) -> $word {
                let before = self.std.load(Ordering::Relaxed);
                self.std.store(next(before), Ordering::Relaxed);
                before
            }

            /// Atomic load.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $word {
                self.load_at(order, Location::caller())
            }

            /// Atomic load on behalf of the code at `at`.
            #[inline]
            pub fn load_at(&self, order: Ordering, at: Loc) -> $word {
                let order = weakened(order, at);
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    crate::irq::point();
                    return cell.load(order, at) as $word;
                }
                self.std.load(order)
            }

            /// Atomic store.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $word, order: Ordering) {
                self.store_at(value, order, Location::caller());
            }

            /// Atomic store on behalf of the code at `at`.
            #[inline]
            pub fn store_at(&self, value: $word, order: Ordering, at: Loc) {
                let order = weakened(order, at);
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    crate::irq::point();
                    return cell.store(u64::from(value), order, at);
                }
                self.std.store(value, order);
            }

            #[inline]
            fn rmw(&self, op: RmwOp, value: $word, order: Ordering, at: Loc) -> $word {
                let order = weakened(order, at);
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    crate::irq::point();
                    return cell.rmw(op, u64::from(value), order, at) as $word;
                }
                #[cfg(feature = "engines")]
                if self.alone {
                    return self.change(|before| match op {
                        RmwOp::Swap => value,
                        RmwOp::Add => before.wrapping_add(value),
                        RmwOp::Sub => before.wrapping_sub(value),
                        RmwOp::And => before & value,
                        RmwOp::Or => before | value,
                    });
                }
                match op {
                    RmwOp::Swap => self.std.swap(value, order),
                    RmwOp::Add => self.std.fetch_add(value, order),
                    RmwOp::Sub => self.std.fetch_sub(value, order),
                    RmwOp::And => self.std.fetch_and(value, order),
                    RmwOp::Or => self.std.fetch_or(value, order),
                }
            }

            /// Replaces the value; gives the one before.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $word, order: Ordering) -> $word {
                self.rmw(RmwOp::Swap, value, order, Location::caller())
            }

            /// Adds, wrapping; gives the value before.
            #[inline]
            #[track_caller]
            pub fn fetch_add(&self, value: $word, order: Ordering) -> $word {
                self.rmw(RmwOp::Add, value, order, Location::caller())
            }

            /// Subtracts, wrapping; gives the value before.
            #[inline]
            #[track_caller]
            pub fn fetch_sub(&self, value: $word, order: Ordering) -> $word {
                self.rmw(RmwOp::Sub, value, order, Location::caller())
            }

            /// Bitwise and; gives the value before.
            #[inline]
            #[track_caller]
            pub fn fetch_and(&self, value: $word, order: Ordering) -> $word {
                self.rmw(RmwOp::And, value, order, Location::caller())
            }

            /// Bitwise or; gives the value before.
            #[inline]
            #[track_caller]
            pub fn fetch_or(&self, value: $word, order: Ordering) -> $word {
                self.rmw(RmwOp::Or, value, order, Location::caller())
            }

            /// Strong compare-exchange.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                old: $word,
                new: $word,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$word, $word> {
                let at = Location::caller();
                let success = weakened(success, at);
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    crate::irq::point();
                    return cell
                        .compare_exchange(u64::from(old), u64::from(new), success, failure, at)
                        .map(|v| v as $word)
                        .map_err(|v| v as $word);
                }
                #[cfg(feature = "engines")]
                if self.alone {
                    let seen = self.change(|seen| if seen == old { new } else { seen });
                    return if seen == old { Ok(seen) } else { Err(seen) };
                }
                self.std.compare_exchange(old, new, success, failure)
            }

            /// One atomic transition: `next` gives the new value or refuses. The kernel's cmpxchg
            /// loop; gives the value before, or the value that was refused.
            #[inline]
            #[track_caller]
            pub fn update(
                &self,
                order: Ordering,
                mut next: impl FnMut($word) -> Option<$word>,
            ) -> Result<$word, $word> {
                let at = Location::caller();
                let order = weakened(order, at);
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    crate::irq::point();
                    let next = &mut |v| next(v as $word).map(u64::from);
                    return cell
                        .update(next, order, at)
                        .map(|v| v as $word)
                        .map_err(|v| v as $word);
                }
                let mut seen = self.std.load(Ordering::Relaxed);
                #[cfg(feature = "engines")]
                if self.alone {
                    let Some(new) = next(seen) else { return Err(seen) };
                    self.std.store(new, Ordering::Relaxed);
                    return Ok(seen);
                }
                while let Some(new) = next(seen) {
                    match self.std.compare_exchange(seen, new, order, Ordering::Relaxed) {
                        Ok(v) => return Ok(v),
                        Err(v) => seen = v,
                    }
                }
                Err(seen)
            }

            /// Waits until `ready(value)`, as a kernel loop that sleeps or relaxes would; gives
            /// the value seen. Under an engine the thread is disabled meanwhile, never spinning.
            #[track_caller]
            pub fn wait(&self, order: Ordering, ready: impl Fn($word) -> bool) -> $word {
                let at = Location::caller();
                let order = weakened(order, at);
                #[cfg(feature = "engines")]
                if let Some(cell) = &self.cell {
                    // A CPU that waits still takes its interrupts; what they do may end the wait.
                    while crate::irq::serves() {
                        let value = self.load_at(order, at);
                        if ready(value) {
                            return value;
                        }
                        crate::thread::yield_now();
                    }
                    return cell.wait(&|v| ready(v as $word), order, at) as $word;
                }
                loop {
                    let value = self.std.load(order);
                    if ready(value) {
                        return value;
                    }
                    std::thread::yield_now();
                }
            }
        }
    };
}

atomic!(AtomicU32, u32, std::sync::atomic::AtomicU32, Width::W32, "A 32-bit atomic.");
atomic!(AtomicU64, u64, std::sync::atomic::AtomicU64, Width::W64, "A 64-bit atomic.");

/// A fence, unless its site is taken out.
#[inline]
pub(crate) fn fence_at(order: Ordering, at: Loc) {
    if taken_out(at) {
        return;
    }
    match current() {
        Some(engine) => engine.fence(order, at),
        None => std::sync::atomic::fence(order),
    }
}

/// A memory fence as in std.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    fence_at(order, Location::caller());
}
