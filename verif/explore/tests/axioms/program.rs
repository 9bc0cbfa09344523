//! Small concurrent programs as data, and what a thread does next given what it saw.

/// Memory order, as in C11; a type of its own for its `Ord`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }
}

/// What a store writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Val {
    Const(u64),
    /// The value the thread read last, plus a number.
    Last(u64),
}

impl Val {
    pub fn given(self, last: u64) -> u64 {
        match self {
            Val::Const(v) => v,
            Val::Last(plus) => last.wrapping_add(plus),
        }
    }
}

/// One operation. Atomics, locks and plain cells are numbered apart, each from 0; all start at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Load(usize, Order),
    Store(usize, Val, Order),
    /// A relaxed store that may pass earlier stores of its thread.
    StoreUnord(usize, Val),
    Add(usize, u64, Order),
    Swap(usize, u64, Order),
    Cas {
        loc: usize,
        expected: u64,
        new: u64,
        success: Order,
        failure: Order,
    },
    Fence(Order),
    Lock(usize),
    Unlock(usize),
    /// Blocks until the value equals (or differs from) the number.
    Await {
        loc: usize,
        value: u64,
        equal: bool,
        order: Order,
    },
    /// Skips so many operations unless the value read last is this.
    IfEq {
        value: u64,
        skip: usize,
    },
    PlainRead(usize),
    PlainWrite(usize),
    /// The value read last becomes any number below this.
    Choose(u64),
}

impl Op {
    /// Whether it is no event of a graph.
    pub fn is_control(self) -> bool {
        matches!(self, Op::IfEq { .. })
    }

    /// Whether it gives a value, which becomes the last one read.
    pub fn gives(self) -> bool {
        use Op::*;
        matches!(self, Load(..) | Add(..) | Swap(..) | Cas { .. } | Await { .. } | Choose(_))
    }

    fn atomic(self) -> Option<usize> {
        use Op::*;
        match self {
            Load(loc, _) | Store(loc, ..) | StoreUnord(loc, _) | Add(loc, ..) | Swap(loc, ..) => {
                Some(loc)
            }
            Cas { loc, .. } | Await { loc, .. } => Some(loc),
            _ => None,
        }
    }

    fn lock(self) -> Option<usize> {
        match self {
            Op::Lock(l) | Op::Unlock(l) => Some(l),
            _ => None,
        }
    }

    fn cell(self) -> Option<usize> {
        match self {
            Op::PlainRead(c) | Op::PlainWrite(c) => Some(c),
            _ => None,
        }
    }

    /// The operation with every order SeqCst.
    fn strongest(self) -> Self {
        let order = Order::SeqCst;
        match self {
            Op::Load(x, _) => Op::Load(x, order),
            Op::Store(x, v, _) | Op::StoreUnord(x, v) => Op::Store(x, v, order),
            Op::Add(x, by, _) => Op::Add(x, by, order),
            Op::Swap(x, v, _) => Op::Swap(x, v, order),
            Op::Cas { loc, expected, new, .. } => {
                Op::Cas { loc, expected, new, success: order, failure: order }
            }
            Op::Await { loc, value, equal, .. } => Op::Await { loc, value, equal, order },
            _ => self,
        }
    }
}

/// What each thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(pub Vec<Vec<Op>>);

impl Program {
    fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.0.iter().flatten().copied()
    }

    pub fn atomics(&self) -> usize {
        self.ops().filter_map(Op::atomic).map(|i| i + 1).max().unwrap_or(0)
    }

    pub fn locks(&self) -> usize {
        self.ops().filter_map(Op::lock).map(|i| i + 1).max().unwrap_or(0)
    }

    pub fn cells(&self) -> usize {
        self.ops().filter_map(Op::cell).map(|i| i + 1).max().unwrap_or(0)
    }

    /// Whether an access, and not only a fence, is SeqCst.
    pub fn has_sc_accesses(&self) -> bool {
        use Op::*;
        self.ops().any(|op| match op {
            Load(_, o) | Store(_, _, o) | Add(_, _, o) | Swap(_, _, o) => o == Order::SeqCst,
            Await { order, .. } => order == Order::SeqCst,
            Cas { success, failure, .. } => [success, failure].contains(&Order::SeqCst),
            _ => false,
        })
    }

    pub fn has_unordered_stores(&self) -> bool {
        self.ops().any(|op| matches!(op, Op::StoreUnord(..)))
    }

    /// The program with every order SeqCst.
    pub fn strongest(&self) -> Self {
        Self(self.0.iter().map(|t| t.iter().map(|op| op.strongest()).collect()).collect())
    }

    /// Next event of a thread that did `done` events, and the value it read last. `given` tells the
    /// value that the event of this number gave.
    pub fn next(
        &self,
        thread: usize,
        done: usize,
        given: impl Fn(usize) -> u64,
    ) -> Option<(Op, u64)> {
        let ops = &self.0[thread];
        let (mut at, mut event, mut last) = (0, 0, 0);
        loop {
            let op = *ops.get(at)?;
            at += 1;
            match op {
                Op::IfEq { value, skip } if last != value => at += skip,
                Op::IfEq { .. } => {}
                _ if event == done => return Some((op, last)),
                _ => {
                    if op.gives() {
                        last = given(event);
                    }
                    event += 1;
                }
            }
        }
    }
}
