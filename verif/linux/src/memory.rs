//! Memory that a front end shares: its regions, read and written with bounds checks.
//!
//! Accesses are `pread` and `pwrite` on the region's file, whose pages the kernel has mapped. So a
//! front end that cuts its file short under us gives an error where a mapping would end the process
//! with SIGBUS, and there is no `unsafe`. On x86 an access of eight aligned bytes is one move and
//! the kernel sees accesses in their order, which is all that descriptors and rings ask for.

use crate::vhost::message::RegionEntry;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Why memory can not be shared or reached.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// No region holds these bytes.
    #[error("{len} bytes at {addr:#x} are not in the memory that is shared ({regions})")]
    Outside {
        /// Address.
        addr: u64,
        /// Bytes.
        len: usize,
        /// What is shared.
        regions: String,
    },
    /// The region makes no sense.
    #[error("memory region at {addr:#x}, {size} bytes from {offset} of its file: {why}")]
    Region {
        /// Address.
        addr: u64,
        /// Bytes.
        size: u64,
        /// Place in the file.
        offset: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The file did not give or take the bytes.
    #[error("shared memory at {addr:#x}: {error}")]
    File {
        /// Address.
        addr: u64,
        /// What the system says.
        error: std::io::Error,
    },
}

#[derive(Debug)]
struct Region {
    entry: RegionEntry,
    file: File,
}

/// All regions of a session.
#[derive(Debug, Default)]
pub struct SharedMemory {
    regions: Vec<Region>,
}

impl SharedMemory {
    /// Memory of these regions, each with its file.
    pub fn new(regions: Vec<(RegionEntry, File)>) -> Result<Self, MemoryError> {
        for (entry, file) in &regions {
            check(entry, file)?;
        }
        let regions = regions.into_iter().map(|(entry, file)| Region { entry, file }).collect();
        Ok(Self { regions })
    }

    /// Whether anything is shared.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// Whether these bytes lie in one region; what is wrong if not.
    pub fn check(&self, addr: u64, len: usize) -> Result<(), MemoryError> {
        self.find(addr, len).map(|_| ())
    }

    fn find(&self, addr: u64, len: usize) -> Result<(&Region, u64), MemoryError> {
        let inside = |region: &&Region| {
            let offset = addr.checked_sub(region.entry.guest_addr);
            offset.is_some_and(|offset| {
                region.entry.size.checked_sub(offset).is_some_and(|left| left >= len as u64)
            })
        };
        let Some(region) = self.regions.iter().find(inside) else {
            return Err(MemoryError::Outside { addr, len, regions: self.describe() });
        };
        Ok((region, addr - region.entry.guest_addr + region.entry.file_offset))
    }

    fn describe(&self) -> String {
        let one = |region: &Region| {
            let first = region.entry.guest_addr;
            format!("{first:#x} to {:#x}", first.saturating_add(region.entry.size))
        };
        let all: Vec<_> = self.regions.iter().map(one).collect();
        if all.is_empty() {
            "nothing yet".to_owned()
        } else {
            all.join(", ")
        }
    }

    /// The bus address of a user address, which is what rings are told in.
    pub fn from_user(&self, user: u64) -> Result<u64, MemoryError> {
        let guest = self.regions.iter().find_map(|Region { entry, .. }| {
            let offset = user.checked_sub(entry.user_addr)?;
            (offset < entry.size).then(|| entry.guest_addr.wrapping_add(offset))
        });
        let outside = || MemoryError::Outside { addr: user, len: 1, regions: self.describe() };
        guest.ok_or_else(outside)
    }

    /// Reads bytes.
    pub fn read(&self, addr: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let (region, offset) = self.find(addr, into.len())?;
        let read = region.file.read_exact_at(into, offset);
        read.map_err(|error| MemoryError::File { addr, error })
    }

    /// Writes bytes. A descriptor of 16 bytes goes in two halves: the second, which tells that it
    /// is done, comes last.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let (region, offset) = self.find(addr, bytes.len())?;
        let first = if bytes.len() == 16 { 8 } else { bytes.len() };
        let (front, back) = bytes.split_at(first);
        let both = [(front, offset), (back, offset + first as u64)];
        both.into_iter()
            .filter(|(part, _)| !part.is_empty())
            .try_for_each(|(part, at)| region.file.write_all_at(part, at))
            .map_err(|error| MemoryError::File { addr, error })
    }

    /// Reads a number of 16 bits.
    pub fn read_u16(&self, addr: u64) -> Result<u16, MemoryError> {
        let mut bytes = [0; 2];
        self.read(addr, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}

fn check(entry: &RegionEntry, file: &File) -> Result<(), MemoryError> {
    let wrong = |why| MemoryError::Region {
        addr: entry.guest_addr,
        size: entry.size,
        offset: entry.file_offset,
        why,
    };
    let end = |start: u64| start.checked_add(entry.size);
    let ends = [entry.guest_addr, entry.user_addr, entry.file_offset].map(end);
    let [Some(_), Some(_), Some(file_end)] = ends else {
        return Err(wrong("its end overflows"));
    };
    if entry.size == 0 {
        return Err(wrong("it is empty"));
    }
    match file.metadata() {
        Ok(meta) if !meta.is_file() => Err(wrong("its descriptor is no file")),
        Ok(meta) if meta.len() < file_end => Err(wrong("it ends behind its file")),
        Ok(_) => Ok(()),
        Err(_) => Err(wrong("its file can not be looked at")),
    }
}
