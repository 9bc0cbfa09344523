//! What it takes to get packets up, counted: list operations, calls from one layer to the next, and
//! cache lines of packets that are touched, with the misses of a small first-level cache.
//!
//! The cache stands for an argument about batches: by the time that the last packet of a list is
//! looked at, the first may have left the cache. It sees `struct sk_buff` and the first bytes of
//! each packet, not code, not tables, not the stack.

use crate::SkBuff;
use pollproof_sync::{Counter, Private};

/// A first-level cache as the core is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L1 {
    /// Bytes.
    pub bytes: usize,
    /// Ways.
    pub ways: usize,
    /// Bytes of a packet that a layer looks at.
    pub header_bytes: usize,
}

impl Default for L1 {
    /// 32 KB, 8-way, as in the thread of 2018; two lines of each packet.
    fn default() -> Self {
        Self { bytes: 32 << 10, ways: 8, header_bytes: 128 }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;
/// Lines of `struct sk_buff` that each layer touches.
const SKB_LINES: u64 = 2;
/// Bytes of `struct sk_buff`, rounded up to a slab object, and where its slab begins.
const SKB_BYTES: u64 = 256;
const SLAB: u64 = 1 << 44;

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCosts {
    /// A packet was put on a list or taken off one, or a list was joined to another.
    pub list_ops: u64,
    /// Calls from one layer to the next: core, network protocol, transport.
    pub calls: u64,
    /// Cache lines that layers touched.
    pub lines: u64,
    /// Lines that were not in the cache.
    pub misses: u64,
}

/// The counters of a core.
#[derive(Default)]
pub(crate) struct Cost {
    pub list_ops: Counter,
    pub calls: Counter,
    lines: Counter,
    misses: Counter,
    cache: Option<(usize, Private<Cache>)>,
}

/// Sets of lines, the one that was used last first.
struct Cache {
    ways: usize,
    sets: Vec<Vec<u64>>,
}

impl Cost {
    pub fn new(l1: Option<L1>) -> Self {
        let cache = l1.map(|l1| {
            let ways = l1.ways.max(1);
            let sets = (l1.bytes / LINE / ways).max(1);
            let cache = Cache { ways, sets: vec![Vec::with_capacity(ways); sets] };
            (l1.header_bytes, Private::new(cache))
        });
        Self { cache, ..Self::default() }
    }

    pub fn counts(&self) -> RxCosts {
        RxCosts {
            list_ops: self.list_ops.get(),
            calls: self.calls.get(),
            lines: self.lines.get(),
            misses: self.misses.get(),
        }
    }

    /// A layer looks at a packet.
    #[inline]
    pub fn touch(&self, skb: &SkBuff) {
        if let Some((header_bytes, cache)) = &self.cache {
            self.touch_lines(skb, *header_bytes, cache);
        }
    }

    #[inline(never)]
    fn touch_lines(&self, skb: &SkBuff, header_bytes: usize, cache: &Private<Cache>) {
        let line = LINE as u64;
        let meta = (SLAB + skb.number * SKB_BYTES) / line;
        let data = skb.buf / line;
        let headers = header_bytes.min(skb.len).div_ceil(LINE) as u64;
        let lines = (meta..meta + SKB_LINES).chain(data..data + headers);
        let touch = |cache: &mut Cache| lines.map(|line| u64::from(cache.miss(line))).sum::<u64>();
        self.lines.add(SKB_LINES + headers);
        self.misses.add(cache.with(touch).unwrap_or(0));
    }
}

impl Cache {
    /// Touches a line; whether it was not there.
    fn miss(&mut self, line: u64) -> bool {
        let sets = self.sets.len() as u64;
        let set = &mut self.sets[(line % sets) as usize];
        let before = set.iter().position(|&l| l == line);
        match before {
            Some(at) => set[..=at].rotate_right(1),
            None => {
                if set.len() == self.ways {
                    set.pop();
                }
                set.insert(0, line);
            }
        }
        before.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_keeps_the_lines_that_were_used_last() {
        let mut cache = Cache { ways: 2, sets: vec![Vec::new(); 4] };
        let misses: Vec<bool> = [0, 4, 0, 8, 0, 4].iter().map(|&l| cache.miss(l)).collect();
        assert_eq!(misses, [true, true, false, true, false, true]);
        assert!(cache.miss(1), "another set");
        assert!(!cache.miss(4));
    }
}
