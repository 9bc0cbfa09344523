//! A split ring (virtio 1.2, 2.7), as the device sees it: buffers out of it, used ones back.
//!
//! Not understood: indirect descriptors, event indexes, notification suppression (every buffer that
//! is used is told).

use crate::memory::{MemoryError, SharedMemory};

/// Entries that a ring may have; Linux uses 256.
pub const ENTRIES_MAX: u32 = 1024;
/// Bytes that the buffers of one chain may have.
pub const CHAIN_MAX: usize = 1 << 16;

const DESC_BYTES: u64 = 16;
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;

/// What is wrong with a ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The size can not be.
    #[error("ring {ring}: {entries} entries, must be a power of two up to {ENTRIES_MAX}")]
    Entries {
        /// Ring.
        ring: u32,
        /// Entries.
        entries: u32,
    },
    /// The front end offers more than fits.
    #[error("ring {ring}: its index is {index}, which is {ahead} ahead in {entries} entries")]
    Index {
        /// Ring.
        ring: u32,
        /// Index that the front end wrote.
        index: u16,
        /// Buffers ahead.
        ahead: u16,
        /// Entries.
        entries: u32,
    },
    /// A descriptor that is not in the table.
    #[error("ring {ring}: descriptor {index} is not among its {entries}")]
    Descriptor {
        /// Ring.
        ring: u32,
        /// Number of the descriptor.
        index: u16,
        /// Entries.
        entries: u32,
    },
    /// A chain without end.
    #[error("ring {ring}: the chain of descriptor {head} is longer than the ring, it loops")]
    Loop {
        /// Ring.
        ring: u32,
        /// First descriptor.
        head: u16,
    },
    /// A chain that may not be.
    #[error("ring {ring}: the chain of descriptor {head} {why}")]
    Chain {
        /// Ring.
        ring: u32,
        /// First descriptor.
        head: u16,
        /// What is wrong.
        why: &'static str,
    },
    /// It lies where no memory is shared.
    #[error("ring {ring}: {error}")]
    Memory {
        /// Ring.
        ring: u32,
        /// What is wrong.
        error: MemoryError,
    },
}

/// Part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bus address.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
}

/// A buffer of the front end: what it says, and where an answer may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// First descriptor.
    pub head: u16,
    /// To be read by the device.
    pub out: Vec<Part>,
    /// To be written by it.
    pub answer: Vec<Part>,
}

/// State of a ring.
#[derive(Clone, Debug)]
pub struct SplitRing {
    ring: u32,
    entries: u32,
    desc: u64,
    avail: u64,
    used: u64,
    next_avail: u16,
    next_used: u16,
    enabled: bool,
}

impl SplitRing {
    /// A ring without a place.
    pub fn new(ring: u32) -> Self {
        let (desc, avail, used) = (0, 0, 0);
        Self { ring, entries: 0, desc, avail, used, next_avail: 0, next_used: 0, enabled: false }
    }

    /// Sets the number of entries.
    pub fn set_entries(&mut self, entries: u32) -> Result<(), RingError> {
        if !entries.is_power_of_two() || entries > ENTRIES_MAX {
            return Err(RingError::Entries { ring: self.ring, entries });
        }
        self.entries = entries;
        Ok(())
    }

    /// Sets the place, in bus addresses, which must be shared as a whole.
    pub fn set_place(
        &mut self,
        memory: &SharedMemory,
        desc: u64,
        avail: u64,
        used: u64,
    ) -> Result<(), RingError> {
        let entries = self.entries as usize;
        if entries == 0 {
            return Err(RingError::Entries { ring: self.ring, entries: 0 });
        }
        let parts = [(desc, 16 * entries), (avail, 4 + 2 * entries), (used, 4 + 8 * entries)];
        for (addr, len) in parts {
            memory.check(addr, len).map_err(|error| self.memory_error(error))?;
        }
        (self.desc, self.avail, self.used) = (desc, avail, used);
        Ok(())
    }

    /// Sets the index at which it begins.
    pub fn set_base(&mut self, index: u16) {
        (self.next_avail, self.next_used) = (index, index);
    }

    /// The index at which it stands.
    pub fn base(&self) -> u16 {
        self.next_avail
    }

    /// Switches it on or off.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Whether buffers may be taken.
    pub fn is_ready(&self) -> bool {
        self.enabled && self.entries != 0 && self.desc != 0
    }

