//! What the benches of the 82599's rings share: descriptors in host memory, and open reads.

use crate::tape::Tape;
use std::collections::VecDeque;

/// Rings lie 1 MB apart, far above 4 GB.
const BASE: u64 = 0x7_0000_0000;

/// A ring as the driver has it.
#[derive(Clone, Debug, Default)]
struct Ring {
    size: u32,
    tail: u32,
    posted: u32,
    descriptors: Vec<[u64; 2]>,
}

/// Rings of all queues.
#[derive(Clone, Debug)]
pub struct Rings {
    rings: Vec<Ring>,
    buffers: u64,
}

impl Rings {
    pub fn new(queues: u32) -> Self {
        Self { rings: vec![Ring::default(); queues as usize], buffers: 0 }
    }

    fn base(n: u32) -> u64 {
        BASE + (u64::from(n) << 20)
    }

    /// A new ring; gives its address.
    pub fn start(&mut self, n: u32, size: u32) -> u64 {
        let descriptors = vec![[0; 2]; size as usize];
        self.rings[n as usize] = Ring { size, tail: 0, posted: 0, descriptors };
        Self::base(n)
    }

    /// Where it begins.
    pub fn begin_at(&mut self, n: u32, head: u32) {
        self.rings[n as usize].tail = head;
    }

    /// Descriptors that may be posted when so many have come back.
    pub fn free(&self, n: u32, done: u32) -> u32 {
        let ring = &self.rings[n as usize];
        let used = ring.posted.wrapping_sub(done).min(ring.size);
        (ring.size - used).saturating_sub(1)
    }

    /// Writes the next descriptor.
    pub fn put(&mut self, n: u32, descriptor: [u64; 2]) {
        let ring = &mut self.rings[n as usize];
        if let Some(slot) = ring.descriptors.get_mut(ring.tail as usize) {
            *slot = descriptor;
            ring.tail = (ring.tail + 1) % ring.size;
            ring.posted = ring.posted.wrapping_add(1);
        }
    }

    /// An address that no buffer had before.
    pub fn buffer(&mut self) -> u64 {
        self.buffers += 1;
        0x10_0000_0000 + (self.buffers << 14)
    }

    /// Tail as the driver last wrote it.
    pub fn tail(&self, n: u32) -> u32 {
        self.rings[n as usize].tail
    }

    /// Posts up to `count` empty buffers; gives the tail.
    pub fn post(&mut self, n: u32, done: u32, count: u32) -> u32 {
        for _ in 0..count.min(self.free(n, done)) {
            let addr = self.buffer();
            self.put(n, [addr, 0]);
        }
        self.tail(n)
    }

    /// A tail that no driver should write.
    pub fn wrong_tail(&mut self, n: u32, tape: &mut Tape) -> u32 {
        let ring = &mut self.rings[n as usize];
        let size = ring.size.max(1);
        if tape.chance(1, 2) {
            return size + tape.below(4);
        }
        // One that goes back; the driver goes on from there.
        let back = tape.below(4).min(ring.posted);
        ring.posted -= back;
        ring.tail = (ring.tail + size - back) % size;
        ring.tail
    }

    /// What is at an address, in descriptors of 16 bytes.
    fn read(&self, addr: u64, len: u32) -> Vec<u8> {
        let n = (addr.wrapping_sub(BASE) >> 20) as usize;
        let first = ((addr & 0xf_ffff) / 16) as usize;
        let ring = self.rings.get(n);
        let count = (len / 16) as usize;
        let descriptors = (first..first + count).map(|at| {
            let found = ring.and_then(|ring| ring.descriptors.get(at));
            found.copied().unwrap_or_default()
        });
        descriptors.flatten().flat_map(u64::to_le_bytes).collect()
    }
}

/// A read that both sides made.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub rtl_tag: u32,
    pub tag: u32,
    pub addr: u64,
    pub len: u32,
}

/// The answer to one, on its way: a descriptor a cycle.
#[derive(Clone, Debug)]
pub struct Answer {
    pub read: Read,
    pub bytes: Vec<u8>,
    pub at: usize,
}

impl Answer {
    /// The descriptor of this cycle.
    pub fn beat(&self) -> [u32; 4] {
        std::array::from_fn(|n| {
            let bytes = self.bytes.get(16 * self.at + 4 * n..).and_then(|b| b.first_chunk());
            bytes.map_or(0, |b| u32::from_le_bytes(*b))
        })
    }

    /// Whether it is the last.
    pub fn is_last(&self) -> bool {
        16 * (self.at + 1) >= self.bytes.len()
    }
}

/// Reads that the model made and the RTL not yet, and those of both that are open.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    made: VecDeque<u32>,
    open: Vec<Read>,
}

impl Reads {
    /// The model made one.
    pub fn made(&mut self, tag: u32) {
        self.made.push_back(tag);
    }

    /// The RTL made it too.
    pub fn paired(&mut self, read: impl FnOnce(u32) -> Read) {
        if let Some(tag) = self.made.pop_front() {
            self.open.push(read(tag));
        }
    }

    /// Any of those that are open is answered with what memory holds now.
    pub fn take(&mut self, tape: &mut Tape, rings: &Rings) -> Option<Answer> {
        if self.open.is_empty() {
            return None;
        }
        let at = tape.below(self.open.len() as u32) as usize;
        let read = self.open.swap_remove(at);
        Some(Answer { read, bytes: rings.read(read.addr, read.len), at: 0 })
    }
}
