//! The books of both memories: addresses, owners, limits. It knows no bytes.

use crate::{AllocError, AreaLayout, Config, Counters, FailPlan};
use pollproof_events::{emit, Event, Owner};
use std::collections::{BTreeMap, VecDeque};

/// Bus address of the first coherent area.
pub const COHERENT_BASE: u64 = 0x1000_0000;
/// Bus address of the first packet buffer; above 4 GiB, so that the upper half matters.
pub const BUF_BASE: u64 = 0x2_0000_0000;

const PAGE_BYTES: u64 = 4096;
/// A freed address is used again only when this many younger ones were freed: a late access then
/// meets "free" and not somebody else's area.
const QUARANTINE: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Area {
    base: u64,
    len: u64,
    layout: AreaLayout,
    alive: bool,
}

/// A place in a coherent area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub area: usize,
    pub offset: usize,
}

/// What a driver does with a packet buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Free,
    Map,
    Unmap,
    HandUp,
    GiveBack,
}

/// A buffer that was allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBuf {
    pub index: usize,
    pub addr: u64,
    pub reused: bool,
}

pub(crate) struct Ledger {
    config: Config,
    buf_shift: u32,
    pages: Vec<u32>,
    areas: Vec<Area>,
    /// Freed areas by their number of pages, oldest first.
    freed: BTreeMap<u64, VecDeque<usize>>,
    owners: Vec<Owner>,
    free_bufs: VecDeque<u32>,
    attempts: u64,
    pub(crate) fail_allocs: Option<FailPlan>,
    pub(crate) counters: Counters,
}

