//! Memory of the program under test, a piece for each of its threads, taken from the front and
//! given back all at once before the next execution. So addresses do not depend on who ran when,
//! nothing is used again within an execution, and a stale pointer reads what was there.
//!
//! A binary asks for it: `#[global_allocator] static ARENA: Arena = Arena;`. Without that nothing
//! changes. What a program allocates first inside an execution and keeps beyond its end must be
//! made in [`outside`]; what was allocated outside stays there when it grows.

use crate::clock::MAX_THREADS;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arena;

/// Bytes of each thread of a program; what does not fit comes from the system.
const PIECE: usize = 1 << 20;
/// Searches at a time, each on its OS thread.
const SEARCHES: usize = 16;
const REGION: usize = PIECE * MAX_THREADS * SEARCHES;
const NONE: usize = usize::MAX;

/// The region, once it is reserved; pages are taken from the system as they are touched.
static BASE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// Whether the binary asked for the arena: it has allocated something.
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Searches that have a part of it.
static TAKEN: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Part of the search on this OS thread.
    static SEARCH: Cell<usize> = const { Cell::new(NONE) };
    /// Thread of the program that runs.
    static RUNNING: Cell<usize> = const { Cell::new(NONE) };
    static USED: [Cell<usize>; MAX_THREADS] = const { [const { Cell::new(0) }; MAX_THREADS] };
}

/// A part of the region, for the time of a search.
pub(crate) struct Part(usize);

impl Part {
    /// Takes one; a search inside another one, or one too many, does without.
    pub(crate) fn take() -> Self {
        if SEARCH.get() != NONE {
            return Self(NONE);
        }
        for part in 0..SEARCHES {
            if TAKEN.fetch_or(1 << part, Ordering::Relaxed) >> part & 1 == 0 {
                SEARCH.set(part);
                return Self(part);
            }
        }
        Self(NONE)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.0 != NONE {
            SEARCH.set(NONE);
            TAKEN.fetch_and(!(1 << self.0), Ordering::Relaxed);
        }
    }
}

/// An execution begins: all that the one before allocated is given back.
pub(crate) fn reset() {
    USED.with(|used| used.iter().for_each(|u| u.set(0)));
}

/// Until [`leave`], allocations are those of this thread of the program.
pub(crate) fn enter(thread: usize) {
    RUNNING.set(thread);
}

pub(crate) fn leave() {
    RUNNING.set(NONE);
}

/// Allocations of `body` outlive the execution.
#[inline]
pub fn outside<R>(body: impl FnOnce() -> R) -> R {
    if !INSTALLED.load(Ordering::Relaxed) {
        return body();
    }
    struct Back(usize);
    impl Drop for Back {
        fn drop(&mut self) {
            RUNNING.set(self.0);
        }
    }
    let _back = Back(RUNNING.replace(NONE));
    body()
}

#[allow(unsafe_code)]
fn base() -> *mut u8 {
    let known = BASE.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let Ok(layout) = Layout::from_size_align(REGION, PIECE) else { return ptr::null_mut() };
    // SAFETY: the layout has a size.
    let new = unsafe { System.alloc(layout) };
    if new.is_null() {
        return new;
    }
    match BASE.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(other) => {
            // SAFETY: it was allocated just above and nobody has it.
            unsafe { System.dealloc(new, layout) };
            other
        }
    }
}

/// Whether the address is in the region: such memory is not given back piece by piece.
fn is_ours(at: *mut u8) -> bool {
    let base = BASE.load(Ordering::Relaxed);
    !base.is_null() && (at as usize).wrapping_sub(base as usize) < REGION
}

/// Room in the piece of the thread that runs, or none.
#[allow(unsafe_code)]
fn take(layout: Layout) -> *mut u8 {
    let (search, thread) = (SEARCH.get(), RUNNING.get());
    if search == NONE || thread >= MAX_THREADS || layout.align() > PIECE {
        return ptr::null_mut();
    }
    USED.with(|used| {
        let begin = used[thread].get().next_multiple_of(layout.align());
        let Some(end) = begin.checked_add(layout.size()).filter(|&end| end <= PIECE) else {
            return ptr::null_mut();
        };
        let base = base();
        if base.is_null() {
            return base;
        }
        used[thread].set(end);
        // SAFETY: part, piece and offset are inside the region.
        unsafe { base.add((search * MAX_THREADS + thread) * PIECE + begin) }
    })
}

// SAFETY: memory comes from the system or from the region, whose pieces belong to one OS thread at
// a time and are not handed out twice within an execution; the region is never freed.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !INSTALLED.load(Ordering::Relaxed) {
            INSTALLED.store(true, Ordering::Relaxed);
        }
        let at = take(layout);
        if at.is_null() {
            // SAFETY: as the caller promises.
            return unsafe { System.alloc(layout) };
        }
        at
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if !is_ours(at) {
            // SAFETY: what is not in the region came from the system.
            unsafe { System.dealloc(at, layout) }
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_ours(at) {
            // SAFETY: as above. What is outside stays outside.
            return unsafe { System.realloc(at, layout, size) };
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        // SAFETY: the old memory stays as it is; the two do not overlap.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                ptr::copy_nonoverlapping(at, new, layout.size().min(size));
            }
            new
        }
    }
}
