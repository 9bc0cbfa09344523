//! Descriptor fetch: a ring in host memory and its on-chip cache (7.1.9 for receive, 7.2.3.4 for
//! transmit).
//!
//! Hardware owns `[head, tail)`; head and tail equal means that there is nothing. A fetch is due
//! when the chip holds nothing, or fewer than PTHRESH while HTHRESH wait in memory. The machine
//! knows neither time nor bus: it says what to read and is told the bytes.

use pollproof_regs::ixgbe_desc::BYTES;
use pollproof_sync::switch::bug;
use std::collections::VecDeque;

/// When to fetch and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPolicy {
    /// Descriptors that fit on chip.
    pub cache: u32,
    /// Most of one fetch.
    pub burst: u32,
    /// PTHRESH.
    pub pthresh: u32,
    /// HTHRESH.
    pub hthresh: u32,
    /// Fetches that may be open.
    pub in_flight: u32,
}

/// A fetch to be made: a contiguous part of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Names it in [`DescriptorCache::filled`].
    pub id: u64,
    /// Bus address.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
}

/// A descriptor with its place in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Index in the ring.
    pub index: u32,
    /// Its bytes.
    pub bytes: [u8; 16],
}

#[derive(Clone, Debug)]
struct Open {
    id: u64,
    start: u32,
    count: u32,
    bytes: Option<Vec<u8>>,
}

/// What a tail write meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailWrite {
    /// More descriptors, or as many as before.
    Ok,
    /// At or beyond the size; it is not taken.
    Beyond,
    /// It went back or overtook the head; it is taken as it is.
    Backwards,
}

/// The ring of one queue as the device sees it.
#[derive(Clone, Debug, Default)]
pub struct DescriptorCache {
    base: u64,
    size: u32,
    tail: u32,
    next_fetch: u32,
    next_id: u64,
    cached: VecDeque<Descriptor>,
    open: VecDeque<Open>,
    open_count: u32,
}

impl DescriptorCache {
    /// A ring of `size` descriptors at `base` that hardware begins at `head`. The ids of its
    /// fetches begin at `first_id`, so that those of an older ring can be told from them.
    pub fn new(base: u64, size: u32, head: u32, first_id: u64) -> Self {
        let head = if size == 0 { 0 } else { head % size };
        Self { base, size, tail: head, next_fetch: head, next_id: first_id, ..Self::default() }
    }

