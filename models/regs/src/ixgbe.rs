//! Intel 82599: bits of its registers, aliases, and what its PCI function says of itself.
//!
//! Sources: datasheet chapter 8.2.3 (sections beside each group), 9.3 for PCI; Linux 6.12
//! `ixgbe_type.h` for names and positions.

/// Bytes of the register space in BAR 0; the flash window of the real part lies behind it.
pub const CSR_BYTES: u32 = 0x20000;
/// Receive and transmit queues.
pub const QUEUES: u32 = 128;
/// MSI-X vectors of the physical function.
pub const VECTORS: u32 = 64;

/// Offsets at which an array can be reached a second time: from, count, stride, to, stride.
/// Software mixes them, so both must lead to the same register (8.2.3.7.8, 8.2.3.8.7 and others).
pub const ALIASES: &[(u32, u32, u32, u32, u32)] = &[
    (0x00004, 1, 4, 0x00000, 4),   // CTRL
    (0x05400, 16, 8, 0x0a200, 8),  // RAL
    (0x05404, 16, 8, 0x0a204, 8),  // RAH
    (0x05818, 1, 4, 0x0ec80, 4),   // MRQC
    (0x05c00, 32, 4, 0x0eb00, 4),  // RETA
    (0x05c80, 10, 4, 0x0eb80, 4),  // RSSRK
    (0x05480, 16, 4, 0x0ea00, 4),  // PSRTYPE
    (0x02100, 16, 4, 0x01014, 64), // SRRCTL
    (0x02200, 16, 4, 0x0100c, 64), // DCA_RXCTRL
    (0x08680, 16, 4, 0x06030, 64), // QPTC: the datasheet's place, and that of Linux
];

