//! Host memory for explored runs: cells of `pollproof-sync` behind the ledger, shared.
//!
//! A coherent word is an atomic where the layout marks it and a race-checked plain word elsewhere.
//! A DMA write is seen in order by the CPU (PCIe 3.0, 2.4.1), and an entry as its owner bit says:
//! the device writes the plain words first and then the marked ones with release, in order of
//! address; it reads the marked ones first, with acquire.
//!
//! The books lie in std mutexes, which no engine sees. They are never held over an operation on a
//! cell, since the engine may switch to another coroutine inside one.
//!
//! Not modelled: reordering among the DMA writes of a device, and tearing within a word. The race
//! tracker of a buffer is touched by map, DMA and reads, not by unmap and free, whose order
//! against the device comes from commands; there the ledger alone decides.

use crate::host::check_marked;
use crate::ledger::{Ledger, Move, Place};
use crate::{AllocError, AreaLayout, Config, Counters, FailPlan, BUF_BASE};
use pollproof_events::{emit, Event, Owner, What};
use pollproof_sync::{AtomicU32, Ordering, PlainU32};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Loc = &'static Location<'static>;

enum Word {
    Marked(AtomicU32),
    Plain(PlainU32),
}

struct Buf {
    tracker: PlainU32,
    bytes: Mutex<Box<[u8]>>,
}

impl Buf {
    fn new(bytes: usize) -> Arc<Self> {
        let what = pollproof_sync::What { rule: "BUFFER-OWNERSHIP", name: "packet buffer" };
        Arc::new(Self {
            tracker: PlainU32::new(0, what),
            bytes: Mutex::new(vec![0; bytes].into_boxed_slice()),
        })
    }
}

struct Books {
    ledger: Ledger,
    areas: Vec<Arc<[Word]>>,
    bufs: Vec<Arc<Buf>>,
}

/// Small memory of several threads.
pub struct SharedMem {
    books: Mutex<Books>,
    buf_bytes: usize,
}