impl Ledger {
    pub(crate) fn new(mut config: Config) -> Self {
        config.buf_bytes = config.buf_bytes.clamp(64, 1 << 20);
        config.max_coherent_bytes = config.max_coherent_bytes.min(4 << 30);
        Self {
            config,
            buf_shift: config.buf_bytes.next_power_of_two().trailing_zeros(),
            pages: Vec::new(),
            areas: Vec::new(),
            freed: BTreeMap::new(),
            owners: Vec::new(),
            free_bufs: VecDeque::new(),
            attempts: 0,
            fail_allocs: None,
            counters: Counters::default(),
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn illegal(&mut self, addr: u64, by: Owner, owner: Owner, why: &'static str) {
        self.counters.illegal += 1;
        emit(Event::IllegalAccess { addr, by, owner, why });
    }

    // Coherent areas.

    pub(crate) fn alloc_area(
        &mut self,
        len: usize,
        layout: AreaLayout,
    ) -> Result<(usize, u64), AllocError> {
        let pages = (len as u64).div_ceil(PAGE_BYTES);
        if pages == 0 || !layout.is_valid() {
            return Err(AllocError::BadLayout);
        }
        let bytes = pages.checked_mul(PAGE_BYTES).ok_or(AllocError::OutOfBytes)?;
        if bytes > self.config.max_coherent_bytes - self.counters.coherent_bytes {
            return Err(AllocError::OutOfBytes);
        }
        let len = (len as u64).next_multiple_of(4);
        let old = self.freed.get_mut(&pages).filter(|q| q.len() > QUARANTINE);
        let index = match old.and_then(VecDeque::pop_front) {
            Some(index) => {
                let base = self.areas[index].base;
                self.areas[index] = Area { base, len, layout, alive: true };
                index
            }
            None => self.new_area(pages, len, layout)?,
        };
        self.counters.coherent_bytes += bytes;
        Ok((index, self.areas[index].base))
    }

    fn new_area(&mut self, pages: u64, len: u64, layout: AreaLayout) -> Result<usize, AllocError> {
        let base = COHERENT_BASE + self.pages.len() as u64 * PAGE_BYTES;
        if base + pages * PAGE_BYTES > BUF_BASE {
            return Err(AllocError::OutOfBytes);
        }
        self.areas.push(Area { base, len, layout, alive: true });
        self.pages.resize(self.pages.len() + pages as usize, self.areas.len() as u32 - 1);
        Ok(self.areas.len() - 1)
    }

    #[track_caller]
    pub(crate) fn free_area(&mut self, addr: u64) -> Option<usize> {
        let index = match self.area_at(addr) {
            Some(index) if self.areas[index].base == addr => index,
            _ => {
                self.illegal(addr, Owner::Driver, Owner::Free, "free of what is no area");
                return None;
            }
        };
        if !self.areas[index].alive {
            self.illegal(addr, Owner::Driver, Owner::Free, "double free of a coherent area");
            return None;
        }
        self.areas[index].alive = false;
        let pages = self.areas[index].len.div_ceil(PAGE_BYTES);
        self.counters.coherent_bytes -= pages * PAGE_BYTES;
        self.freed.entry(pages).or_default().push_back(index);
        Some(index)
    }

    #[inline]
    fn area_at(&self, addr: u64) -> Option<usize> {
        let page = addr.checked_sub(COHERENT_BASE)? / PAGE_BYTES;
        self.pages.get(page as usize).map(|&index| index as usize)
    }

    /// Looks up `len` bytes of a coherent area; both in whole words.
    #[inline]
    #[track_caller]
    pub(crate) fn place(&mut self, addr: u64, len: usize, by: Owner) -> Option<Place> {
        if let Some(area) = self.area_at(addr) {
            let a = &self.areas[area];
            let offset = addr - a.base;
            let inside = offset < a.len && len as u64 <= a.len - offset;
            if a.alive && inside && (addr | len as u64) & 3 == 0 {
                return Some(Place { area, offset: offset as usize });
            }
        }
        self.misplaced(addr, by)
    }

    /// Layout of the area that a place is in.
    #[inline]
    pub(crate) fn layout(&self, place: Place) -> &AreaLayout {
        &self.areas[place.area].layout
    }

    #[cold]
    #[track_caller]
    fn misplaced(&mut self, addr: u64, by: Owner) -> Option<Place> {
        let why = match self.area_at(addr) {
            None => "access outside any area",
            Some(area) if !self.areas[area].alive => "access after free of the area",
            Some(_) if addr & 3 != 0 => "access that is not aligned to words",
            Some(_) => "access past the end of an area",
        };
        self.illegal(addr, by, Owner::Free, why);
        None
    }

    // Packet buffers.

    fn addr_of(&self, index: usize) -> u64 {
        BUF_BASE + ((index as u64) << self.buf_shift)
    }

    /// Index of the buffer that `addr` lies in, and the offset in it.
    #[inline]
    fn buf_at(&self, addr: u64) -> Option<(usize, u64)> {
        let distance = addr.checked_sub(BUF_BASE)?;
        let index = (distance >> self.buf_shift) as usize;
        (index < self.owners.len()).then(|| (index, distance & ((1 << self.buf_shift) - 1)))
    }

    #[track_caller]
    pub(crate) fn alloc_buf(&mut self) -> Result<NewBuf, AllocError> {
        self.attempts += 1;
        let attempt = self.attempts;
        if self.fail_allocs.is_some_and(|p| (p.first..=p.last).contains(&attempt)) {
            self.counters.failed += 1;
            return Err(AllocError::Planned);
        }
        // A fresh buffer before an old one, until the quarantine is full.
        let room = (self.owners.len() as u32) < self.config.max_bufs;
        let reuse = self.free_bufs.len() > QUARANTINE || !room;
        let (index, reused) = match self.free_bufs.front().filter(|_| reuse) {
            Some(&index) => {
                self.free_bufs.pop_front();
                (index as usize, true)
            }
            None if room => {
                self.owners.push(Owner::Free);
                (self.owners.len() - 1, false)
            }
            None => {
                self.counters.failed += 1;
                return Err(AllocError::OutOfBuffers);
            }
        };
        self.owners[index] = Owner::Driver;
        self.counters.allocs += 1;
        self.counters.driver += 1;
        let addr = self.addr_of(index);
        emit(Event::Own { buf: addr, from: Owner::Free, to: Owner::Driver });
        Ok(NewBuf { index, addr, reused })
    }

    #[inline(always)]
    fn count(&mut self, owner: Owner) -> &mut u64 {
        match owner {
            Owner::Free => &mut self.counters.frees,
            Owner::Driver => &mut self.counters.driver,
            Owner::Device => &mut self.counters.device,
            Owner::Stack => &mut self.counters.stack,
        }
    }

    /// Moves a buffer to its next owner; a wrong move is told and does nothing. Inline, since the
    /// move is known where it is called.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn move_buf(&mut self, buf: u64, action: Move) -> Option<usize> {
        let Some((index, 0)) = self.buf_at(buf) else {
            self.illegal(buf, Owner::Driver, Owner::Free, "not a packet buffer");
            return None;
        };
        let from = self.owners[index];
        let to = match (action, from) {
            (Move::Free, Owner::Driver | Owner::Stack) => Owner::Free,
            (Move::Map, Owner::Driver) => Owner::Device,
            (Move::Unmap, Owner::Device) => Owner::Driver,
            (Move::HandUp, Owner::Driver) => Owner::Stack,
            (Move::GiveBack, Owner::Stack) => Owner::Driver,
            _ => {
                self.illegal(buf, Owner::Driver, from, wrong_move(action, from));
                return None;
            }
        };
        self.owners[index] = to;
        *self.count(from) -= 1;
        *self.count(to) += 1;
        if to == Owner::Free {
            self.free_bufs.push_back(index as u32);
        }
        emit(Event::Own { buf, from, to });
        Some(index)
    }

    /// A device access to a buffer: its index and the offset.
    #[inline]
    #[track_caller]
    pub(crate) fn device_buf(
        &mut self,
        addr: u64,
        len: usize,
        write: bool,
    ) -> Option<(usize, usize)> {
        let Some((index, offset)) = self.buf_at(addr) else {
            self.illegal(addr, Owner::Device, Owner::Free, "device access outside any buffer");
            return None;
        };
        let owner = self.owners[index];
        let why = if owner != Owner::Device {
            if write {
                "device write to a buffer that is not its own"
            } else {
                "device read of a buffer that is not its own"
            }
        } else if offset + len as u64 > u64::from(self.config.buf_bytes) {
            "device access past the end of a buffer"
        } else {
            return Some((index, offset as usize));
        };
        self.illegal(addr, Owner::Device, owner, why);
        None
    }

    /// A CPU read of a buffer: its index.
    #[inline]
    #[track_caller]
    pub(crate) fn cpu_buf(&mut self, buf: u64, offset: usize, len: usize) -> Option<usize> {
        let Some((index, 0)) = self.buf_at(buf) else {
            self.illegal(buf, Owner::Driver, Owner::Free, "not a packet buffer");
            return None;
        };
        let owner = self.owners[index];
        let why = match owner {
            Owner::Driver | Owner::Stack => match offset.checked_add(len) {
                Some(end) if end <= self.config.buf_bytes as usize => return Some(index),
                _ => "read past the end of a buffer",
            },
            Owner::Device => "read of a buffer that the device owns",
            Owner::Free => "read after free of a buffer",
        };
        self.illegal(buf, Owner::Driver, owner, why);
        None
    }

    pub(crate) fn owner(&self, buf: u64) -> Option<Owner> {
        self.buf_at(buf).map(|(index, _)| self.owners[index])
    }
}

#[cold]
#[inline(never)]
fn wrong_move(action: Move, from: Owner) -> &'static str {
    match (action, from) {
        (Move::Free, Owner::Free) => "double free of a buffer",
        (Move::Free, _) => "free of a buffer that the device owns",
        (Move::Map, Owner::Device) => "double map of a buffer",
        (Move::Map, Owner::Stack) => "map of a buffer that the stack owns",
        (Move::Map, _) => "map after free of a buffer",
        (Move::Unmap, _) => "unmap of a buffer that is not mapped",
        (Move::HandUp, Owner::Device) => "hand up of a buffer that the device owns",
        (Move::HandUp, Owner::Stack) => "second hand up of a buffer",
        (Move::HandUp, _) => "hand up after free of a buffer",
        (Move::GiveBack, _) => "return of a buffer that the stack does not own",
    }
}
