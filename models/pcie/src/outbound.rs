//! What a device sends towards the host.

use pollproof_events::What;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes of a DMA write: few of them inline, or a part of a shared buffer.
///
/// Packet data is never copied on its way: a payload of it is a window on the frame.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Up to [`Payload::INLINE`] bytes.
    Inline {
        /// How many of `bytes` are used.
        len: u8,
        /// The bytes.
        bytes: [u8; Payload::INLINE],
    },
    /// A window on shared bytes.
    Slice {
        /// All bytes.
        bytes: Arc<[u8]>,
        /// Start of the window.
        start: u32,
        /// End of the window, not included.
        end: u32,
    },
}

impl Payload {
    /// Most bytes that are kept inline: one cache line, which holds any CQE or EQE.
    pub const INLINE: usize = 64;

    /// A copy of `data`: inline when it fits.
    pub fn copy(data: &[u8]) -> Self {
        if data.len() <= Self::INLINE {
            let mut bytes = [0; Self::INLINE];
            bytes[..data.len()].copy_from_slice(data);
            Payload::Inline { len: data.len() as u8, bytes }
        } else {
            Payload::Slice { bytes: Arc::from(data), start: 0, end: data.len() as u32 }
        }
    }

    /// The window `start..end` on `bytes`, cut to what there is.
    pub fn slice(bytes: Arc<[u8]>, start: usize, end: usize) -> Self {
        let end = end.min(bytes.len());
        let start = start.min(end);
        Payload::Slice { bytes, start: start as u32, end: end as u32 }
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Payload::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            Payload::Slice { bytes, start, end } => {
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