    /// Descriptors of the ring.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The first id that was not given out.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    fn distance(&self, from: u32, to: u32) -> u32 {
        // Both are below the size.
        match to.checked_sub(from) {
            Some(distance) => distance,
            None => to + self.size - from,
        }
    }

    /// Where hardware takes its next descriptor.
    #[inline]
    pub fn head(&self) -> u32 {
        let open = self.open.front().map_or(self.next_fetch, |o| o.start);
        self.cached.front().map_or(open, |d| d.index)
    }

    /// Tail.
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Descriptors that are on chip.
    #[inline]
    pub fn cached(&self) -> u32 {
        self.cached.len() as u32
    }

    /// Descriptors in memory that no fetch has been made for.
    pub fn in_host(&self) -> u32 {
        self.distance(self.next_fetch, self.tail)
    }

    /// Descriptors that hardware owns.
    #[inline]
    pub fn owned(&self) -> u32 {
        self.cached() + self.open_count + self.in_host()
    }

    /// Whether fetches are open.
    pub fn is_fetching(&self) -> bool {
        !self.open.is_empty()
    }

    /// Software moved the tail.
    pub fn set_tail(&mut self, tail: u32) -> TailWrite {
        if tail >= self.size {
            return TailWrite::Beyond;
        }
        let before = self.owned();
        let on_chip = self.cached() + self.open_count;
        let after = self.distance(self.head(), tail);
        if after < before {
            // What was fetched stays; what was not is gone.
            if after >= on_chip {
                self.tail = tail;
            }
            return TailWrite::Backwards;
        }
        if !(bug("M-RX-TAIL") && self.is_fetching()) {
            self.tail = tail;
        }
        TailWrite::Ok
    }

    /// The fetch that is due, if any; it is open from now on. `need` descriptors are wanted on
    /// chip whatever the thresholds say.
    #[inline]
    pub fn plan(&mut self, policy: &FetchPolicy, need: u32) -> Option<Fetch> {
        let on_chip = self.on_chip();
        // Most calls end here.
        if on_chip != 0 && on_chip >= need && on_chip >= policy.pthresh {
            return None;
        }
        self.plan_more(policy, need)
    }

    /// Descriptors that are on chip or on their way to it.
    fn on_chip(&self) -> u32 {
        self.cached() + self.open_count
    }

    fn plan_more(&mut self, policy: &FetchPolicy, need: u32) -> Option<Fetch> {
        let on_chip = self.on_chip();
        let in_host = self.in_host();
        let hthresh = policy.hthresh.max(1) + u32::from(bug("M-RX-HTHRESH"));
        let ahead = on_chip < policy.pthresh && in_host >= hthresh;
        let due = on_chip == 0 || on_chip < need || ahead;
        let room = policy.cache.saturating_sub(on_chip);
        let to_end = self.size - self.next_fetch.min(self.size);
        let count = in_host.min(room).min(policy.burst.max(1)).min(to_end);
        if !due || count == 0 || self.open.len() >= policy.in_flight.max(1) as usize {
            return None;
        }
        let start = self.next_fetch;
        let id = self.next_id;
        self.next_id += 1;
        self.open.push_back(Open { id, start, count, bytes: None });
        self.open_count += count;
        self.next_fetch = if start + count == self.size { 0 } else { start + count };
        let addr = self.base.wrapping_add(u64::from(start) * u64::from(BYTES));
        Some(Fetch { id, addr, len: count * BYTES })
    }

    /// A fetch is answered; bytes that are missing count as zero. False when it is not open.
    pub fn filled(&mut self, id: u64, bytes: &[u8]) -> bool {
        let first = self.open.front().map_or(id, |o| o.id);
        let Some(open) = self.open.iter_mut().find(|o| o.id == id && o.bytes.is_none()) else {
            return false;
        };
        if open.id == first {
            // The usual case: it is its turn, and nothing is kept.
            let Open { start, count, .. } = *open;
            self.open.pop_front();
            self.take_in(start, count, bytes);
        } else {
            open.bytes = Some(bytes.to_vec());
        }
        // Completions of several fetches come in any order; descriptors are used in theirs.
        while let Some(Open { bytes: Some(_), .. }) = self.open.front() {
            let Some(Open { start, count, bytes: Some(bytes), .. }) = self.open.pop_front() else {
                break;
            };
            self.take_in(start, count, &bytes);
        }
        true
    }

    /// Descriptors of a fetch, which does not wrap.
    fn take_in(&mut self, start: u32, count: u32, bytes: &[u8]) {
        self.open_count -= count;
        let (whole, _) = bytes.as_chunks::<16>();
        self.cached.extend((0..count).map(|n| {
            let bytes = whole.get(n as usize).copied().unwrap_or_default();
            Descriptor { index: start + n, bytes }
        }));
    }

    /// Takes the next descriptor.
    #[inline]
    pub fn pop(&mut self) -> Option<Descriptor> {
        self.cached.pop_front()
    }

    /// The next descriptor.
    pub fn peek(&self) -> Option<&Descriptor> {
        self.cached.front()
    }

    /// Bus address of a descriptor.
    #[inline]
    pub fn addr(&self, index: u32) -> u64 {
        self.base.wrapping_add(u64::from(index) * u64::from(BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: FetchPolicy =
        FetchPolicy { cache: 8, burst: 4, pthresh: 4, hthresh: 2, in_flight: 2 };

    fn fill(ring: &mut DescriptorCache, fetch: Fetch) {
        let bytes: Vec<u8> =
            (0..fetch.len).map(|i| ((fetch.addr / 16) as u32 + i / 16) as u8).collect();
        assert!(ring.filled(fetch.id, &bytes));
    }

    #[test]
    fn tail_equal_to_head_is_an_empty_ring() {
        let mut ring = DescriptorCache::new(0, 8, 3, 0);
        assert_eq!(ring.plan(&POLICY, 0), None);
        assert_eq!(ring.set_tail(3), TailWrite::Ok);
        assert_eq!((ring.owned(), ring.plan(&POLICY, 0)), (0, None));
        assert_eq!(ring.set_tail(2), TailWrite::Ok);
        assert_eq!(ring.owned(), 7);
    }

    #[test]
    fn a_fetch_neither_wraps_nor_passes_the_tail() {
        let mut ring = DescriptorCache::new(0x100, 8, 6, 0);
        ring.set_tail(3);
        let first = ring.plan(&POLICY, 0).expect("a fetch");
        assert_eq!((first.addr, first.len), (0x160, 32));
        let second = ring.plan(&POLICY, 0).expect("a second");
        assert_eq!((second.addr, second.len), (0x100, 48));
        assert_eq!(ring.plan(&POLICY, 0), None);
        // Answered the wrong way round: used in order all the same.
        fill(&mut ring, second);
        assert_eq!(ring.cached(), 0);
        fill(&mut ring, first);
        let order: Vec<u32> = std::iter::from_fn(|| ring.pop()).map(|d| d.index).collect();
        assert_eq!(order, [6, 7, 0, 1, 2]);
        assert_eq!((ring.head(), ring.owned()), (3, 0));
    }

    #[test]
    fn thresholds_hold_back_a_fetch_until_the_chip_is_empty() {
        let mut ring = DescriptorCache::new(0, 16, 0, 0);
        ring.set_tail(1);
        let fetch = ring.plan(&POLICY, 0).expect("the chip is empty");
        fill(&mut ring, fetch);
        ring.set_tail(2);
        assert_eq!(ring.plan(&POLICY, 0), None, "one in host is below HTHRESH");
        assert!(ring.plan(&POLICY, 2).is_some(), "a frame needs it");
    }

    #[test]
    fn a_tail_that_goes_back_is_told() {
        let mut ring = DescriptorCache::new(0, 8, 0, 0);
        assert_eq!(ring.set_tail(8), TailWrite::Beyond);
        assert_eq!(ring.set_tail(5), TailWrite::Ok);
        assert_eq!(ring.set_tail(4), TailWrite::Backwards);
        assert_eq!(ring.owned(), 4);
        let fetch = ring.plan(&POLICY, 0).expect("a fetch");
        assert_eq!(ring.set_tail(2), TailWrite::Backwards);
        assert_eq!(ring.owned(), 4, "what is on its way stays");
        fill(&mut ring, fetch);
        assert!(!ring.filled(fetch.id, &[]));
    }

    #[test]
    fn an_answer_that_is_cut_counts_as_zero() {
        let mut ring = DescriptorCache::new(0, 8, 0, 7);
        ring.set_tail(2);
        let fetch = ring.plan(&POLICY, 0).expect("a fetch");
        assert!(ring.filled(fetch.id, &[1; 16]));
        assert_eq!(ring.pop().map(|d| d.bytes), Some([1; 16]));
        assert_eq!(ring.pop().map(|d| d.bytes), Some([0; 16]));
    }
}
