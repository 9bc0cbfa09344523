//! Big-endian fields of mailboxes and entries. What lies outside reads as zero.

pub(super) fn be16(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|b| b.first_chunk());
    field.map_or(0, |field| u32::from(u16::from_be_bytes(*field)))
}

pub(super) fn be32(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|b| b.first_chunk());
    field.map_or(0, |field| u32::from_be_bytes(*field))
}

pub(super) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

pub(super) fn byte(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at).copied().unwrap_or(0).into()
}

/// Puts a field into a mailbox, as far as there is room.
pub(super) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    if let Some(to) = bytes.get_mut(at..at + field.len()) {
        to.copy_from_slice(field);
    }
}
