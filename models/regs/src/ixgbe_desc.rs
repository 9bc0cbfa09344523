//! Intel 82599: descriptors. Sixteen bytes, little endian.
//!
//! Sources: datasheet 7.1.5 (legacy receive), 7.1.6 (advanced receive), 7.2.3.2 (transmit); Linux
//! 6.12 `ixgbe_type.h` (`union ixgbe_adv_rx_desc`, `union ixgbe_adv_tx_desc`).

/// Bytes of a descriptor.
pub const BYTES: u32 = 16;

/// Advanced receive write-back (7.1.6.2): positions in dwords 0 and 2.
pub mod rx {
    /// Dword 0: RSS type, bits 3:0.
    pub const RSS_TYPE: u32 = 0xf;
    /// Dword 0: packet type begins here.
    pub const TYPE_SHIFT: u32 = 4;
    /// Packet type: IPv4.
    pub const TYPE_IPV4: u32 = 1 << 0;
    /// Packet type: IPv4 with options.
    pub const TYPE_IPV4_EXT: u32 = 1 << 1;
    /// Packet type: IPv6.
    pub const TYPE_IPV6: u32 = 1 << 2;
    /// Packet type: IPv6 with extension headers.
    pub const TYPE_IPV6_EXT: u32 = 1 << 3;
    /// Packet type: TCP.
    pub const TYPE_TCP: u32 = 1 << 4;
    /// Packet type: UDP.
    pub const TYPE_UDP: u32 = 1 << 5;
    /// Packet type: SCTP.
    pub const TYPE_SCTP: u32 = 1 << 6;
    /// Dword 0: one more than the packets that begin in this buffer, 0 without coalescing.
    pub const RSCCNT_SHIFT: u32 = 17;
    /// RSCCNT, mask.
    pub const RSCCNT_MASK: u32 = 0xf;
    /// Dword 2: descriptor done.
    pub const DD: u32 = 1 << 0;
    /// Dword 2: end of packet.
    pub const EOP: u32 = 1 << 1;
    /// Dword 2: a VLAN tag was stripped.
    pub const VP: u32 = 1 << 3;
    /// Dword 2: checksum of a fragment that carries UDP.
    pub const UDPCS: u32 = 1 << 4;
    /// Dword 2: TCP or UDP checksum was looked at.
    pub const L4CS: u32 = 1 << 5;
    /// Dword 2: IPv4 checksum was looked at.
    pub const IPCS: u32 = 1 << 6;
    /// Dword 2: passed by an inexact filter.
    pub const PIF: u32 = 1 << 7;
    /// Dword 2: UDP checksum is there.
    pub const UDPV: u32 = 1 << 10;
    /// Dword 2: looped back.
    pub const LB: u32 = 1 << 18;
    /// Dword 2 without EOP, coalesced: next descriptor, 16 bits from here.
    pub const NEXTP_SHIFT: u32 = 4;
    /// Dword 2: MAC error of any kind.
    pub const RXE: u32 = 1 << 29;
    /// Dword 2: TCP or UDP checksum is wrong.
    pub const TCPE: u32 = 1 << 30;
    /// Dword 2: IPv4 checksum is wrong.
    pub const IPE: u32 = 1 << 31;
    /// Legacy error byte: RXE.
    pub const LEGACY_RXE: u32 = 1 << 5;
    /// Legacy error byte: L4 checksum.
    pub const LEGACY_TCPE: u32 = 1 << 6;
    /// Legacy error byte: IPv4 checksum.
    pub const LEGACY_IPE: u32 = 1 << 7;
}

/// Transmit descriptors (7.2.3.2): positions in dwords 2 and 3.
pub mod tx {
    /// Dword 2: bytes of the buffer, legacy and advanced.
    pub const LENGTH: u32 = 0xffff;
    /// Dword 2: kind of an advanced descriptor begins here.
    pub const DTYP_SHIFT: u32 = 20;
    /// Advanced context descriptor.
    pub const DTYP_CONTEXT: u32 = 2;
    /// Advanced data descriptor.
    pub const DTYP_DATA: u32 = 3;
    /// Dword 2: end of packet.
    pub const EOP: u32 = 1 << 24;
    /// Dword 2: append the FCS.
    pub const IFCS: u32 = 1 << 25;
    /// Dword 2: legacy, insert a checksum.
    pub const IC: u32 = 1 << 26;
    /// Dword 2: report status.
    pub const RS: u32 = 1 << 27;
    /// Dword 2: advanced.
    pub const DEXT: u32 = 1 << 29;
    /// Dword 2: insert a VLAN tag.
    pub const VLE: u32 = 1 << 30;
    /// Dword 2: segment.
    pub const TSE: u32 = 1 << 31;
    /// Dword 2, context: IPv4.
    pub const TUCMD_IPV4: u32 = 1 << 10;
    /// Dword 2, context: L4 type begins here; 0 UDP, 1 TCP, 2 SCTP.
    pub const TUCMD_L4T_SHIFT: u32 = 11;
    /// Dword 3: done, in the write-back.
    pub const DD: u32 = 1;
    /// Dword 3: context that is used, bit 4.
    pub const IDX_SHIFT: u32 = 4;
    /// Dword 3: the context is to be checked.
    pub const CC: u32 = 1 << 7;
    /// Dword 3: insert the IPv4 checksum.
    pub const IXSM: u32 = 1 << 8;
    /// Dword 3: insert the TCP or UDP checksum.
    pub const TXSM: u32 = 1 << 9;
    /// Dword 3: bytes of the packet begin here.
    pub const PAYLEN_SHIFT: u32 = 14;
    /// Dword 3, context: bytes of the TCP header.
    pub const L4LEN_SHIFT: u32 = 8;
    /// Dword 3, context: payload of a segment.
    pub const MSS_SHIFT: u32 = 16;
}

/// A dword of a descriptor.
#[inline]
pub const fn dword(descriptor: &[u8; 16], n: usize) -> u32 {
    let at = 4 * (n & 3);
    u32::from_le_bytes([descriptor[at], descriptor[at + 1], descriptor[at + 2], descriptor[at + 3]])
}

/// The first qword of a descriptor: an address.
#[inline]
pub const fn address(descriptor: &[u8; 16]) -> u64 {
    dword(descriptor, 0) as u64 | (dword(descriptor, 1) as u64) << 32
}

/// A descriptor of four dwords.
pub fn build(dwords: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, dword) in bytes.chunks_exact_mut(4).zip(dwords) {
        to.copy_from_slice(&dword.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_four_little_endian_dwords() {
        let descriptor = build([0x1234_5678, 0x9abc_def0, 3, 4]);
        assert_eq!(descriptor[0], 0x78);
        assert_eq!(address(&descriptor), 0x9abc_def0_1234_5678);
        assert_eq!([dword(&descriptor, 2), dword(&descriptor, 3)], [3, 4]);
    }
}
