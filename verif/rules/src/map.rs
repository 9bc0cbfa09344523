//! Maps for what rules keep: exact, without order, cheap. Rules see every event of long runs, and
//! a tree was half of their time.

/// Values by a number of 64 bits: open addressing, each entry as near as it gets behind the place
/// that its key hashes to. Nobody iterates over it, so that its order shows nowhere.
#[derive(Clone, Debug)]
pub(crate) struct IdMap<V> {
    /// None, or 2^n with at least one free for three that are taken.
    slots: Vec<Option<(u64, V)>>,
    len: usize,
}

/// A set of such numbers.
pub(crate) type IdSet = IdMap<()>;

impl<V> Default for IdMap<V> {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }
}

impl<V> IdMap<V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }

    /// Where a key wants to be (Fibonacci hashing).
    #[inline]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.mask()
    }

    #[inline]
    fn find(&self, key: u64) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.home(key);
        while let Some((k, _)) = self.slots.get(at)? {
            if *k == key {
                return Some(at);
            }
            at = (at + 1) & self.mask();
        }
        None
    }

    #[inline]
    pub(crate) fn contains(&self, key: u64) -> bool {
        self.find(key).is_some()
    }

    /// Puts a value in; gives the one that was there.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, value: V) -> Option<V> {
        if let Some(at) = self.find(key) {
            let slot = self.slots.get_mut(at)?.as_mut()?;
            return Some(std::mem::replace(&mut slot.1, value));
        }
        if 4 * (self.len + 1) > 3 * self.slots.len() {
            self.grow();
        }
        let mut at = self.home(key);
        while self.slots.get(at).is_some_and(Option::is_some) {
            at = (at + 1) & self.mask();
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Some((key, value));
            self.len += 1;
        }
        None
    }

    /// Takes a value out. What stands behind it moves up, so that no search ends too early.
    #[inline]
    pub(crate) fn remove(&mut self, key: u64) -> Option<V> {
        let mut hole = self.find(key)?;
        let (_, value) = self.slots.get_mut(hole)?.take()?;
        self.len -= 1;
        let mut at = (hole + 1) & self.mask();
        while let Some(Some((k, _))) = self.slots.get(at) {
            let from_home = at.wrapping_sub(self.home(*k)) & self.mask();
            if from_home >= (at.wrapping_sub(hole) & self.mask()) {
                self.slots.swap(hole, at);
                hole = at;
            }
            at = (at + 1) & self.mask();
        }
        Some(value)
    }

    /// Keeps what `keeps` says.
    pub(crate) fn retain(&mut self, keeps: impl Fn(u64) -> bool) {
        let all = std::mem::take(self);
        for (key, value) in all.slots.into_iter().flatten() {
            if keeps(key) {
                self.insert(key, value);
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(64);
        let old = std::mem::take(&mut self.slots);
        self.slots.resize_with(size, || None);
        self.len = 0;
        for (key, value) in old.into_iter().flatten() {
            self.insert(key, value);
        }
    }
}

/// Values by a small number of keys, in their order.
#[derive(Clone, Debug)]
pub(crate) struct FewMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for FewMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Ord, V> FewMap<K, V> {
    #[inline]
    fn find(&self, key: K) -> Result<usize, usize> {
        match self.0.first() {
            // One queue, one context: the usual case.
            Some((first, _)) if *first == key => Ok(0),
            _ => self.0.binary_search_by(|(k, _)| k.cmp(&key)),
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.0.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(key) {
            Ok(at) => self.0.get_mut(at).map(|slot| std::mem::replace(&mut slot.1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.find(key).ok()?;
        Some(self.0.remove(at).1)
    }

    /// The value of a key, made when there is none.
    #[inline]
    pub(crate) fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = match self.find(key) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (key, V::default()));
                at
            }
        };
        &mut self.0[at].1
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A small generator: the sequence is all that matters.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn both_maps_answer_as_a_tree_does() {
        let mut state = 1;
        let (mut ids, mut few, mut tree) = (IdMap::default(), FewMap::default(), BTreeMap::new());
        for round in 0..50_000_u64 {
            // Keys that collide: few, and far apart in their low bits.
            let key = (next(&mut state) % 97) << (next(&mut state) % 3 * 16);
            match next(&mut state) % 4 {
                0 | 1 => {
                    let before = tree.insert(key, round);
                    assert_eq!(ids.insert(key, round), before);
                    assert_eq!(few.insert(key, round), before);
                }
                2 => {
                    let before = tree.remove(&key);
                    assert_eq!((ids.remove(key), few.remove(key)), (before, before));
                }
                _ => {
                    let there = tree.get(&key);
                    assert_eq!(few.get(key), there);
                    assert_eq!(ids.contains(key), there.is_some());
                }
            }
            assert_eq!(ids.len(), tree.len());
        }
        assert!(few.iter().eq(tree.iter().map(|(k, v)| (*k, v))));
        ids.retain(|key| key % 2 == 0);
        tree.retain(|key, _| key % 2 == 0);
        assert_eq!(ids.len(), tree.len());
        assert!(tree.iter().all(|(key, value)| ids.remove(*key) == Some(*value)));
    }
}
