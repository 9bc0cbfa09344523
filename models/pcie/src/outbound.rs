//! What a device sends towards the host.

use pollproof_events::What;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes of a DMA write: few of them inline, or a part of a shared buffer.
///
/// Packet data is never copied on its way: a payload of it is a window on the frame.
#[derive(Clone, Debug)]
pub struct Payload(Bytes);

/// Aligned, so that an entry moves in whole words.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Inline([u8; Payload::INLINE]);

#[derive(Clone, Debug)]
enum Bytes {
    Inline { bytes: Inline, len: u8 },
    Slice { bytes: Arc<[u8]>, start: u32, end: u32 },
}

impl Payload {
    /// Most bytes that are kept inline: a CQE or EQE.
    pub const INLINE: usize = 32;

    /// An entry of 32 bytes, inline.
    #[inline]
    pub fn entry(bytes: [u8; Self::INLINE]) -> Self {
        Self(Bytes::Inline { bytes: Inline(bytes), len: Self::INLINE as u8 })
    }

    /// A descriptor of 16 bytes, inline.
    #[inline(always)]
    pub fn descriptor(descriptor: [u8; 16]) -> Self {
        let mut bytes = [0; Self::INLINE];
        if let Some(front) = bytes.first_chunk_mut() {
            *front = descriptor;
        }
        Self(Bytes::Inline { bytes: Inline(bytes), len: 16 })
    }

    /// A copy of `data`: inline when it fits.
    pub fn copy(data: &[u8]) -> Self {
        if data.len() <= Self::INLINE {
            let mut bytes = [0; Self::INLINE];
            bytes[..data.len()].copy_from_slice(data);
            Self(Bytes::Inline { bytes: Inline(bytes), len: data.len() as u8 })
        } else {
            Self(Bytes::Slice { bytes: Arc::from(data), start: 0, end: data.len() as u32 })
        }
    }

    /// All of `bytes`.
    #[inline(always)]
    pub fn whole(bytes: Arc<[u8]>) -> Self {
        let end = bytes.len() as u32;
        Self(Bytes::Slice { bytes, start: 0, end })
    }

    /// The window `start..end` on `bytes`, cut to what there is.
    pub fn slice(bytes: Arc<[u8]>, start: usize, end: usize) -> Self {
        let end = end.min(bytes.len());
        let start = start.min(end);
        Self(Bytes::Slice { bytes, start: start as u32, end: end as u32 })
    }
}

impl Deref for Payload {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Inline { bytes, len } => bytes.0.get(..usize::from(*len)).unwrap_or(&[]),
            Bytes::Slice { bytes, start, end } => {
                bytes.get(*start as usize..*end as usize).unwrap_or(&[])
            }
        }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Payload {}

/// One request of a device. Their order is the order of the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// Non-posted: the answer goes back to the device under `tag`.
    DmaRead {
        /// Names the request in its completion.
        tag: u32,
        /// Bus address.
        addr: u64,
        /// Bytes.
        len: u32,
        /// What is read.
        what: What,
    },
    /// Posted write.
    DmaWrite {
        /// Bus address.
        addr: u64,
        /// Bytes.
        payload: Payload,
        /// What is written.
        what: What,
    },
    /// MSI-X message: a posted write that the table of the function may hold back.
    Msix {
        /// Vector.
        vector: u32,
    },
}

impl Default for Outbound {
    /// Holds nothing: what is in a slot of a [`crate::Ring`] that is free.
    #[inline]
    fn default() -> Self {
        Self::Msix { vector: 0 }
    }
}

impl crate::Entry for Outbound {
    #[inline]
    fn clear(&mut self) {
        *self = Self::Msix { vector: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_the_bytes_that_it_was_made_of() {
        let long: Vec<u8> = (0..200).collect();
        for n in [0, 1, 32, 64, 65, 200] {
            assert_eq!(&*Payload::copy(&long[..n]), &long[..n]);
        }
        let shared: Arc<[u8]> = Arc::from(&long[..]);
        assert_eq!(&*Payload::slice(shared.clone(), 10, 20), &long[10..20]);
        assert_eq!(&*Payload::slice(shared.clone(), 190, 300), &long[190..]);
        assert_eq!(&*Payload::slice(shared, 300, 20), &[] as &[u8]);
    }
}
