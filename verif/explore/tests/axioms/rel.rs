//! Relations between the events of a small graph: plain matrices of bits.

/// Events of a graph, initial writes included.
pub const MAX: usize = 32;

/// A set of events.
pub type Set = u32;

/// A binary relation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rel {
    size: usize,
    rows: [Set; MAX],
}

impl Rel {
    pub fn empty(size: usize) -> Self {
        assert!(size <= MAX, "the graph is too large");
        Self { size, rows: [0; MAX] }
    }

    /// `[set]`: the identity on a set.
    pub fn identity(size: usize, set: Set) -> Self {
        let mut rel = Self::empty(size);
        for a in 0..size {
            rel.rows[a] = set & (1 << a);
        }
        rel
    }

    pub fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    pub fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    pub fn or(mut self, other: Self) -> Self {
        for a in 0..self.size {
            self.rows[a] |= other.rows[a];
        }
        self
    }

    pub fn and(mut self, other: Self) -> Self {
        for a in 0..self.size {
            self.rows[a] &= other.rows[a];
        }
        self
    }

    pub fn minus(mut self, other: Self) -> Self {
        for a in 0..self.size {
            self.rows[a] &= !other.rows[a];
        }
        self
    }

    /// `self; other`.
    pub fn then(self, other: Self) -> Self {
        let mut rel = Self::empty(self.size);
        for a in 0..self.size {
            for b in (0..self.size).filter(|&b| self.has(a, b)) {
                rel.rows[a] |= other.rows[b];
            }
        }
        rel
    }

    /// `[set]; self`.
    pub fn from(mut self, set: Set) -> Self {
        for a in (0..self.size).filter(|a| set >> a & 1 == 0) {
            self.rows[a] = 0;
        }
        self
    }

    /// `self; [set]`.
    pub fn to(mut self, set: Set) -> Self {
        self.rows.iter_mut().for_each(|row| *row &= set);
        self
    }

    pub fn inverse(self) -> Self {
        let mut rel = Self::empty(self.size);
        for a in 0..self.size {
            for b in (0..self.size).filter(|&b| self.has(a, b)) {
                rel.add(b, a);
            }
        }
        rel
    }

    /// Reflexive closure: `self?`.
    pub fn or_same(self) -> Self {
        self.or(Self::identity(self.size, Set::MAX))
    }

    /// Transitive closure: `self+` (Warshall).
    pub fn closure(mut self) -> Self {
        for k in 0..self.size {
            for a in 0..self.size {
                if self.has(a, k) {
                    self.rows[a] |= self.rows[k];
                }
            }
        }
        self
    }

    pub fn irreflexive(&self) -> bool {
        (0..self.size).all(|a| !self.has(a, a))
    }

    pub fn acyclic(&self) -> bool {
        self.closure().irreflexive()
    }
}