macro_rules! bits {
    ($($(#[$about:meta])* $module:ident {
        $($name:ident = $value:expr, $doc:literal;)*
    })*) => {
        $($(#[$about])* pub mod $module {
            $(#[doc = $doc] pub const $name: u32 = $value;)*
        })*
    };
}

bits! {
    /// Device control (8.2.3.1.1).
    ctrl {
        GIO_DIS = 1 << 2, "No new requests on PCIe.";
        LNK_RST = 1 << 3, "Link reset, clears itself.";
        RST = 1 << 26, "Software reset, clears itself.";
    }
    /// Device status (8.2.3.1.2).
    status {
        LU = 1 << 7, "Link up.";
        GIO_MASTER = 1 << 19, "The function may send requests, or some are open.";
    }
    /// Extended device control (8.2.3.1.3).
    ctrl_ext {
        PFRSTD = 1 << 14, "The physical function has been reset.";
        DRV_LOAD = 1 << 28, "A driver is loaded.";
    }
    /// Software defined pins (8.2.3.1.4): values 7:0, direction 15:8 (1 is output).
    esdp {
        SDP2 = 1 << 2, "Low or high as the board wires it; here: a module is in its cage.";
        SDP3 = 1 << 3, "Transmitter off, when it is an output.";
    }
    /// I2C lines by hand (8.2.3.1.5).
    i2cctl {
        CLK_IN = 1 << 0, "Level of the clock.";
        CLK_OUT = 1 << 1, "Releases the clock when 1.";
        DATA_IN = 1 << 2, "Level of the data line.";
        DATA_OUT = 1 << 3, "Releases the data line when 1.";
    }
    /// EEPROM control (8.2.3.2.1).
    eec {
        SK_CS_DI = 7, "Clock, select and data out by hand.";
        FWE_DIS = 1 << 4, "Flash writes disabled.";
        REQ = 1 << 6, "Software asks for the pins.";
        GNT = 1 << 7, "The pins are software's.";
        PRES = 1 << 8, "There is an EEPROM.";
        ARD = 1 << 9, "It has been read.";
        SIZE_SHIFT = 11, "Words: 1 << (SIZE + 6).";
    }
    /// EEPROM read (8.2.3.2.2).
    eerd {
        START = 1, "Starts a read.";
        DONE = 2, "It is done.";
        ADDR_SHIFT = 2, "Word address.";
        ADDR_MASK = 0x3fff, "Word address, mask.";
        DATA_SHIFT = 16, "The word.";
    }
    /// Semaphores (8.2.3.4.9, 10.5.4).
    swsm {
        SMBI = 1, "Between software agents; reading sets it.";
        SWESMBI = 2, "Between software and firmware.";
    }
    /// Flow control thresholds (8.2.3.3.3, 8.2.3.3.4, 8.2.3.3.7) and obedience (8.2.3.22.34).
    fc {
        THRESHOLD = 0x0007_ffe0, "Bits 18:5, bytes.";
        XONE = 1 << 31, "FCRTL: send XON.";
        FCEN = 1 << 31, "FCRTH: send XOFF.";
        TFCE = 3 << 3, "FCCFG: kind of pause frames to send.";
        TFCE_8023X = 1 << 3, "FCCFG: link pause.";
        MFLCN_PMCF = 1, "MFLCN: pass MAC control frames.";
        MFLCN_DPF = 1 << 1, "MFLCN: discard pause frames.";
        MFLCN_RPFCE = 1 << 2, "MFLCN: obey priority pause.";
        MFLCN_RFCE = 1 << 3, "MFLCN: obey link pause.";
        TFCS_TXOFF = 1, "TFCS: paused.";
    }
    /// Causes (8.2.3.5.1).
    eicr {
        RTXQ = 0xffff, "Queues, by the vectors of IVAR.";
        RX_MISS = 1 << 17, "A packet buffer overflowed.";
        LSC = 1 << 20, "The link changed.";
        SDP0 = 1 << 24, "Pin 0; pins 1 and 2 follow.";
        TCP_TIMER = 1 << 30, "TCP timer.";
        ALL = 0x7fff_ffff, "All but bit 31, which is reserved.";
        CLEARED_WITH_OCD = 0x3fff_0000, "Cleared by reading when GPIE.OCD is 1.";
    }
    /// How interrupts are made (8.2.3.5.18).
    gpie {
        MSIX_MODE = 1 << 4, "Several vectors.";
        OCD = 1 << 5, "Reading EICR clears only other causes.";
        EIMEN = 1 << 6, "EICS interrupts at once.";
        RSC_DELAY_SHIFT = 11, "RSC_DELAY: (n + 1) * 4 us before the interrupt.";
        EIAME = 1 << 30, "A message masks by EIAM.";
        PBA_SUPPORT = 1 << 31, "Pending bits are supported.";
    }
    /// Interval between interrupts (8.2.3.5.12).
    eitr {
        ITR_INT_SHIFT = 3, "Interval.";
        ITR_INT_MASK = 0x1ff, "Interval, mask.";
        COUNTER_SHIFT = 21, "Running count, upper seven of nine bits.";
        COUNTER_MASK = 0x7f, "Running count, mask.";
        WRITABLE = 0x0fff_8ff8, "Bits that are kept, less the ones that are read otherwise.";
        CNT_WDIS = 1 << 31, "This write leaves the count alone.";
    }
    /// An entry of IVAR and IVAR_MISC (8.2.3.5.16, 8.2.3.5.17).
    ivar {
        VALID = 1 << 7, "There is a vector.";
        VECTOR = 0x3f, "Its number.";
    }
    /// Which frames are taken (8.2.3.7.1).
    fctrl {
        SBP = 1 << 1, "Store bad packets.";
        MPE = 1 << 8, "All multicasts.";
        UPE = 1 << 9, "All unicasts.";
        BAM = 1 << 10, "Broadcasts.";
    }
    /// VLAN control (8.2.3.7.2).
    vlnctrl {
        VET = 0xffff, "EtherType.";
        CFIEN = 1 << 29, "CFI filter.";
        CFI = 1 << 28, "CFI value.";
        VFE = 1 << 30, "VLAN filter by VFTA.";
    }
    /// Multicast control (8.2.3.7.3) and addresses (8.2.3.7.9).
    mcst {
        MO = 3, "Which twelve bits of the address are looked up.";
        MFE = 1 << 2, "Multicast filter on.";
        AV = 1 << 31, "RAH: the address is valid.";
    }
    /// Receive checksum control (8.2.3.7.5) and filters (8.2.3.7.6).
    rxcsum {
        IPPCSE = 1 << 12, "Checksum of fragments.";
        PCSD = 1 << 13, "RSS hash in the place of that checksum.";
        RSC_DIS = 1 << 5, "RFCTL: no coalescing.";
    }
    /// How queues are chosen (8.2.3.7.12).
    mrqc {
        MODE = 0xf, "0 none, 1 RSS, others need classes or pools.";
        MODE_RSS = 1, "RSS alone.";
        TCP4 = 1 << 16, "Hash TCP over IPv4.";
        IP4 = 1 << 17, "Hash IPv4.";
        TCP6EX = 1 << 18, "Hash TCP over IPv6 with extensions.";
        IP6EX = 1 << 19, "Hash IPv6 with extensions.";
        IP6 = 1 << 20, "Hash IPv6.";
        TCP6 = 1 << 21, "Hash TCP over IPv6.";
        UDP4 = 1 << 22, "Hash UDP over IPv4.";
        UDP6 = 1 << 23, "Hash UDP over IPv6.";
        UDP6EX = 1 << 24, "Hash UDP over IPv6 with extensions.";
    }
    /// Rings and queues (8.2.3.8, 8.2.3.9).
    queue {
        LEN_MASK = 0x000f_ff80, "RDLEN, TDLEN: bytes, multiple of 128.";
        INDEX_MASK = 0xffff, "Heads and tails.";
        ENABLE = 1 << 25, "RXDCTL, TXDCTL: enable.";
        SWFLSH = 1 << 26, "TXDCTL: flush, clears itself.";
        VME = 1 << 30, "RXDCTL: strip the VLAN tag.";
        PTHRESH = 0x7f, "TXDCTL: prefetch threshold; HTHRESH and WTHRESH alike.";
        HTHRESH_SHIFT = 8, "TXDCTL: host threshold.";
        WTHRESH_SHIFT = 16, "TXDCTL: write-back threshold.";
        HEAD_WB = 1, "TDWBAL: the head is written instead of descriptors.";
        BSIZEPACKET = 0x1f, "SRRCTL: KB of a buffer.";
        DESCTYPE_SHIFT = 25, "SRRCTL: 0 legacy, 1 one buffer, others split.";
        DROP_EN = 1 << 28, "SRRCTL: drop when there is no descriptor.";
        RSCEN = 1, "RSCCTL: coalesce.";
        MAXDESC_SHIFT = 2, "RSCCTL: 1, 4, 8 or 16 descriptors.";
        TXCTRL_DESC_WRO = 1 << 11, "DCA_TXCTRL: write-back may pass others.";
    }
    /// Receive DMA (8.2.3.8.8, 8.2.3.8.10, 8.2.3.8.12).
    rdma {
        CRCSTRIP = 1 << 1, "RDRXCTL: strip the FCS.";
        DMAIDONE = 1 << 3, "RDRXCTL: DMA is initialised.";
        RSCACKC = 1 << 25, "RDRXCTL: RSC and acknowledgements.";
        RXEN = 1, "RXCTRL: receive.";
        RSCSMALDIS = 0x7f, "RSCDBU: frames shorter than this are not coalesced.";
        RSCACKDIS = 1 << 7, "RSCDBU: pure acknowledgements are not coalesced.";
    }
    /// Transmit DMA (8.2.3.9.2) and arbiter (8.2.3.10.2).
    tdma {
        TE = 1, "DMATXCTL: transmit.";
        VT_SHIFT = 16, "DMATXCTL: VLAN EtherType.";
        ARBDIS = 1 << 6, "RTTDCS: the arbiter stands.";
    }
    /// Security path (8.2.3.12).
    sec {
        DIS = 1 << 1, "The path is stopped.";
        RDY = 1, "It has drained.";
    }
    /// Flow director (8.2.3.21.1, 8.2.3.21.22).
    fdir {
        INIT_DONE = 1 << 3, "Ready.";
        CMD = 3, "Command, clears itself.";
    }
    /// MAC control (8.2.3.22.8).
    hlreg0 {
        TXCRCEN = 1, "Append the FCS.";
        RXCRCSTRP = 1 << 1, "Strip the FCS.";
        JUMBOEN = 1 << 2, "Frames up to MAXFRS.";
        TXPADEN = 1 << 10, "Pad to 64 bytes.";
        LPBK = 1 << 15, "What is sent is received.";
        RXLNGTHERREN = 1 << 27, "Length errors are errors.";
    }
    /// PCIe control (8.2.3.4.12).
    gcr_ext {
        BUFFERS_CLEAR = 1 << 30, "Clear the packet buffers of the function.";
    }
    /// MDIO (8.2.3.22.11).
    msca {
        MDI_COMMAND = 1 << 30, "Runs; clears itself.";
        READ = 1 << 27, "A read of either kind.";
    }
    /// Link (8.2.3.22.19 to 8.2.3.22.22).
    link {
        FLU = 1, "AUTOC: force the link up.";
        AN_RESTART = 1 << 12, "AUTOC: negotiate again, clears itself.";
        LMS_SHIFT = 13, "AUTOC: link mode.";
        PMA_10G_SHIFT = 7, "AUTOC: parallel medium at 10G, 2 is CX4.";
        LINK_DISABLE = 0x7000_0000, "AUTOC2: keeps the link down.";
        UP = 1 << 30, "LINKS: up; latches a loss.";
        SPEED_10G = 3 << 28, "LINKS: speed.";
        SIGNAL = 1 << 7, "LINKS: up now.";
    }
}

/// PCI identity and capabilities of one port (9.3).
pub mod pci {
    /// Vendor.
    pub const VENDOR: u16 = 0x8086;
    /// 82599 with a CX4 connector.
    pub const DEVICE_CX4: u16 = 0x10f9;
    /// 82599 with an SFP+ cage.
    pub const DEVICE_SFP: u16 = 0x10fb;
    /// Class code: Ethernet controller.
    pub const CLASS: u32 = 0x02_0000;
    /// Revision.
    pub const REVISION: u8 = 1;
    /// BAR of the registers, 64-bit memory.
    pub const BAR_CSR: u8 = 0;
    /// BAR of the I/O window, 32 bytes.
    pub const BAR_IO: u8 = 2;
    /// BAR of the MSI-X table, 64-bit memory.
    pub const BAR_MSIX: u8 = 4;
    /// Bytes of the MSI-X BAR.
    pub const MSIX_BYTES: u32 = 0x4000;
    /// Where the table begins in it.
    pub const MSIX_TABLE: u32 = 0;
    /// Where the pending bits begin in it.
    pub const MSIX_PBA: u32 = 0x2000;
    /// Power management capability.
    pub const CAP_PM: u16 = 0x40;
    /// MSI capability.
    pub const CAP_MSI: u16 = 0x50;
    /// MSI-X capability.
    pub const CAP_MSIX: u16 = 0x70;
    /// PCI Express capability.
    pub const CAP_PCIE: u16 = 0xa0;
    /// Device status: transactions pending, bit 5.
    pub const DEVICE_STATUS: u16 = 0xaa;
    /// Link status: speed 3:0, width 9:4.
    pub const LINK_STATUS: u16 = 0xb2;
    /// Link status of a link of eight lanes at 5 GT/s.
    pub const LINK_GEN2_X8: u16 = 0x0082;
}

/// Words of the EEPROM that have a meaning of their own (6.2, 6.3).
pub mod nvm {
    /// First and last section pointer that the checksum follows.
    pub const POINTERS: std::ops::RangeInclusive<u16> = 3..=0xe;
    /// Pointer to the firmware section.
    pub const FW_PTR: u16 = 0x0f;
    /// Part number, guard word.
    pub const PBA: u16 = 0x15;
    /// Pointer to the list of SFP+ initialisation sequences.
    pub const PHY_INIT: u16 = 0x2b;
    /// Capabilities of the board.
    pub const DEVICE_CAPS: u16 = 0x2c;
    /// Checksum.
    pub const CHECKSUM: u16 = 0x3f;
    /// What the words up to the checksum and the sections add up to.
    pub const SUM: u16 = 0xbaba;
    /// No section.
    pub const NONE: u16 = 0xffff;
}
