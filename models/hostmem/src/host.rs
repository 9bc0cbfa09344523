//! Host memory for timed runs: bytes behind the ledger, one thread.

use crate::ledger::{Ledger, Move, Place};
use crate::{AllocError, AreaLayout, Config, Counters, FailPlan, BUF_BASE};
use pollproof_events::{emit, Event, Owner, What};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, Ordering::Relaxed};
use std::sync::Arc;

/// A coherent area, which a driver may have mapped.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Its words; bytes are in little-endian order.
    pub words: Arc<[AtomicU32]>,
    /// It was given back.
    pub freed: Arc<AtomicBool>,
}

impl Mapped {
    fn new(bytes: usize) -> Self {
        let words = (0..bytes.div_ceil(4)).map(|_| AtomicU32::new(0)).collect();
        Self { words, freed: Arc::new(AtomicBool::new(false)) }
    }
}

/// Fast memory of one thread.
pub struct HostMem {
    ledger: Ledger,
    areas: Vec<Mapped>,
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
        let len = into.len();
        let may = if addr >= BUF_BASE {
            let from = self.ledger.device_buf(addr, len, false);
            from.map(|(buf, offset)| into.copy_from_slice(&self.bufs[buf][offset..offset + len]))
        } else {
            let words = self.words(addr, len, Owner::Device);
            words.map(|words| {
                for (bytes, word) in into.chunks_exact_mut(4).zip(words) {
                    bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
                }
            })
        };
        match may {
            Some(()) => emit(Event::DmaRead { addr, len: len as u32, what }),
            None => into.fill(0),
        }
        may.is_some()
    }

    /// The device writes memory; nothing happens and false is given when it may not.
    #[inline]
    #[track_caller]
    pub fn dma_write(&mut self, addr: u64, bytes: &[u8], what: What) -> bool {
        let len = bytes.len();
        let may = if addr >= BUF_BASE {
            let to = self.ledger.device_buf(addr, len, true);
            to.map(|(buf, offset)| self.bufs[buf][offset..offset + len].copy_from_slice(bytes))
        } else {
            let words = self.words(addr, len, Owner::Device);
            words.map(|words| {
                for (word, bytes) in words.iter().zip(bytes.as_chunks().0) {
                    word.store(u32::from_le_bytes(*bytes), Relaxed);
                }
            })
        };
        if may.is_some() {
            emit(Event::DmaWrite { addr, len: len as u32, what });
        }
        may.is_some()
    }

    /// The words of `len` bytes of a coherent area.
    #[inline]
    #[track_caller]
    fn words(&mut self, addr: u64, len: usize, by: Owner) -> Option<&[AtomicU32]> {
        let place = self.ledger.place(addr, len, by)?;
        let from = place.offset / 4;
        self.areas[place.area].words.get(from..from + len / 4)
    }

    // CPU side.

    /// Coherent zeroed memory, aligned to 4 KiB.
    pub fn alloc_coherent(&mut self, len: usize, layout: AreaLayout) -> Result<u64, AllocError> {
        let (index, addr) = self.ledger.alloc_area(len, layout)?;
        let area = Mapped::new(len);
        if index < self.areas.len() {
            self.areas[index] = area;
        } else {
            self.areas.push(area);
        }
        Ok(addr)
    }

    /// The memory of the area at `addr` itself.
    pub fn mapped(&mut self, addr: u64) -> Option<Mapped> {
        let place = self.ledger.place(addr, 4, Owner::Driver)?;
        self.areas.get(place.area).cloned()
    }

    /// Gives coherent memory back.
    #[track_caller]
    pub fn free_coherent(&mut self, addr: u64) {
        if let Some(index) = self.ledger.free_area(addr) {
            self.areas[index].freed.store(true, Relaxed);
            self.areas[index] = Mapped::new(0);
        }
    }

    #[inline]
    #[track_caller]
    fn word(&mut self, addr: u64) -> Option<(Place, &AtomicU32)> {
        let place = self.ledger.place(addr, 4, Owner::Driver)?;
        Some((place, self.areas[place.area].words.get(place.offset / 4)?))
    }

    /// Marked load of a word; 0 when it may not be read.
    #[inline]
    #[track_caller]
    pub fn load32(&mut self, addr: u64, order: Ordering) -> u32 {
        let Some((place, word)) = self.word(addr) else { return 0 };
        let value = word.load(order);
        check_marked(self.ledger.layout(place), place, addr);
        value
    }

    /// Marked store of a word.
    #[inline]
    #[track_caller]
    pub fn store32(&mut self, addr: u64, value: u32, order: Ordering) {
        if let Some((place, word)) = self.word(addr) {
            word.store(value, order);
            check_marked(self.ledger.layout(place), place, addr);
        }
    }

    /// Plain load of a word; 0 when it may not be read.
    #[inline]
    #[track_caller]
    pub fn read32(&mut self, addr: u64) -> u32 {
        self.word(addr).map_or(0, |(_, word)| word.load(Relaxed))
    }

    /// Plain store of a word.
    #[inline]
    #[track_caller]
    pub fn write32(&mut self, addr: u64, value: u32) {
        if let Some((_, word)) = self.word(addr) {
            word.store(value, Relaxed);
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
