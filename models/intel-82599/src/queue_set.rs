//! A set of queues: one bit each, so that looking through it costs nothing.

/// Numbers below 256, which may stand for receive and transmit queues both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueSet([u128; 2]);

impl QueueSet {
    pub(crate) fn insert(&mut self, n: u32) {
        if let Some(half) = self.0.get_mut((n / 128) as usize) {
            *half |= 1 << (n % 128);
        }
    }

    pub(crate) fn remove(&mut self, n: u32) {
        if let Some(half) = self.0.get_mut((n / 128) as usize) {
            *half &= !(1 << (n % 128));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0, 0]
    }

    /// The members as they are now, lowest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let at = left.iter().position(|half| *half != 0)?;
            let bit = left[at].trailing_zeros();
            left[at] &= left[at] - 1;
            Some(128 * at as u32 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_out_in_order_and_once() {
        let mut set = QueueSet::default();
        for n in [255, 3, 128, 0, 3, 127, 256] {
            set.insert(n);
        }
        set.remove(127);
        set.remove(1000);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 128, 255]);
        assert!(!set.is_empty() && QueueSet::default().is_empty());
    }
}
