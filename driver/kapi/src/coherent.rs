//! Coherent memory as a driver sees it: a bus address, and where the host has one, a mapping of
//! the memory itself, as `dma_alloc_coherent` gives both.
//!
//! Words go through the mapping while there is nothing to say about the access; else through
//! [`Dma`], which tells what is wrong with it. A host whose engine must see each access has none.

use crate::{Dma, DmaAddr, Layout, NoMemory};
use pollproof_sync::Ordering;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// The memory of an area, and when it must not be used directly.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Its words.
    pub words: Arc<[AtomicU32]>,
    /// It was given back.
    pub freed: Arc<AtomicBool>,
    /// The host wants to see the next marked store.
    pub watched: Arc<AtomicBool>,
    /// Marked loads that the host still allows without a look at what the CPU is doing.
    pub loads_left: Arc<AtomicU64>,
}

/// An area of coherent memory. Offsets are in bytes.
pub struct Coherent {
    dma: Arc<dyn Dma>,
    addr: DmaAddr,
    marked: u32,
    /// Words of an entry less one; entries are of 2^n words where there is a mapping.
    stride_mask: u32,
    mapping: Option<Mapping>,
}

impl Coherent {
    /// An area of `len` bytes, zeroed.
    pub fn alloc(dma: &Arc<dyn Dma>, len: usize, layout: Layout) -> Result<Self, NoMemory> {
        let addr = dma.alloc_coherent(len, layout)?;
        let stride = layout.stride_bytes / 4;
        let mapping = dma.mapping(addr).filter(|_| stride.is_power_of_two());
        let (dma, stride_mask) = (dma.clone(), stride.wrapping_sub(1));
        Ok(Self { dma, addr, marked: layout.marked, stride_mask, mapping })
    }

    /// Bus address.
    pub fn addr(&self) -> DmaAddr {
        self.addr
    }

    /// Gives it back.
    pub fn free(&self) {
        self.dma.free_coherent(self.addr);
    }

    #[inline]
    fn at(&self, offset: u32) -> DmaAddr {
        self.addr + u64::from(offset)
    }

    /// The words from `offset` on, if they may be used directly.
    #[inline]
    fn direct<const N: usize>(&self, offset: u32) -> Option<(&Mapping, &[AtomicU32; N])> {
        let mapping = self.mapping.as_ref()?;
        let words = mapping.words.get(offset as usize / 4..)?.first_chunk()?;
        (offset.is_multiple_of(4) && !mapping.freed.load(Relaxed)).then_some((mapping, words))
    }

    #[inline]
    fn is_marked(&self, offset: u32) -> bool {
        self.marked >> ((offset / 4) & self.stride_mask) & 1 != 0
    }

    /// Marked load of a word, as [`Dma::load32_at`].
    #[inline]
    #[track_caller]
    pub fn load32(&self, offset: u32, order: Ordering) -> u32 {
        if let (Some((mapping, [word])), true) = (self.direct(offset), self.is_marked(offset)) {
            let left = mapping.loads_left.load(Relaxed);
            if left != 0 {
                mapping.loads_left.store(left - 1, Relaxed);
                return word.load(order);
            }
        }
        self.dma.load32_at(self.at(offset), order, Location::caller())
    }

    /// Marked store of a word, as [`Dma::store32_at`].
    #[inline]
    #[track_caller]
    pub fn store32(&self, offset: u32, value: u32, order: Ordering) {
        if let (Some((mapping, [word])), true) = (self.direct(offset), self.is_marked(offset)) {
            if !mapping.watched.load(Relaxed) {
                return word.store(value, order);
            }
        }
        self.dma.store32_at(self.at(offset), value, order, Location::caller());
    }

    /// Plain loads of words behind each other, as [`Dma::read32_at`].
    #[inline]
    #[track_caller]
    pub fn read_words<const N: usize>(&self, offset: u32) -> [u32; N] {
        if let Some((_, words)) = self.direct::<N>(offset) {
            return words.each_ref().map(|word| word.load(Relaxed));
        }
        let (at, loc) = (self.at(offset), Location::caller());
        std::array::from_fn(|n| self.dma.read32_at(at + 4 * n as u64, loc))
    }

    /// Plain stores of words behind each other, as [`Dma::write32_at`].
    #[inline]
    #[track_caller]
    pub fn write_words<const N: usize>(&self, offset: u32, values: [u32; N]) {
        if let Some((_, words)) = self.direct::<N>(offset) {
            return words.iter().zip(values).for_each(|(word, value)| word.store(value, Relaxed));
        }
        let (at, loc) = (self.at(offset), Location::caller());
        for (n, value) in (0u64..).zip(values) {
            self.dma.write32_at(at + 4 * n, value, loc);
        }
    }
}