    fn memory_error(&self, error: MemoryError) -> RingError {
        RingError::Memory { ring: self.ring, error }
    }

    /// The next buffer that the front end offers.
    pub fn pop(&mut self, memory: &SharedMemory) -> Result<Option<Chain>, RingError> {
        if !self.is_ready() {
            return Ok(None);
        }
        let (ring, entries) = (self.ring, self.entries);
        let read = |addr: u64| memory.read_u16(addr).map_err(|error| self.memory_error(error));
        let index = read(self.avail + 2)?;
        let ahead = index.wrapping_sub(self.next_avail);
        if ahead == 0 {
            return Ok(None);
        }
        if u32::from(ahead) > entries {
            return Err(RingError::Index { ring, index, ahead, entries });
        }
        let slot = u64::from(u32::from(self.next_avail) % entries);
        let head = read(self.avail + 4 + 2 * slot)?;
        let chain = self.chain(memory, head)?;
        self.next_avail = self.next_avail.wrapping_add(1);
        Ok(Some(chain))
    }

    fn chain(&self, memory: &SharedMemory, head: u16) -> Result<Chain, RingError> {
        let (ring, entries) = (self.ring, self.entries);
        let wrong = |why| RingError::Chain { ring, head, why };
        let mut chain = Chain { head, out: Vec::new(), answer: Vec::new() };
        let mut bytes = 0_usize;
        let mut index = head;
        for _ in 0..entries {
            if u32::from(index) >= entries {
                return Err(RingError::Descriptor { ring, index, entries });
            }
            let mut raw = [0; DESC_BYTES as usize];
            let at = self.desc + DESC_BYTES * u64::from(index);
            memory.read(at, &mut raw).map_err(|error| self.memory_error(error))?;
            let [a0, a1, a2, a3, a4, a5, a6, a7, l0, l1, l2, l3, f0, f1, n0, n1] = raw;
            let part = Part {
                addr: u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
                len: u32::from_le_bytes([l0, l1, l2, l3]),
            };
            let flags = u16::from_le_bytes([f0, f1]);
            bytes = bytes.saturating_add(part.len as usize);
            match flags {
                _ if flags & INDIRECT != 0 => return Err(wrong("is indirect")),
                _ if bytes > CHAIN_MAX => return Err(wrong("has more than 65536 bytes")),
                _ if flags & WRITE != 0 => chain.answer.push(part),
                _ if !chain.answer.is_empty() => {
                    return Err(wrong("has a part to read behind one to write"))
                }
                _ => chain.out.push(part),
            }
            if flags & NEXT == 0 {
                return Ok(chain);
            }
            index = u16::from_le_bytes([n0, n1]);
        }
        Err(RingError::Loop { ring, head })
    }

    /// Gives a buffer back, of which so many bytes were written.
    pub fn push_used(
        &mut self,
        memory: &SharedMemory,
        head: u16,
        written: u32,
    ) -> Result<(), RingError> {
        let slot = u64::from(u32::from(self.next_used) % self.entries.max(1));
        let entry = [u32::from(head).to_le_bytes(), written.to_le_bytes()].concat();
        self.next_used = self.next_used.wrapping_add(1);
        memory
            .write(self.used + 4 + 8 * slot, &entry)
            .and_then(|()| memory.write(self.used + 2, &self.next_used.to_le_bytes()))
            .map_err(|error| self.memory_error(error))
    }
}

/// Reads what the front end says, all parts in a row.
pub fn gather(memory: &SharedMemory, parts: &[Part]) -> Result<Vec<u8>, MemoryError> {
    let mut bytes = Vec::new();
    for part in parts {
        let start = bytes.len();
        bytes.resize(start + part.len as usize, 0);
        memory.read(part.addr, &mut bytes[start..])?;
    }
    Ok(bytes)
}

/// Writes an answer, cut to the room that there is; gives the bytes that were written.
pub fn scatter(memory: &SharedMemory, parts: &[Part], bytes: &[u8]) -> Result<u32, MemoryError> {
    let mut rest = bytes;
    for part in parts {
        let (now, later) = rest.split_at(rest.len().min(part.len as usize));
        memory.write(part.addr, now)?;
        rest = later;
    }
    Ok((bytes.len() - rest.len()) as u32)
}
