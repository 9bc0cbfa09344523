//! What can be chosen about a memory, and what its books tell.

/// Size of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Size of a packet buffer, bytes.
    pub buf_bytes: u32,
    /// Most packet buffers.
    pub max_bufs: u32,
    /// Most bytes of coherent memory, counted in whole pages; at most 4 GiB.
    pub max_coherent_bytes: u64,
}

impl Default for Config {
    /// 2048-byte buffers, as `MLX4_EN_ALLOC_PREFER_ORDER` splits a page for a 1500-byte MTU.
    fn default() -> Self {
        Self { buf_bytes: 2048, max_bufs: 65_536, max_coherent_bytes: 256 << 20 }
    }
}

impl Config {
    /// A memory for explored runs.
    pub const fn small() -> Self {
        Self { buf_bytes: 2048, max_bufs: 64, max_coherent_bytes: 1 << 20 }
    }
}

/// Layout of a coherent area, as far as memory order is concerned: in each `stride_bytes` the
/// 32-bit words whose bit is set in `marked` are accessed by both sides without further protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaLayout {
    /// Name in reports.
    pub name: &'static str,
    /// Rule that a race on a plain word breaks.
    pub rule: &'static str,
    /// Size of an entry; a multiple of 4, at most 128.
    pub stride_bytes: u32,
    /// Words of an entry that are marked.
    pub marked: u32,
}

impl AreaLayout {
    /// Whether the word at `offset` in the area is marked.
    #[inline]
    pub fn is_marked(&self, offset: usize) -> bool {
        let stride = self.stride_bytes as usize;
        let in_entry =
            if stride.is_power_of_two() { offset & (stride - 1) } else { offset % stride };
        self.marked >> (in_entry / 4) & 1 != 0
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.stride_bytes.is_multiple_of(4) && (4..=128).contains(&self.stride_bytes)
    }
}

/// Why memory could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocError {
    /// All packet buffers are in use.
    #[error("all packet buffers are in use")]
    OutOfBuffers,
    /// The limit of coherent memory is reached.
    #[error("the limit of coherent memory is reached")]
    OutOfBytes,
    /// The fail plan said so.
    #[error("the allocation was made to fail")]
    Planned,
    /// Length 0 or a layout that makes no sense.
    #[error("bad length or layout of a coherent area")]
    BadLayout,
}

/// Which allocations of packet buffers fail: the first is number 1; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailPlan {
    /// First that fails.
    pub first: u64,
    /// Last that fails.
    pub last: u64,
}

/// What the books say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packet buffers allocated.
    pub allocs: u64,
    /// Packet buffers freed.
    pub frees: u64,
    /// Allocations of packet buffers that failed.
    pub failed: u64,
    /// Buffers that the driver owns now.
    pub driver: u64,
    /// Buffers that the device owns now.
    pub device: u64,
    /// Buffers that the stack owns now.
    pub stack: u64,
    /// Bytes of coherent memory now, in whole pages.
    pub coherent_bytes: u64,
    /// Accesses that were not allowed.
    pub illegal: u64,
}
