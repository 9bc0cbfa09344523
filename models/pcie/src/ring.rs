//! A queue whose entries are written and read where they are: requests and frames are large, and
//! to move one costs as much as to perform it.

/// What waits in a [`Ring`].
pub trait Entry: Default {
    /// Lets go of what it holds, as the default holds nothing: it is then written over.
    fn clear(&mut self);
}

/// First in, first out.
#[derive(Clone, Debug, Default)]
pub struct Ring<T> {
    /// None, or 2^n. Those that are free hold nothing.
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Entry> Ring<T> {
    /// Entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn at(&self, n: usize) -> usize {
        (self.head + n) & self.slots.len().wrapping_sub(1)
    }

    /// Adds an entry behind the others. It is made in its place: inline, when that is at hand, and
    /// with nothing to drop there.
    #[inline(always)]
    pub fn push_with(&mut self, make: impl FnOnce() -> T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let at = self.at(self.len);
        if let Some(slot) = self.slots.get_mut(at) {
            std::mem::forget(std::mem::replace(slot, make()));
            self.len += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize_with((2 * self.len).max(16), T::default);
    }

    /// The oldest entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.slots.get(self.head).filter(|_| self.len != 0)
    }

    /// The oldest entry.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.slots.get_mut(self.head).filter(|_| self.len != 0)
    }

    /// The entry behind `n` others.
    #[inline]
    pub fn get(&self, n: usize) -> Option<&T> {
        self.slots.get(self.at(n)).filter(|_| n < self.len)
    }

    /// Drops all but the `n` oldest.
    pub fn truncate(&mut self, n: usize) {
        while self.len > n {
            self.len -= 1;
            let at = self.at(self.len);
            if let Some(entry) = self.slots.get_mut(at) {
                entry.clear();
            }
        }
    }

    /// Takes the oldest entry out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let entry = std::mem::take(self.front_mut()?);
        self.step();
        Some(entry)
    }

    /// Drops the oldest entry where it is.
    #[inline]
    pub fn drop_front(&mut self) {
        if let Some(entry) = self.front_mut() {
            entry.clear();
            self.step();
        }
    }

    #[inline]
    fn step(&mut self) {
        self.head = self.at(1);
        self.len -= 1;
    }

    /// The entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|n| self.slots.get(self.at(n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Entry for u32 {
        fn clear(&mut self) {}
    }

    #[test]
    fn entries_leave_in_order_while_the_ring_grows() {
        let mut ring = Ring::default();
        assert_eq!(ring.front(), None);
        assert_eq!(ring.pop(), None);
        let (mut pushed, mut popped) = (0, 0);
        for round in 1..60 {
            for _ in 0..round {
                pushed += 1;
                ring.push_with(|| pushed);
            }
            assert!(ring.iter().copied().eq(popped + 1..=pushed));
            for _ in 0..round - 1 {
                popped += 1;
                assert_eq!(ring.front(), Some(&popped));
                if popped % 2 == 0 {
                    ring.drop_front();
                } else {
                    assert_eq!(ring.pop(), Some(popped));
                }
            }
        }
        assert_eq!((ring.len(), ring.is_empty()), (59, false));
        assert_eq!(ring.front_mut(), Some(&mut (popped + 1)));
        assert_eq!((ring.get(58), ring.get(59)), (Some(&pushed), None));
        ring.truncate(1);
        assert_eq!((ring.len(), ring.pop()), (1, Some(popped + 1)));
    }
}
