//! Vector clocks of a fixed width: one cache line, joined without a branch.

/// Most threads of one execution, the first included.
pub const MAX_THREADS: usize = 16;

/// How many events of each thread are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock([u32; MAX_THREADS]);

impl Clock {
    pub(crate) const ZERO: Clock = Clock([0; MAX_THREADS]);

    #[inline]
    pub(crate) fn get(&self, thread: usize) -> u32 {
        self.0[thread]
    }

    #[inline]
    pub(crate) fn set(&mut self, thread: usize, time: u32) {
        self.0[thread] = time;
    }

    #[inline]
    pub(crate) fn bump(&mut self, thread: usize) {
        self.0[thread] += 1;
    }

    #[inline]
    pub(crate) fn join(&mut self, other: &Clock) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}
