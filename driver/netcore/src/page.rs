//! `struct page` as a receive ring uses it: two buffers and a reference count.
//!
//! A driver keeps a reference while it has the page in its ring; the stack holds one for each
//! buffer that it was given. Whoever drops the last one frees both buffers. So a driver may post
//! the other half while the stack reads the first, and post both again when the stack is done:
//! `page_ref_count` says so.

use pollproof_kapi::{Dma, DmaAddr, NoMemory};
use pollproof_sync::AtomicU32;
use pollproof_sync::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::Arc;

/// A page of two buffers.
#[derive(Clone)]
pub struct Page(Arc<Inner>);

struct Inner {
    halves: [DmaAddr; 2],
    refs: AtomicU32,
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "page {:#x}", self.0.halves[0])
    }
}

impl Page {
    /// `alloc_page`: both buffers are the driver's, which holds the one reference.
    pub fn alloc(dma: &dyn Dma) -> Result<Self, NoMemory> {
        let first = dma.alloc_buf()?;
        let second = dma.alloc_buf().inspect_err(|_| dma.free_buf(first))?;
        Ok(Self(Arc::new(Inner { halves: [first, second], refs: AtomicU32::new(1) })))
    }

    /// Bus address of a half.
    #[inline]
    pub fn half(&self, which: u8) -> DmaAddr {
        self.0.halves[usize::from(which & 1)]
    }

    /// `page_ref_count`: what others did before they dropped their references is seen.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.refs.load(Acquire)
    }

    /// `page_ref_inc`: the stack is about to get a half.
    #[inline]
    pub fn get(&self) {
        self.0.refs.fetch_add(1, Relaxed);
    }

    /// `put_page`: the caller's reference is gone, and with the last one both buffers.
    #[inline]
    pub fn put(&self, dma: &dyn Dma) {
        if self.0.refs.fetch_sub(1, AcqRel) == 1 {
            self.free(dma);
        }
    }

    #[cold]
    fn free(&self, dma: &dyn Dma) {
        self.0.halves.iter().for_each(|&half| dma.free_buf(half));
    }
}
