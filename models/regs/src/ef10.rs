//! Solarflare EF10 (SFN7000 to SFN8000): registers of a virtual interface, events, descriptors, the
//! prefix of a received packet.
//!
//! Source: Linux 6.12 `drivers/net/ethernet/sfc/ef10_regs.h`, `ef10.c`; the prefix and the RX
//! descriptor are recalled from them. All is little endian.

/// BAR of the virtual interfaces.
pub const BAR_VI: u8 = 2;
/// Bytes of the registers of a virtual interface.
pub const VI_STRIDE: u64 = 0x2000;
/// `EVQ_RPTR`: bits 14:0 the read pointer; the write asks for the next interrupt, too.
pub const EVQ_RPTR: u64 = 0x400;
/// Read pointer in `EVQ_RPTR`.
pub const EVQ_RPTR_MASK: u32 = 0x7fff;
/// `EVQ_TMR`: bits 13:0 the value in timer quanta, bits 15:14 the mode.
pub const EVQ_TMR: u64 = 0x420;
/// Value in `EVQ_TMR`.
pub const EVQ_TMR_VALUE: u32 = 0x3fff;
/// Mode of `EVQ_TMR`: interrupts are held off for the value; the other mode is 0, none.
pub const EVQ_TMR_HOLDOFF: u32 = 3 << 14;
/// `RX_DESC_UPD`: bits 11:0 the write pointer, a multiple of 8.
pub const RX_DESC_UPD: u64 = 0x830;
/// `TX_DESC_UPD`: bits 11:0 the write pointer.
pub const TX_DESC_UPD: u64 = 0xa10;
/// Write pointer in either.
pub const DESC_WPTR_MASK: u32 = 0xfff;
/// Receive descriptors come in so many.
pub const RX_WPTR_GRANULARITY: u32 = 8;
/// Bytes of an event, and of a descriptor.
pub const QWORD_BYTES: u32 = 8;

/// Events. An entry without one is all ones, and a half of one may be seen before the other.
pub mod ev {
    /// Code in bits 63:60.
    pub const CODE_SHIFT: u32 = 60;
    /// A packet, or descriptors of one, were received.
    pub const CODE_RX: u64 = 0;
    /// Packets were sent.
    pub const CODE_TX: u64 = 2;
    /// From the driver itself.
    pub const CODE_DRV_GEN: u64 = 7;
    /// RX: bytes in bits 13:0.
    pub const RX_BYTES: u64 = 0x3fff;
    /// RX: the packet goes on in the next descriptor.
    pub const RX_CONT: u64 = 1 << 14;
    /// RX: label of the queue, bits 20:16; TX alike.
    pub const QLABEL_SHIFT: u32 = 16;
    /// Five bits.
    pub const QLABEL_MASK: u64 = 0x1f;
    /// RX: the checksum of TCP or UDP is bad.
    pub const RX_TCPUDP_CKSUM_ERR: u64 = 1 << 26;
    /// RX: the packet was given up.
    pub const RX_ABORT: u64 = 1 << 30;
    /// RX: class of the network header, bits 44:42.
    pub const RX_L3_SHIFT: u32 = 42;
    /// IPv4.
    pub const L3_IP4: u64 = 1;
    /// IPv6.
    pub const L3_IP6: u64 = 2;
    /// RX: class of the transport header, bits 46:45.
    pub const RX_L4_SHIFT: u32 = 45;
    /// TCP.
    pub const L4_TCP: u64 = 1;
    /// UDP.
    pub const L4_UDP: u64 = 2;
    /// RX: low four bits of the index of the descriptor behind the packet, bits 51:48.
    pub const RX_LBITS_SHIFT: u32 = 48;
    /// Four bits.
    pub const RX_LBITS_MASK: u64 = 0xf;
    /// RX: there is no packet.
    pub const RX_DROP: u64 = 1 << 58;
    /// TX: index of the last descriptor that is done, bits 15:0.
    pub const TX_DESC_MASK: u64 = 0xffff;
}

/// Receive descriptor: address in bits 47:0, bytes in bits 61:48. A send descriptor is alike and
/// has bit 62 set where its packet goes on in the next.
pub mod desc {
    /// Address.
    pub const ADDR: u64 = 0xffff_ffff_ffff;
    /// Where the bytes are.
    pub const BYTES_SHIFT: u32 = 48;
    /// Fourteen bits.
    pub const BYTES_MASK: u64 = 0x3fff;
    /// Send: the packet goes on.
    pub const CONT: u64 = 1 << 62;
}

/// What is in a buffer before a packet.
pub mod prefix {
    /// Its bytes.
    pub const BYTES: usize = 14;
    /// Hash, 32 bits.
    pub const HASH: usize = 0;
    /// Bytes of the packet, 16 bits.
    pub const PKTLEN: usize = 8;
}

/// Of an event queue, as firmware is told (`MC_CMD_INIT_EVQ`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvqContext {
    /// Bus address.
    pub buf: u64,
    /// Entries, a power of two from 8 to 32768.
    pub entries: u32,
    /// Vector.
    pub vector: u32,
}

/// Of a descriptor ring (`MC_CMD_INIT_RXQ`, `MC_CMD_INIT_TXQ`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingContext {
    /// Bus address.
    pub buf: u64,
    /// Entries, a power of two from 8 to 4096.
    pub entries: u32,
    /// Event queue.
    pub evq: u32,
    /// Label in events.
    pub label: u32,
}

/// Firmware refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McdiError {
    /// `MC_CMD_ERR_EINVAL`.
    Invalid,
    /// `MC_CMD_ERR_EBUSY`: the queue is there already.
    Busy,
    /// `MC_CMD_ERR_ENOENT`: there is no such queue.
    NoQueue,
}
