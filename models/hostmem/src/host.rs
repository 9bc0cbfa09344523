//! Host memory for timed runs: bytes behind the ledger, one thread.

use crate::ledger::{Ledger, Move, Place};
use crate::{AllocError, AreaLayout, Config, Counters, FailPlan, BUF_BASE};
use pollproof_events::{emit, Event, Owner, What};
use std::sync::atomic::Ordering;

/// Fast memory of one thread.
pub struct HostMem {
    ledger: Ledger,
    areas: Vec<Vec<u8>>,
    bufs: Vec<Box<[u8]>>,
}

impl HostMem {
    /// An empty memory.
    pub fn new(config: Config) -> Self {
        Self { ledger: Ledger::new(config), areas: Vec::new(), bufs: Vec::new() }
    }

    // Device side.

    /// The device reads memory; `into` is zeroed and false given when it may not.
    #[track_caller]
    pub fn dma_read(&mut self, addr: u64, into: &mut [u8], what: What) -> bool {
        let from = if addr >= BUF_BASE {
            self.ledger
                .device_buf(addr, into.len(), false)
                .map(|(buf, offset)| &self.bufs[buf][offset..])
        } else {
            self.ledger
                .place(addr, into.len(), Owner::Device)
                .map(|p| &self.areas[p.area][p.offset..])
        };
        let Some(from) = from else {
            into.fill(0);
            return false;
        };
        emit(Event::DmaRead { addr, len: into.len() as u32, what });
        into.copy_from_slice(&from[..into.len()]);
        true
    }

    /// The device writes memory; nothing happens and false is given when it may not.
    #[inline]
    #[track_caller]
    pub fn dma_write(&mut self, addr: u64, bytes: &[u8], what: What) -> bool {
        let to = if addr >= BUF_BASE {
            self.ledger
                .device_buf(addr, bytes.len(), true)
                .map(|(buf, offset)| &mut self.bufs[buf][offset..])
        } else {
            self.ledger
                .place(addr, bytes.len(), Owner::Device)
                .map(|p| &mut self.areas[p.area][p.offset..])
        };
        let Some(to) = to else { return false };
        emit(Event::DmaWrite { addr, len: bytes.len() as u32, what });
        to[..bytes.len()].copy_from_slice(bytes);
        true
    }

    // CPU side.

    /// Coherent zeroed memory, aligned to 4 KiB.
    pub fn alloc_coherent(&mut self, len: usize, layout: AreaLayout) -> Result<u64, AllocError> {
        let (index, addr) = self.ledger.alloc_area(len, layout)?;
        let bytes = vec![0; len.next_multiple_of(4)];
        if index < self.areas.len() {
            self.areas[index] = bytes;
        } else {
            self.areas.push(bytes);
        }
        Ok(addr)
    }

    /// Gives coherent memory back.
    #[track_caller]
    pub fn free_coherent(&mut self, addr: u64) {
        if let Some(index) = self.ledger.free_area(addr) {
            self.areas[index] = Vec::new();
        }
    }

    #[inline(always)]
    #[track_caller]
    fn word(&mut self, addr: u64) -> Option<(Place, &mut [u8; 4])> {
        let place = self.ledger.place(addr, 4, Owner::Driver)?;
        let word = self.areas[place.area].get_mut(place.offset..)?.first_chunk_mut()?;
        Some((place, word))
    }

    /// Marked load of a word; 0 when it may not be read.
    #[inline]
    #[track_caller]
    pub fn load32(&mut self, addr: u64, _order: Ordering) -> u32 {
        let Some((place, word)) = self.word(addr) else { return 0 };
        let value = u32::from_le_bytes(*word);
        check_marked(self.ledger.layout(place), place, addr);
        value
    }

    /// Marked store of a word.
    #[inline]
    #[track_caller]
    pub fn store32(&mut self, addr: u64, value: u32, _order: Ordering) {
        if let Some((place, word)) = self.word(addr) {
            *word = value.to_le_bytes();
            check_marked(self.ledger.layout(place), place, addr);
        }
    }

    /// Plain load of a word; 0 when it may not be read.
    #[inline]
    #[track_caller]
    pub fn read32(&mut self, addr: u64) -> u32 {
        self.word(addr).map_or(0, |(_, word)| u32::from_le_bytes(*word))
    }

