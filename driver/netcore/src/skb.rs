//! `struct sk_buff`, as far as receiving needs it: one linear buffer of DMA memory.

use pollproof_kapi::DmaAddr;

/// A received packet on its way up.
#[derive(Debug)]
pub struct SkBuff {
    /// Identity: the frame number on the wire where the driver can know it, else a running number.
    pub number: u64,
    /// `skb->hash`: flow hash as the driver was told by the device.
    pub hash: u32,
    /// `skb->napi_id`: the context it came through.
    pub napi_id: u32,
    /// Buffer with the bytes, owned by the stack.
    pub buf: DmaAddr,
    /// Length of the packet in bytes.
    pub len: usize,
    /// `CHECKSUM_UNNECESSARY`: the device found the L4 checksum good.
    pub csum_unnecessary: bool,
}
