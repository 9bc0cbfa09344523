//! Context memory of the host's, and the translation of addresses that queues use.
//!
//! Each buffer of a queue is a space of its own, 2^28 bytes behind bit 51: no bus address has that
//! bit. A read that crosses pages which do not lie together is split and put together again.

use super::bytes::be64;
use pollproof_pcie::Outbound;
use pollproof_regs::mlx4_hca::ICM_PAGE_BYTES;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

const VIRTUAL: u64 = 1 << 51;
const SPACE_SHIFT: u32 = 28;
/// A tag of a part of a read; tags of the engines have a clear bit there.
const PART: u32 = 1 << 31;
/// MTT: the page is there.
const PRESENT: u64 = 1;
/// Pages that can be mapped: 4 GiB of context memory.
const PAGES_MAX: usize = 1 << 20;

/// Pages of a buffer.
struct Space {
    log_page: u32,
    pages: Vec<u64>,
}

/// A read that is answered in parts.
struct Join {
    tag: u32,
    bytes: Vec<u8>,
    missing: usize,
    /// Where each part begins.
    starts: Vec<usize>,
}

/// Context memory and translations.
#[derive(Default)]
pub(super) struct Icm {
    /// Bus address of each page of context memory.
    pages: BTreeMap<u64, u64>,
    spaces: BTreeMap<u32, Space>,
    joins: BTreeMap<u32, Join>,
    next_join: u32,
    parts: VecDeque<Outbound>,
}

/// Which queue a space is of.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    Eq(u32),
    Cq(u32),
    Qp(u32),
}

impl Owner {
    fn space(self) -> u32 {
        match self {
            Self::Eq(n) => n * 4,
            Self::Cq(n) => n * 4 + 1,
            Self::Qp(n) => n * 4 + 2,
        }
    }

    /// First address of the space.
    pub fn base(self) -> u64 {
        VIRTUAL | u64::from(self.space()) << SPACE_SHIFT
    }
}

impl Icm {
    /// MAP_ICM: pairs of virtual address and bus address with log2 of its pages. False when a pair
    /// is out of bounds.
    pub fn map(&mut self, mailbox: &[u8], pairs: u32) -> bool {
        (0..pairs.min(256) as usize).all(|n| {
            let (va, pa) = (be64(mailbox, 16 * n), be64(mailbox, 16 * n + 8));
            let order = pa & 0xfff;
            let count = if order < 20 { 1 << order } else { u64::MAX };
            if count > PAGES_MAX as u64 || self.pages.len() + count as usize > PAGES_MAX {
                return false;
            }
            (0..count).for_each(|page| {
                let at = page * ICM_PAGE_BYTES;
                let va = (va & !0xfff).wrapping_add(at);
                self.pages.insert(va, (pa & !0xfff).wrapping_add(at));
            });
            true
        })
    }

    /// UNMAP_ICM: so many pages; Linux takes back more than it gave.
    pub fn unmap(&mut self, va: u64, count: u32) {
        let end = va.saturating_add(u64::from(count) * ICM_PAGE_BYTES);
        let gone: Vec<u64> = self.pages.range(va..end).map(|(va, _)| *va).collect();
        for va in gone {
            self.pages.remove(&va);
        }
    }

    /// Pieces of context memory that lie in one page each: byte, bus address, length. What is not
    /// mapped is left out.
    pub fn pieces(&self, first: u64, len: u32) -> Vec<(u32, u64, u32)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < len {
            let va = first.wrapping_add(at.into());
            let in_page = va % ICM_PAGE_BYTES;
            let piece = (len - at).min((ICM_PAGE_BYTES - in_page) as u32);
            if let Some(page) = self.pages.get(&(va - in_page)) {
                pieces.push((at, page + in_page, piece));
            }
            at += piece;
        }
        pieces
    }

    /// The buffer of a queue has these pages, as entries say; false when one is missing.
    pub fn add_space(&mut self, owner: Owner, log_page: u32, entries: &[u8]) -> bool {
        let pages: Vec<u64> = entries.chunks_exact(8).map(|entry| be64(entry, 0)).collect();
        if pages.iter().any(|page| page & PRESENT == 0) {
            return false;
        }
        let pages = pages.into_iter().map(|page| page & !0xfff).collect();
        self.spaces.insert(owner.space(), Space { log_page, pages });
        true
    }

    /// The queue is gone.
    pub fn remove_space(&mut self, owner: Owner) {
        self.spaces.remove(&owner.space());
    }

    /// Bus address of an address, and how many bytes lie together from there on.
    fn find(&self, addr: u64) -> Option<(u64, u64)> {
        if addr & VIRTUAL == 0 {
            return Some((addr, u64::MAX));
        }
        let space = self.spaces.get(&((addr & !VIRTUAL) >> SPACE_SHIFT).try_into().ok()?)?;
        let at = addr & ((1 << SPACE_SHIFT) - 1);
        let in_page = at & ((1 << space.log_page) - 1);
        let page = *space.pages.get((at >> space.log_page) as usize)?;
        Some((page + in_page, (1 << space.log_page) - in_page))
    }

    /// A request with bus addresses; the address if there is no page for it.
    pub fn translate(&mut self, request: Outbound) -> Result<Outbound, u64> {
        match request {
            Outbound::DmaWrite { addr, payload, what } => {
                // Entries are aligned to their size, so that they lie in one page.
                let (addr, _) = self.find(addr).ok_or(addr)?;
                Ok(Outbound::DmaWrite { addr, payload, what })
            }
            Outbound::DmaRead { tag, addr, len, what } => {
                let (at, together) = self.find(addr).ok_or(addr)?;
                if u64::from(len) <= together {
                    return Ok(Outbound::DmaRead { tag, addr: at, len, what });
                }
                self.split(tag, addr, len, what)
            }
            request => Ok(request),
        }
    }

    fn split(
        &mut self,
        tag: u32,
        addr: u64,
        len: u32,
        what: pollproof_events::What,
    ) -> Result<Outbound, u64> {
        let (mut at, mut starts, mut parts) = (0, Vec::new(), Vec::new());
        let join = self.next_join % (1 << 19);
        while at < len {
            let place = addr + u64::from(at);
            let (addr, together) = self.find(place).ok_or(place)?;
            let len = u64::from(len - at).min(together) as u32;
            let tag = PART | join << 12 | starts.len() as u32 & 0xfff;
            parts.push(Outbound::DmaRead { tag, addr, len, what });
            starts.push(at as usize);
            at += len;
        }
        let bytes = vec![0; len as usize];
        self.joins.insert(join, Join { tag, bytes, missing: len as usize, starts });
        self.next_join += 1;
        self.parts.extend(parts);
        self.parts.pop_front().ok_or(addr)
    }

    /// The next part of a read that was split.
    pub fn next_part(&mut self) -> Option<Outbound> {
        self.parts.pop_front()
    }

    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// An answer: whole as it comes, or when its last part comes.
    pub fn join<'a>(&mut self, tag: u32, bytes: &'a [u8]) -> Option<(u32, Cow<'a, [u8]>)> {
        if tag & PART == 0 {
            return Some((tag, Cow::Borrowed(bytes)));
        }
        let number = tag >> 12 & ((1 << 19) - 1);
        let join = self.joins.get_mut(&number)?;
        let start = *join.starts.get((tag & 0xfff) as usize)?;
        super::bytes::put(&mut join.bytes, start, bytes);
        join.missing = join.missing.saturating_sub(bytes.len());
        if join.missing > 0 {
            return None;
        }
        self.joins.remove(&number).map(|join| (join.tag, Cow::Owned(join.bytes)))
    }
}
