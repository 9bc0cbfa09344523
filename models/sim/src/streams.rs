//! Named random streams: one seed, and each name has its own numbers whoever draws first.

use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The source of all streams of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
}

/// One stream.
#[derive(Clone, Debug)]
pub struct Stream {
    rng: ChaCha8Rng,
}

impl Streams {
    /// The streams of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The stream of a name, from its start: `wire.loss`, `bench.irq`.
    pub fn stream(&self, name: &str) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        for (salt, part) in key[8..].chunks_exact_mut(8).enumerate() {
            part.copy_from_slice(&fnv(salt as u64, name.as_bytes()).to_le_bytes());
        }
        Stream { rng: ChaCha8Rng::from_seed(key) }
    }
}

/// FNV-1a, 64 bits.
fn fnv(salt: u64, bytes: &[u8]) -> u64 {
    let salt = salt.to_le_bytes();
    salt.iter().chain(bytes).fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Stream {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A number below `n`; 0 when `n` is 0. No value is likelier than another (Lemire's method).
    pub fn below(&mut self, n: u64) -> u64 {
        let threshold = if n == 0 { return 0 } else { n.wrapping_neg() % n };
        loop {
            let wide = u128::from(self.rng.next_u64()) * u128::from(n);
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// True `num` times out of `den`; false when `den` is 0. Draws nothing when `num` is 0.
    pub fn chance(&mut self, num: u64, den: u64) -> bool {
        num != 0 && den != 0 && self.below(den) < num
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_alone() {
        let streams = Streams::new(7);
        let mut first = streams.stream("wire.loss");
        let mut other = streams.stream("wire.duplicate");
        let mut again = Streams::new(7).stream("wire.loss");
        let one: Vec<_> = (0..8).map(|_| first.next_u64()).collect();
        let two: Vec<_> = (0..8).map(|_| (other.next_u64(), again.next_u64()).1).collect();
        assert_eq!(one, two);
        assert_ne!(one[0], streams.stream("wire.duplicate").next_u64());
        assert_ne!(one[0], Streams::new(8).stream("wire.loss").next_u64());
    }

    #[test]
    fn the_numbers_of_a_seed_do_not_change() {
        let mut stream = Streams::new(1).stream("golden");
        let got: Vec<_> = (0..4).map(|_| stream.below(1000)).collect();
        assert_eq!(got, GOLDEN);
    }

    const GOLDEN: [u64; 4] = [858, 176, 793, 108];

    #[test]
    fn numbers_stay_below_and_chances_are_fair() {
        let mut stream = Streams::new(3).stream("fair");
        let mut counts = [0; 3];
        for _ in 0..3000 {
            counts[stream.below(3) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (900..1100).contains(&n)), "{counts:?}");
        let hits = (0..10_000).filter(|_| stream.chance(1, 4)).count();
        assert!((2300..2700).contains(&hits), "{hits}");
        assert!(!stream.chance(0, 5) && !stream.chance(5, 0) && stream.chance(5, 5));
        assert_eq!(stream.below(0), 0);
    }
}