    /// Plain store of a word.
    #[inline]
    #[track_caller]
    pub fn write32(&mut self, addr: u64, value: u32) {
        if let Some((_, word)) = self.word(addr) {
            *word = value.to_le_bytes();
        }
    }

    /// Plain loads of words that lie behind each other; zeros when they may not be read.
    #[inline]
    #[track_caller]
    pub fn read_words(&mut self, addr: u64, into: &mut [u32]) {
        let len = 4 * into.len();
        let place = self.ledger.place(addr, len, Owner::Driver);
        let words = place.and_then(|p| self.areas[p.area].get(p.offset..p.offset + len));
        match words {
            Some(bytes) => {
                for (word, bytes) in into.iter_mut().zip(bytes.chunks_exact(4)) {
                    *word = bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
                }
            }
            None => into.fill(0),
        }
    }

    /// Plain stores of words that lie behind each other.
    #[inline]
    #[track_caller]
    pub fn write_words(&mut self, addr: u64, from: &[u32]) {
        let len = 4 * from.len();
        let place = self.ledger.place(addr, len, Owner::Driver);
        let words = place.and_then(|p| self.areas[p.area].get_mut(p.offset..p.offset + len));
        for (bytes, word) in words.unwrap_or_default().chunks_exact_mut(4).zip(from) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// A packet buffer, owned by the driver. Its bytes are what was left in it.
    #[track_caller]
    pub fn alloc_buf(&mut self) -> Result<u64, AllocError> {
        let new = self.ledger.alloc_buf()?;
        if new.index == self.bufs.len() {
            let bytes = vec![0; self.ledger.config().buf_bytes as usize];
            self.bufs.push(bytes.into_boxed_slice());
        }
        Ok(new.addr)
    }

    /// Frees a packet buffer that the driver or the stack owns.
    #[track_caller]
    pub fn free_buf(&mut self, buf: u64) {
        self.ledger.move_buf(buf, Move::Free);
    }

    /// The device may write the buffer from here on.
    #[inline]
    #[track_caller]
    pub fn map_buf(&mut self, buf: u64) {
        self.ledger.move_buf(buf, Move::Map);
    }

    /// The buffer is the driver's again.
    #[inline]
    #[track_caller]
    pub fn unmap_buf(&mut self, buf: u64) {
        self.ledger.move_buf(buf, Move::Unmap);
    }

    /// The buffer becomes packet data of the stack.
    #[inline]
    #[track_caller]
    pub fn hand_up(&mut self, buf: u64) {
        self.ledger.move_buf(buf, Move::HandUp);
    }

    /// The stack gives a buffer back whose memory the driver kept.
    #[inline]
    #[track_caller]
    pub fn give_back(&mut self, buf: u64) {
        self.ledger.move_buf(buf, Move::GiveBack);
    }

    /// Writes packet data that is to be sent; nothing happens when it may not be written.
    #[track_caller]
    pub fn write_buf(&mut self, buf: u64, offset: usize, from: &[u8]) {
        if let Some(index) = self.ledger.cpu_buf(buf, offset, from.len()) {
            self.bufs[index][offset..offset + from.len()].copy_from_slice(from);
        }
    }

    /// Reads packet data, as the driver or the stack; zeros when it may not be read.
    #[track_caller]
    pub fn read_buf(&mut self, buf: u64, offset: usize, into: &mut [u8]) {
        match self.ledger.cpu_buf(buf, offset, into.len()) {
            Some(index) => into.copy_from_slice(&self.bufs[index][offset..offset + into.len()]),
            None => into.fill(0),
        }
    }

    /// Size of a packet buffer in bytes.
    pub fn buf_len(&self) -> usize {
        self.ledger.config().buf_bytes as usize
    }

    // Books.

    /// Makes allocations of packet buffers fail.
    pub fn set_fail_allocs(&mut self, plan: Option<FailPlan>) {
        self.ledger.fail_allocs = plan;
    }

    /// What the books say.
    pub fn counters(&self) -> Counters {
        self.ledger.counters
    }

    /// Owner of the buffer that `addr` lies in.
    pub fn owner(&self, addr: u64) -> Option<Owner> {
        self.ledger.owner(addr)
    }
}

/// A marked access to a plain word is told: the layout and the driver disagree.
#[inline]
#[track_caller]
pub(crate) fn check_marked(layout: &AreaLayout, place: Place, addr: u64) {
    if !layout.is_marked(place.offset) {
        emit(Event::DeviceMisuse { why: "marked access to a plain word", at: addr });
    }
}