/// A poisoned mutex only says that a test failed elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedMem {
    /// An empty memory. All `max_bufs` buffers are made here, so that their cells do not depend
    /// on the order in which threads allocate.
    pub fn new(config: Config) -> Self {
        let ledger = Ledger::new(config);
        let buf_bytes = ledger.config().buf_bytes as usize;
        let bufs = (0..config.max_bufs).map(|_| Buf::new(buf_bytes)).collect();
        Self { books: Mutex::new(Books { ledger, areas: Vec::new(), bufs }), buf_bytes }
    }

    fn layout(&self, place: Place) -> AreaLayout {
        *lock(&self.books).ledger.layout(place)
    }

    #[track_caller]
    fn place(&self, addr: u64, len: usize, by: Owner) -> Option<(Place, Arc<[Word]>)> {
        let mut books = lock(&self.books);
        let place = books.ledger.place(addr, len, by)?;
        let words = books.areas.get(place.area)?.clone();
        Some((place, words))
    }

    // Device side.

    /// The device reads memory; `into` is zeroed and false given when it may not.
    #[track_caller]
    pub fn dma_read(&self, addr: u64, into: &mut [u8], what: What) -> bool {
        let at = Location::caller();
        let len = into.len() as u32;
        into.fill(0);
        if addr >= BUF_BASE {
            let Some((buf, offset)) = self.device_buf(addr, into.len(), false) else {
                return false;
            };
            emit(Event::DmaRead { addr, len, what });
            buf.tracker.get_at(at);
            into.copy_from_slice(&lock(&buf.bytes)[offset..offset + into.len()]);
            return true;
        }
        let Some((place, words)) = self.place(addr, into.len(), Owner::Device) else {
            return false;
        };
        emit(Event::DmaRead { addr, len, what });
        let words = &words[place.offset / 4..];
        for (word, bytes) in words.iter().zip(into.chunks_exact_mut(4)) {
            if let Word::Marked(word) = word {
                bytes.copy_from_slice(&word.load_at(Ordering::Acquire, at).to_le_bytes());
            }
        }
        for (word, bytes) in words.iter().zip(into.chunks_exact_mut(4)) {
            if let Word::Plain(word) = word {
                bytes.copy_from_slice(&word.get_at(at).to_le_bytes());
            }
        }
        true
    }

    /// The device writes memory; nothing happens and false is given when it may not.
    #[track_caller]
    pub fn dma_write(&self, addr: u64, bytes: &[u8], what: What) -> bool {
        let at = Location::caller();
        let len = bytes.len() as u32;
        if addr >= BUF_BASE {
            let Some((buf, offset)) = self.device_buf(addr, bytes.len(), true) else {
                return false;
            };
            emit(Event::DmaWrite { addr, len, what });
            buf.tracker.set_at(1, at);
            lock(&buf.bytes)[offset..offset + bytes.len()].copy_from_slice(bytes);
            return true;
        }
        let Some((place, words)) = self.place(addr, bytes.len(), Owner::Device) else {
            return false;
        };
        emit(Event::DmaWrite { addr, len, what });
        let words = &words[place.offset / 4..];
        for (word, bytes) in words.iter().zip(bytes.chunks_exact(4)) {
            if let Word::Plain(word) = word {
                word.set_at(le(bytes), at);
            }
        }
        for (word, bytes) in words.iter().zip(bytes.chunks_exact(4)) {
            if let Word::Marked(word) = word {
                word.store_at(le(bytes), Ordering::Release, at);
            }
        }
        true
    }

    #[track_caller]
    fn device_buf(&self, addr: u64, len: usize, write: bool) -> Option<(Arc<Buf>, usize)> {
        let mut books = lock(&self.books);
        let (index, offset) = books.ledger.device_buf(addr, len, write)?;
        Some((books.bufs.get(index)?.clone(), offset))
    }

    // CPU side.

    /// Coherent zeroed memory, aligned to 4 KiB.
    #[track_caller]
    pub fn alloc_coherent(&self, len: usize, layout: AreaLayout) -> Result<u64, AllocError> {
        let (index, addr) = lock(&self.books).ledger.alloc_area(len, layout)?;
        let what = pollproof_sync::What { rule: layout.rule, name: layout.name };
        let words: Arc<[Word]> = (0..len.div_ceil(4))
            .map(|i| match layout.is_marked(4 * i) {
                true => Word::Marked(AtomicU32::new(0)),
                false => Word::Plain(PlainU32::new(0, what)),
            })
            .collect();
        let mut books = lock(&self.books);
        if books.areas.len() <= index {
            books.areas.resize_with(index + 1, || Arc::from([]));
        }
        books.areas[index] = words;
        Ok(addr)
    }

    /// Gives coherent memory back.
    #[track_caller]
    pub fn free_coherent(&self, addr: u64) {
        lock(&self.books).ledger.free_area(addr);
    }

    /// Marked load of a word on behalf of the code at `at`; 0 when it may not be read.
    #[track_caller]
    pub fn load32(&self, addr: u64, order: Ordering, at: Loc) -> u32 {
        let Some((place, words)) = self.place(addr, 4, Owner::Driver) else { return 0 };
        check_marked(&self.layout(place), place, addr);
        match words.get(place.offset / 4) {
            Some(Word::Marked(word)) => word.load_at(order, at),
            Some(Word::Plain(word)) => word.get_at(at),
            None => 0,
        }
    }

    /// Marked store of a word on behalf of the code at `at`.
    #[track_caller]
    pub fn store32(&self, addr: u64, value: u32, order: Ordering, at: Loc) {
        let Some((place, words)) = self.place(addr, 4, Owner::Driver) else { return };
        check_marked(&self.layout(place), place, addr);
        match words.get(place.offset / 4) {
            Some(Word::Marked(word)) => word.store_at(value, order, at),
            Some(Word::Plain(word)) => word.set_at(value, at),
            None => {}
        }
    }

    /// Plain load of a word on behalf of the code at `at`; 0 when it may not be read.
    #[track_caller]
    pub fn read32(&self, addr: u64, at: Loc) -> u32 {
        let Some((place, words)) = self.place(addr, 4, Owner::Driver) else { return 0 };
        match words.get(place.offset / 4) {
            Some(Word::Marked(word)) => word.load_at(Ordering::Relaxed, at),
            Some(Word::Plain(word)) => word.get_at(at),
            None => 0,
        }
    }

    /// Plain store of a word on behalf of the code at `at`.
    #[track_caller]
    pub fn write32(&self, addr: u64, value: u32, at: Loc) {
        let Some((place, words)) = self.place(addr, 4, Owner::Driver) else { return };
        match words.get(place.offset / 4) {
            Some(Word::Marked(word)) => word.store_at(value, Ordering::Relaxed, at),
            Some(Word::Plain(word)) => word.set_at(value, at),
            None => {}
        }
    }

    /// A packet buffer, owned by the driver. Its bytes are what was left in it.
    #[track_caller]
    pub fn alloc_buf(&self) -> Result<u64, AllocError> {
        let new = lock(&self.books).ledger.alloc_buf()?;
        if new.reused {
            // Another CPU may have used it before; the allocator orders that, so the race
            // tracker starts afresh. The bytes stay.
            let fresh = Buf::new(self.buf_bytes);
            let mut books = lock(&self.books);
            if let Some(buf) = books.bufs.get_mut(new.index) {
                std::mem::swap(&mut *lock(&buf.bytes), &mut *lock(&fresh.bytes));
                *buf = fresh;
            }
        }
        Ok(new.addr)
    }

    #[track_caller]
    fn move_buf(&self, buf: u64, action: Move) -> Option<Arc<Buf>> {
        let mut books = lock(&self.books);
        let index = books.ledger.move_buf(buf, action)?;
        books.bufs.get(index).cloned()
    }

    /// Frees a packet buffer that the driver or the stack owns.
    #[track_caller]
    pub fn free_buf(&self, buf: u64) {
        self.move_buf(buf, Move::Free);
    }

    /// The device may write the buffer from here on.
    #[track_caller]
    pub fn map_buf(&self, buf: u64) {
        if let Some(buf) = self.move_buf(buf, Move::Map) {
            buf.tracker.set_at(0, Location::caller());
        }
    }

    /// The buffer is the driver's again.
    #[track_caller]
    pub fn unmap_buf(&self, buf: u64) {
        self.move_buf(buf, Move::Unmap);
    }

    /// The buffer becomes packet data of the stack.
    #[track_caller]
    pub fn hand_up(&self, buf: u64) {
        self.move_buf(buf, Move::HandUp);
    }

    /// The stack gives a buffer back whose memory the driver kept.
    #[track_caller]
    pub fn give_back(&self, buf: u64) {
        self.move_buf(buf, Move::GiveBack);
    }

    /// Writes packet data that is to be sent; nothing happens when it may not be written.
    #[track_caller]
    pub fn write_buf(&self, buf: u64, offset: usize, from: &[u8]) {
        let found = {
            let mut books = lock(&self.books);
            let index = books.ledger.cpu_buf(buf, offset, from.len());
            index.and_then(|i| books.bufs.get(i).cloned())
        };
        let Some(found) = found else { return };
        found.tracker.set_at(1, Location::caller());
        lock(&found.bytes)[offset..offset + from.len()].copy_from_slice(from);
    }

    /// Reads packet data, as the driver or the stack; zeros when it may not be read.
    #[track_caller]
    pub fn read_buf(&self, buf: u64, offset: usize, into: &mut [u8]) {
        self.read_buf_at(buf, offset, into, Location::caller());
    }

    /// Reads packet data on behalf of the code at `at`.
    #[track_caller]
    pub fn read_buf_at(&self, buf: u64, offset: usize, into: &mut [u8], at: Loc) {
        into.fill(0);
        let buf = {
            let mut books = lock(&self.books);
            let index = books.ledger.cpu_buf(buf, offset, into.len());
            index.and_then(|i| books.bufs.get(i).cloned())
        };
        let Some(buf) = buf else { return };
        buf.tracker.get_at(at);
        into.copy_from_slice(&lock(&buf.bytes)[offset..offset + into.len()]);
    }

    /// Size of a packet buffer in bytes.
    pub fn buf_len(&self) -> usize {
        self.buf_bytes
    }

    // Books.

    /// Makes allocations of packet buffers fail.
    pub fn set_fail_allocs(&self, plan: Option<FailPlan>) {
        lock(&self.books).ledger.fail_allocs = plan;
    }

    /// What the books say.
    pub fn counters(&self) -> Counters {
        lock(&self.books).ledger.counters
    }

    /// Owner of the buffer that `addr` lies in.
    pub fn owner(&self, addr: u64) -> Option<Owner> {
        lock(&self.books).ledger.owner(addr)
    }
}

fn le(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

/// Several threads share it.
const _: () = {
    const fn assert_shared<T: Send + Sync>() {}
    assert_shared::<SharedMem>();
};
