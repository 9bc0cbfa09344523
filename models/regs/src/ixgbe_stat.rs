//! Intel 82599: statistics registers (8.2.3.23). All are cleared by reading and stay at all ones
//! when they are full; offsets as in Linux 6.12 `ixgbe_type.h`.

use crate::ixgbe_map::{Access, Register};

macro_rules! counters {
    ($($name:ident $offset:literal [$count:literal, $stride:literal] $access:ident $doc:literal)*)
    => {
        $(#[doc = $doc] pub const $name: u32 = $offset;)*
        /// All counters and the two maps that say which one a queue counts in.
        pub static MAP: &[Register] = &[$(Register {
            name: stringify!($name),
            offset: $offset,
            count: $count,
            stride: $stride,
            access: Access::$access,
            reset: 0,
            section: "8.2.3.23",
        }),*];
    };
}

counters! {
    CRCERRS 0x04000 [1, 4] Rc "Frames with a bad FCS."
    ILLERRC 0x04004 [1, 4] Rc "Illegal bytes."
    ERRBC 0x04008 [1, 4] Rc "Error bytes."
    MSPDC 0x04010 [1, 4] Rc "Short packet discards of the MAC."
    MLFC 0x04034 [1, 4] Rc "Local faults."
    MRFC 0x04038 [1, 4] Rc "Remote faults."
    RLEC 0x04040 [1, 4] Rc "Frames whose length field lies."
    SSVPC 0x08780 [1, 4] Rc "Switch security violations."
    LXONTXC 0x03f60 [1, 4] Rc "XON sent."
    LXOFFTXC 0x03f68 [1, 4] Rc "XOFF sent."
    LXONRXCNT 0x041a4 [1, 4] Rc "XON received."
    LXOFFRXCNT 0x041a8 [1, 4] Rc "XOFF received."
    PXONTXC 0x03f00 [8, 4] Rc "XON sent, by priority."
    PXOFFTXC 0x03f20 [8, 4] Rc "XOFF sent, by priority."
    PXONRXCNT 0x04140 [8, 4] Rc "XON received, by priority."
    PXOFFRXCNT 0x04160 [8, 4] Rc "XOFF received, by priority."
    PXON2OFFCNT 0x03240 [8, 4] Rc "XON followed by XOFF."
    MPC 0x03fa0 [8, 4] Rc "Frames missed for want of packet buffer."
    RNBC 0x03fc0 [8, 4] Rc "Frames without a buffer (82598)."
    PRC64 0x0405c [1, 4] Rc "Frames received of 64 bytes."
    PRC127 0x04060 [1, 4] Rc "Frames received of 65 to 127 bytes."
    PRC255 0x04064 [1, 4] Rc "Frames received of 128 to 255 bytes."
    PRC511 0x04068 [1, 4] Rc "Frames received of 256 to 511 bytes."
    PRC1023 0x0406c [1, 4] Rc "Frames received of 512 to 1023 bytes."
    PRC1522 0x04070 [1, 4] Rc "Frames received of 1024 bytes and more."
    GPRC 0x04074 [1, 4] Rc "Good frames received."
    BPRC 0x04078 [1, 4] Rc "Broadcasts received."
    MPRC 0x0407c [1, 4] Rc "Multicasts received."
    GPTC 0x04080 [1, 4] Rc "Good frames sent."
    GORCL 0x04088 [1, 4] RcLow "Good bytes received, low half."
    GORCH 0x0408c [1, 4] RcHigh "Good bytes received, high half."
    GOTCL 0x04090 [1, 4] RcLow "Good bytes sent, low half."
    GOTCH 0x04094 [1, 4] RcHigh "Good bytes sent, high half."
    RUC 0x040a4 [1, 4] Rc "Frames too short."
    RFC 0x040a8 [1, 4] Rc "Fragments."
    ROC 0x040ac [1, 4] Rc "Frames too long."
    RJC 0x040b0 [1, 4] Rc "Jabber."
    MNGPRC 0x040b4 [1, 4] Rc "Management frames received."
    MNGPDC 0x040b8 [1, 4] Rc "Management frames dropped."
    MNGPTC 0x0cf90 [1, 4] Rc "Management frames sent."
    TORL 0x040c0 [1, 4] RcLow "All bytes received, low half."
    TORH 0x040c4 [1, 4] RcHigh "All bytes received, high half."
    TPR 0x040d0 [1, 4] Rc "All frames received."
    TPT 0x040d4 [1, 4] Rc "All frames sent."
    PTC64 0x040d8 [1, 4] Rc "Frames sent of 64 bytes."
    PTC127 0x040dc [1, 4] Rc "Frames sent of 65 to 127 bytes."
    PTC255 0x040e0 [1, 4] Rc "Frames sent of 128 to 255 bytes."
    PTC511 0x040e4 [1, 4] Rc "Frames sent of 256 to 511 bytes."
    PTC1023 0x040e8 [1, 4] Rc "Frames sent of 512 to 1023 bytes."
    PTC1522 0x040ec [1, 4] Rc "Frames sent of 1024 bytes and more."
    MPTC 0x040f0 [1, 4] Rc "Multicasts sent."
    BPTC 0x040f4 [1, 4] Rc "Broadcasts sent."
    XEC 0x04120 [1, 4] Rc "Checksum errors received."
    QPRC 0x01030 [16, 64] Rc "Frames received, by counter."
    QBRC_L 0x01034 [16, 64] RcLow "Bytes received, by counter, low half."
    QBRC_H 0x01038 [16, 64] RcHigh "Bytes received, by counter, high half."
    QPRDC 0x01430 [16, 64] Rc "Frames dropped for want of descriptors."
    QPTC 0x06030 [16, 64] Rc "Frames sent, by counter."
    QBTC_L 0x08700 [16, 8] RcLow "Bytes sent, by counter, low half."
    QBTC_H 0x08704 [16, 8] RcHigh "Bytes sent, by counter, high half."
    RXDGPC 0x02f50 [1, 4] Rc "Frames written to memory."
    TXDGPC 0x087a0 [1, 4] Rc "Frames read from memory."
    FCCRC 0x05118 [1, 4] Rc "FCoE frames with a bad CRC."
    FCOERPDC 0x0241c [1, 4] Rc "FCoE frames dropped."
    FCLAST 0x02424 [1, 4] Rc "FCoE last error count."
    FCOEPRC 0x02428 [1, 4] Rc "FCoE frames received."
    FCOEDWRC 0x0242c [1, 4] Rc "FCoE words received."
    FCOEPTC 0x08784 [1, 4] Rc "FCoE frames sent."
    FCOEDWTC 0x08788 [1, 4] Rc "FCoE words sent."
    RXDSTATCTRL 0x02f40 [1, 4] Rw "Which queues RXDGPC counts."
    RQSMR 0x02300 [32, 4] Rw "Which counter a receive queue counts in."
    TQSM 0x08600 [32, 4] Rw "Which counter a transmit queue counts in."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_match_a_second_source() {
        // The register table of Snabb's `intel_mp.lua`, which was made from the datasheet.
        for (name, offset, count, stride) in [
            ("QPRC", 0x1030, 16, 0x40),
            ("QPRDC", 0x1430, 16, 0x40),
            ("QBTC_L", 0x8700, 16, 8),
            ("RQSMR", 0x2300, 32, 4),
            ("TQSM", 0x8600, 32, 4),
            ("GORCL", 0x4088, 1, 4),
            ("ROC", 0x40ac, 1, 4),
            ("MPTC", 0x40f0, 1, 4),
            ("TXDGPC", 0x87a0, 1, 4),
        ] {
            let found = MAP.iter().find(|r| r.name == name);
            let found = found.map(|r| (r.offset, r.count, r.stride));
            assert_eq!(found, Some((offset, count, stride)), "{name}");
        }
    }
}
