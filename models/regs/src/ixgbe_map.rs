//! Intel 82599: register map. Offset, count and stride of an array, access mode, value after
//! reset, section of the datasheet (revision 3.x), name in words.
//!
//! Sources: datasheet chapter 8.2.3 as cited by drivers that annotate it (TinyNF, EbbRT `ixgbe`),
//! Linux 6.12 `drivers/net/ethernet/intel/ixgbe/ixgbe_type.h` for offsets. A section with three
//! numbers after 8.2 names the group where the register itself was not looked up.

/// How software may reach a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and write.
    Rw,
    /// Read only: writes are ignored.
    Ro,
    /// Write only: reads give 0.
    Wo,
    /// Read only, cleared by reading.
    Rc,
    /// Lower half of a counter pair: reading it clears nothing.
    RcLow,
    /// Upper half of a counter pair: reading it clears both halves.
    RcHigh,
    /// A one that is written clears the bit.
    W1c,
    /// Causes: a one that is written clears, and so does reading (8.2.3.5.1).
    RcW1c,
    /// A one that is written sets the bit.
    W1s,
}

/// One register, or an array of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Datasheet name.
    pub name: &'static str,
    /// Offset in BAR 0 of the first.
    pub offset: u32,
    /// How many.
    pub count: u32,
    /// Bytes from one to the next.
    pub stride: u32,
    /// Access mode.
    pub access: Access,
    /// Value after reset.
    pub reset: u32,
    /// Datasheet section.
    pub section: &'static str,
}

macro_rules! registers {
    ($($name:ident $offset:literal [$count:literal, $stride:literal]
        $access:ident $reset:literal $section:literal $doc:literal)*) => {
        $(#[doc = $doc] pub const $name: u32 = $offset;)*
        /// All registers, by group.
        pub static MAP: &[Register] = &[$(Register {
            name: stringify!($name),
            offset: $offset,
            count: $count,
            stride: $stride,
            access: Access::$access,
            reset: $reset,
            section: $section,
        }),*];
    };
}

registers! {
    CTRL 0x00000 [1, 4] Rw 0 "8.2.3.1.1" "Device control."
    STATUS 0x00008 [1, 4] Ro 0x0008_0000 "8.2.3.1.2" "Device status."
    CTRL_EXT 0x00018 [1, 4] Rw 0 "8.2.3.1.3" "Extended device control."
    ESDP 0x00020 [1, 4] Rw 0 "8.2.3.1.4" "Software defined pins."
    I2CCTL 0x00028 [1, 4] Rw 0x0000_000f "8.2.3.1.5" "I2C lines by hand."
    LEDCTL 0x00200 [1, 4] Rw 0x0504_8100 "8.2.3.1.6" "LEDs."
    EXVET 0x05078 [1, 4] Rw 0x8100_0000 "8.2.3.1.7" "Outer VLAN EtherType."
    EEC 0x10010 [1, 4] Rw 0 "8.2.3.2.1" "EEPROM control; reset by the EEPROM."
    EERD 0x10014 [1, 4] Rw 0 "8.2.3.2.2" "EEPROM read."
    FLA 0x1001c [1, 4] Rw 0 "8.2.3.2.3" "Flash access."
    EEMNGCTL 0x10110 [1, 4] Rw 0x0004_0000 "8.2.3.2.4" "Manageability EEPROM, CFG_DONE0 18."
    GRC 0x10200 [1, 4] Rw 0 "8.2.3.2.8" "General receive control."
    FCTTV 0x03200 [4, 4] Rw 0 "8.2.3.3.2" "Pause time to send."
    FCRTL 0x03220 [8, 4] Rw 0 "8.2.3.3.3" "Low threshold of a packet buffer."
    FCRTH 0x03260 [8, 4] Rw 0 "8.2.3.3.4" "High threshold of a packet buffer."
    FCRTV 0x032a0 [1, 4] Rw 0 "8.2.3.3.5" "When to repeat XOFF."
    TFCS 0x0ce00 [1, 4] Ro 0 "8.2.3.3.6" "Whether the transmitter is paused."
    FCCFG 0x03d00 [1, 4] Rw 0 "8.2.3.3.7" "Flow control to send."
    GCR 0x11000 [1, 4] Rw 0 "8.2.3.4.1" "PCIe control."
    GSCL 0x11010 [4, 4] Rw 0 "8.2.3.4.2" "PCIe statistics control."
    GSCN 0x11020 [4, 4] Ro 0 "8.2.3.4.6" "PCIe statistics counters."
    FACTPS 0x10150 [1, 4] Ro 0 "8.2.3.4.7" "Functions and their power states."
    GCR_EXT 0x11050 [1, 4] Rw 0 "8.2.3.4.12" "PCIe control, buffer clear."
    MREVID 0x11064 [1, 4] Ro 0 "8.2.3.4.8" "Mirrored revision."
    PICAUSE 0x110b0 [1, 4] W1c 0 "8.2.3.4.13" "PCIe causes."
    PIENA 0x110b8 [1, 4] Rw 0 "8.2.3.4.14" "PCIe causes enabled."
    SWSM 0x10140 [1, 4] Rw 0 "8.2.3.4.9" "Software semaphores; reading sets SMBI."
    FWSM 0x10148 [1, 4] Ro 0x0000_8000 "8.2.3.4.10" "Firmware semaphore and state."
    SW_FW_SYNC 0x10160 [1, 4] Rw 0 "8.2.3.4.11" "What software and firmware hold (GSSR)."
    EICR 0x00800 [1, 4] RcW1c 0 "8.2.3.5.1" "Interrupt causes."
    EICS 0x00808 [1, 4] W1s 0 "8.2.3.5.2" "Sets causes; reads without clearing."
    EIMS 0x00880 [1, 4] W1s 0 "8.2.3.5.3" "Enables causes."
    EIMC 0x00888 [1, 4] Wo 0 "8.2.3.5.4" "Disables causes."
    EIAC 0x00810 [1, 4] Rw 0 "8.2.3.5.5" "Causes that a message clears."
    EIAM 0x00890 [1, 4] Rw 0 "8.2.3.5.6" "Causes that are masked when they interrupt."
    EICR_EX 0x00a80 [2, 4] Ro 0 "8.2.3.5.7" "Causes of 64 vectors."
    EICS_EX 0x00a90 [2, 4] W1s 0 "8.2.3.5.7" "Sets causes of 64 vectors."
    EIMS_EX 0x00aa0 [2, 4] W1s 0 "8.2.3.5.8" "Enables 64 vectors."
    EIMC_EX 0x00ab0 [2, 4] Wo 0 "8.2.3.5.9" "Disables 64 vectors."
    EIAM_EX 0x00ad0 [2, 4] Rw 0 "8.2.3.5.10" "Vectors that are masked when they interrupt."
    EITRSEL 0x00894 [1, 4] Rw 0 "8.2.3.5.11" "Whose EITR rows 32 and up are."
    EITR 0x00820 [24, 4] Rw 0 "8.2.3.5.12" "Interval between interrupts."
    EITR_HI 0x12300 [104, 4] Rw 0 "8.2.3.5.12" "EITR of vectors 24 and up."
    L34T_IMIR 0x0e800 [128, 4] Rw 0 "8.2.3.5.13" "Filters of low latency interrupts."
    LLITHRESH 0x0ec90 [1, 4] Rw 0x1400_0000 "8.2.3.5.14" "Low latency interrupt threshold."
    IMIRVP 0x0ec60 [1, 4] Rw 0 "8.2.3.5.15" "VLAN priority of low latency."
    IVAR 0x00900 [64, 4] Rw 0 "8.2.3.5.16" "Vector of each queue."
    IVAR_MISC 0x00a00 [1, 4] Rw 0 "8.2.3.5.17" "Vectors of the timer and of other causes."
    GPIE 0x00898 [1, 4] Rw 0 "8.2.3.5.18" "How interrupts are made."
    PBACLR0 0x11068 [1, 4] W1c 0 "8.2.3.6.2" "Clears pending bits of vectors 31:0."
    PBACLR 0x110c0 [8, 4] W1c 0 "8.2.3.6.2" "Clears pending bits of all vectors."
    FCTRL 0x05080 [1, 4] Rw 0 "8.2.3.7.1" "Which frames are taken."
    VLNCTRL 0x05088 [1, 4] Rw 0x0000_8100 "8.2.3.7.2" "VLAN control."
    MCSTCTRL 0x05090 [1, 4] Rw 0 "8.2.3.7.3" "Multicast control."
    PSRTYPE 0x0ea00 [64, 4] Rw 0 "8.2.3.7.4" "Packet types to split, RSS queues of a pool."
    RXCSUM 0x05000 [1, 4] Rw 0 "8.2.3.7.5" "Receive checksum control."
    RFCTL 0x05008 [1, 4] Rw 0 "8.2.3.7.6" "Receive filter control."
    MTA 0x05200 [128, 4] Rw 0 "8.2.3.7.7" "Multicast hash table."
    RAL 0x0a200 [128, 8] Rw 0 "8.2.3.7.8" "MAC address, low half."
    RAH 0x0a204 [128, 8] Rw 0 "8.2.3.7.9" "MAC address, high half."
    MPSAR 0x0a600 [256, 4] Rw 0 "8.2.3.7.10" "Pools of a MAC address."
    VFTA 0x0a000 [128, 4] Rw 0 "8.2.3.7.11" "VLAN filter table."
    MRQC 0x0ec80 [1, 4] Rw 0 "8.2.3.7.12" "How queues are chosen."
    RETA 0x0eb00 [32, 4] Rw 0 "8.2.3.7.15" "Queue of a hash."
    RSSRK 0x0eb80 [10, 4] Rw 0 "8.2.3.7.14" "Key of the hash."
    ETQF 0x05128 [8, 4] Rw 0 "8.2.3.7.16" "EtherType filters."
    ETQS 0x0ec00 [8, 4] Rw 0 "8.2.3.7.17" "Queue of an EtherType."
    SAQF 0x0e000 [128, 4] Rw 0 "8.2.3.7.18" "Source address of a 5-tuple filter."
    DAQF 0x0e200 [128, 4] Rw 0 "8.2.3.7.18" "Destination address of a 5-tuple filter."
    SDPQF 0x0e400 [128, 4] Rw 0 "8.2.3.7.18" "Ports of a 5-tuple filter."
    FTQF 0x0e600 [128, 4] Rw 0 "8.2.3.7.19" "5-tuple filters."
    SYNQF 0x0ec30 [1, 4] Rw 0 "8.2.3.7.20" "SYN filter."
    RDBAL 0x01000 [64, 64] Rw 0 "8.2.3.8.1" "Receive ring, low half of its base."
    RDBAH 0x01004 [64, 64] Rw 0 "8.2.3.8.2" "Receive ring, high half of its base."
    RDLEN 0x01008 [64, 64] Rw 0 "8.2.3.8.3" "Receive ring, bytes."
    DCA_RXCTRL 0x0100c [64, 64] Rw 0x0000_3200 "8.2.3.11.1" "Receive DCA and ordering."
    RDH 0x01010 [64, 64] Rw 0 "8.2.3.8.4" "Receive ring, head."
    SRRCTL 0x01014 [64, 64] Rw 0x0000_0402 "8.2.3.8.7" "Buffer sizes and descriptor type."
    RDT 0x01018 [64, 64] Rw 0 "8.2.3.8.5" "Receive ring, tail."
    RXDCTL 0x01028 [64, 64] Rw 0 "8.2.3.8.6" "Receive queue control."
    RSCCTL 0x0102c [64, 64] Rw 0 "8.2.3.8.13" "Receive side coalescing of a queue."
    RDBAL_HI 0x0d000 [64, 64] Rw 0 "8.2.3.8.1" "RDBAL of queues 64 and up."
    RDBAH_HI 0x0d004 [64, 64] Rw 0 "8.2.3.8.2" "RDBAH of queues 64 and up."
    RDLEN_HI 0x0d008 [64, 64] Rw 0 "8.2.3.8.3" "RDLEN of queues 64 and up."
    DCA_RXCTRL_HI 0x0d00c [64, 64] Rw 0x0000_3200 "8.2.3.11.1" "DCA_RXCTRL of queues 64 and up."
    RDH_HI 0x0d010 [64, 64] Rw 0 "8.2.3.8.4" "RDH of queues 64 and up."
    SRRCTL_HI 0x0d014 [64, 64] Rw 0x0000_0402 "8.2.3.8.7" "SRRCTL of queues 64 and up."
    RDT_HI 0x0d018 [64, 64] Rw 0 "8.2.3.8.5" "RDT of queues 64 and up."
    RXDCTL_HI 0x0d028 [64, 64] Rw 0 "8.2.3.8.6" "RXDCTL of queues 64 and up."
    RSCCTL_HI 0x0d02c [64, 64] Rw 0 "8.2.3.8.13" "RSCCTL of queues 64 and up."
    RDRXCTL 0x02f00 [1, 4] Rw 0x0010_8808 "8.2.3.8.8" "Receive DMA control."
    RXPBSIZE 0x03c00 [8, 4] Rw 0x0008_0000 "8.2.3.8.9" "Size of a receive packet buffer."
    RXCTRL 0x03000 [1, 4] Rw 0 "8.2.3.8.10" "Receive enable."
    RXMEMWRAP 0x03190 [1, 4] Ro 0 "8.2.3.8.11" "Laps of the packet buffers."
    RSCDBU 0x03028 [1, 4] Rw 0 "8.2.3.8.12" "What is not coalesced."
    DTXMXSZRQ 0x08100 [1, 4] Rw 0x0000_0010 "8.2.3.9.1" "Most transmit bytes in flight."
    DMATXCTL 0x04a80 [1, 4] Rw 0x8100_0004 "8.2.3.9.2" "Transmit DMA control."
    DTXTCPFLGL 0x04a88 [1, 4] Rw 0x0ff6_0ff6 "8.2.3.9.3" "TCP flags of first and middle segments."
    DTXTCPFLGH 0x04a8c [1, 4] Rw 0x0000_0f7f "8.2.3.9.4" "TCP flags of the last segment."
    TDBAL 0x06000 [128, 64] Rw 0 "8.2.3.9.5" "Transmit ring, low half of its base."
    TDBAH 0x06004 [128, 64] Rw 0 "8.2.3.9.6" "Transmit ring, high half of its base."
    TDLEN 0x06008 [128, 64] Rw 0 "8.2.3.9.7" "Transmit ring, bytes."
    DCA_TXCTRL 0x0600c [128, 64] Rw 0x0000_2a00 "8.2.3.11.2" "Transmit DCA and ordering."
    TDH 0x06010 [128, 64] Rw 0 "8.2.3.9.8" "Transmit ring, head."
    TDT 0x06018 [128, 64] Rw 0 "8.2.3.9.9" "Transmit ring, tail."
    TXDCTL 0x06028 [128, 64] Rw 0 "8.2.3.9.10" "Transmit queue control."
    TDWBAL 0x06038 [128, 64] Rw 0 "8.2.3.9.11" "Where the head is written, low half."
    TDWBAH 0x0603c [128, 64] Rw 0 "8.2.3.9.12" "Where the head is written, high half."
    TXPBSIZE 0x0cc00 [8, 4] Rw 0x0002_8000 "8.2.3.9.13" "Size of a transmit packet buffer."
    MTQC 0x08120 [1, 4] Rw 0 "8.2.3.9.15" "How transmit queues are grouped."
    TXPBTHRESH 0x04950 [8, 4] Rw 0x0000_0096 "8.2.3.9.16" "Transmit packet buffer threshold."
    RTRUP2TC 0x03020 [1, 4] Rw 0 "8.2.3.10.4" "Class of a priority, receive."
    RTTUP2TC 0x0c800 [1, 4] Rw 0 "8.2.3.10.5" "Class of a priority, transmit."
    RTRPCS 0x02430 [1, 4] Rw 0 "8.2.3.10.1" "DCB receive plane."
    RTTDCS 0x04900 [1, 4] Rw 0x00c0_0000 "8.2.3.10.2" "DCB transmit descriptor plane."
    RTTPCS 0x0cd00 [1, 4] Rw 0 "8.2.3.10.3" "DCB transmit packet plane."
    RTTDQSEL 0x04904 [1, 4] Rw 0 "8.2.3.10.14" "Queue that the next three are about."
    RTTDT1C 0x04908 [1, 4] Rw 0 "8.2.3.10.15" "Credits of a queue."
    RTTBCNRC 0x04984 [1, 4] Rw 0 "8.2.3.10.16" "Rate limit of a queue."
    RTRPT4C 0x02140 [8, 4] Rw 0 "8.2.3.10.6" "DCB receive credits."
    RTTDT2C 0x04910 [8, 4] Rw 0 "8.2.3.10.8" "DCB transmit descriptor credits."
    RTTPT2C 0x0cd20 [8, 4] Rw 0 "8.2.3.10.10" "DCB transmit packet credits."
    DCA_ID 0x11070 [1, 4] Ro 0 "8.2.3.11.3" "DCA requester."
    DCA_CTRL 0x11074 [1, 4] Rw 0x0000_0001 "8.2.3.11.4" "DCA control."
    SECTXCTRL 0x08800 [1, 4] Rw 0x0000_0004 "8.2.3.12.1" "Transmit security control."
    SECTXSTAT 0x08804 [1, 4] Ro 0 "8.2.3.12.2" "Transmit security status."
    SECTXBUFFAF 0x08808 [1, 4] Rw 0x0000_0250 "8.2.3.12.3" "Transmit security almost full."
    SECTXMINIFG 0x08810 [1, 4] Rw 0x0000_1001 "8.2.3.12.4" "Transmit security gap."
    SECRXCTRL 0x08d00 [1, 4] Rw 0x0000_0004 "8.2.3.12.5" "Receive security control."
    SECRXSTAT 0x08d04 [1, 4] Ro 0 "8.2.3.12.6" "Receive security status."
    IPSTXIDX 0x08900 [1, 4] Rw 0 "8.2.3.14.1" "IPsec transmit index."
    IPSTXKEY 0x08904 [5, 4] Rw 0 "8.2.3.14.2" "IPsec transmit keys and salt."
    IPSRXIDX 0x08e00 [8, 4] Rw 0 "8.2.3.14.4" "IPsec receive tables."
    TSYNCRXCTL 0x05188 [1, 4] Rw 0 "8.2.3.26.1" "Receive timestamps."
    TSYNCTXCTL 0x08c00 [1, 4] Rw 0 "8.2.3.26.8" "Transmit timestamps."
    SYSTIML 0x08c0c [1, 4] Rw 0 "8.2.3.26.11" "System time, low half."
    SYSTIMH 0x08c10 [1, 4] Rw 0 "8.2.3.26.12" "System time, high half."
    TIMINCA 0x08c14 [1, 4] Rw 0 "8.2.3.26.13" "Increment of the system time."
    TIMADJ 0x08c18 [2, 4] Rw 0 "8.2.3.26.14" "Adjustment of the system time."
    TSAUXC 0x08c20 [1, 4] Rw 0 "8.2.3.26.16" "Auxiliary time functions."
    FCRXCTRL 0x05100 [1, 4] Rw 0 "8.2.3.20.1" "FCoE receive control."
    FCRECTL 0x0ed00 [1, 4] Rw 0 "8.2.3.20.10" "FCoE redirection."
    FDIRCTRL 0x0ee00 [1, 4] Rw 0 "8.2.3.21.1" "Flow director control."
    FDIRHKEY 0x0ee68 [1, 4] Rw 0 "8.2.3.21.2" "Flow director hash key."
    FDIRSKEY 0x0ee6c [1, 4] Rw 0 "8.2.3.21.3" "Flow director signature key."
    FDIRMASKS 0x0ee3c [4, 4] Rw 0 "8.2.3.21.4" "Flow director masks."
    FDIRFREE 0x0ee38 [1, 4] Rw 0 "8.2.3.21.8" "Flow director free entries."
    FDIRLEN 0x0ee4c [1, 4] Rc 0 "8.2.3.21.9" "Flow director longest chain."
    FDIRUSTAT 0x0ee50 [1, 4] Rc 0 "8.2.3.21.10" "Flow director filters added."
    FDIRFSTAT 0x0ee54 [1, 4] Rc 0 "8.2.3.21.11" "Flow director filters that failed."
    FDIRMATCH 0x0ee58 [1, 4] Rc 0 "8.2.3.21.12" "Flow director hits."
    FDIRMISS 0x0ee5c [1, 4] Rc 0 "8.2.3.21.13" "Flow director misses."
    FDIRM 0x0ee70 [2, 4] Rw 0 "8.2.3.21.24" "Flow director other masks."
    FDIRINPUT 0x0ee0c [8, 4] Rw 0 "8.2.3.21.14" "Flow director filter input."
    FDIRCMD 0x0ee2c [1, 4] Rw 0 "8.2.3.21.22" "Flow director command."
    PCS1GCFIG 0x04200 [1, 4] Rw 0 "8.2.3.22.1" "1G PCS configuration."
    PCS1GLCTL 0x04208 [1, 4] Rw 0 "8.2.3.22.2" "1G PCS link control."
    PCS1GLSTA 0x0420c [1, 4] Ro 0 "8.2.3.22.3" "1G PCS link status."
    PCS1GANA 0x04218 [1, 4] Rw 0 "8.2.3.22.4" "1G PCS autonegotiation."
    PCS1GANLP 0x0421c [1, 4] Ro 0 "8.2.3.22.5" "1G PCS partner."
    HLREG0 0x04240 [1, 4] Rw 0x0801_2c0b "8.2.3.22.8" "MAC control."
    HLREG1 0x04244 [1, 4] Ro 0 "8.2.3.22.9" "MAC status."
    PAP 0x04248 [1, 4] Rw 0x0000_ffff "8.2.3.22.10" "Pause time of the MAC."
    MSCA 0x0425c [1, 4] Rw 0 "8.2.3.22.11" "MDIO command."
    MSRWD 0x04260 [1, 4] Rw 0 "8.2.3.22.12" "MDIO data."
    MAXFRS 0x04268 [1, 4] Rw 0x05ee_0000 "8.2.3.22.13" "Longest frame."
    PCSS1 0x04288 [2, 4] Ro 0 "8.2.3.22.14" "XGXS status."
    XPCSS 0x04290 [1, 4] Ro 0 "8.2.3.22.16" "10GBASE-X PCS status."
    MFLCN 0x04294 [1, 4] Rw 0 "8.2.3.22.34" "Flow control that is obeyed."
    SERDESC 0x04298 [1, 4] Rw 0 "8.2.3.22.17" "SerDes control."
    MACS 0x0429c [1, 4] Rw 0 "8.2.3.22.18" "FIFO status."
    AUTOC 0x042a0 [1, 4] Rw 0 "8.2.3.22.19" "Link mode; reset by the EEPROM."
    LINKS 0x042a4 [1, 4] Ro 0 "8.2.3.22.20" "Link status."
    AUTOC2 0x042a8 [1, 4] Rw 0 "8.2.3.22.22" "Link mode, second half."
    ANLP1 0x042b0 [1, 4] Ro 0x0001_0000 "8.2.3.22.23" "What the partner offers."
    ANLP2 0x042b4 [1, 4] Ro 0 "8.2.3.22.24" "Next page of the partner."
    MMNGC 0x042d0 [1, 4] Rw 0 "8.2.3.22.25" "Manageability control of the MAC."
    ANLPNP 0x042d4 [2, 4] Ro 0 "8.2.3.22.26" "Next pages of the link partner."
    LINKS2 0x04324 [1, 4] Ro 0 "8.2.3.22.21" "Link status, second half."
    MACC 0x04330 [1, 4] Rw 0 "8.2.3.22.30" "MAC control of the link."
    ATLASCTL 0x04800 [1, 4] Rw 0 "8.2.3.22.32" "Analog configuration."
    CORECTL 0x14f00 [1, 4] Wo 0 "8.2.3.22.33" "Core analog configuration."
    WUC 0x05800 [1, 4] Rw 0 "8.2.3.24.1" "Wake up control."
    WUFC 0x05808 [1, 4] Rw 0 "8.2.3.24.2" "Wake up filters."
    WUS 0x05810 [1, 4] W1c 0 "8.2.3.24.3" "Wake up status."
    PFVTCTL 0x051b0 [1, 4] Rw 0 "8.2.3.27.1" "Virtualisation control."
    PFMBICR 0x00710 [4, 4] W1c 0 "8.2.3.27.3" "Mailbox causes."
    PFVFLREC 0x00700 [4, 4] W1c 0 "8.2.3.27.5" "Functions that were reset."
    PFVFRE 0x051e0 [2, 4] Rw 0 "8.2.3.27.6" "Pools that receive."
    PFVFTE 0x08110 [2, 4] Rw 0 "8.2.3.27.7" "Pools that transmit."
    PFQDE 0x02f04 [1, 4] Rw 0 "8.2.3.27.9" "Drop enable by queue."
    PFDTXGSWC 0x08220 [1, 4] Rw 0 "8.2.3.27.10" "Loopback between pools."
    PFVMVIR 0x08000 [64, 4] Rw 0 "8.2.3.27.11" "VLAN of a pool."
    PFVML2FLT 0x0f000 [64, 4] Rw 0 "8.2.3.27.14" "What a pool takes."
    PFVLVF 0x0f100 [64, 4] Rw 0 "8.2.3.27.15" "VLAN filters of pools."
    PFVLVFB 0x0f200 [128, 4] Rw 0 "8.2.3.27.16" "Pools of a VLAN."
    PFUTA 0x0f400 [128, 4] Rw 0 "8.2.3.27.17" "Unicast hash table."
    PFVFSPOOF 0x08200 [8, 4] Rw 0 "8.2.3.27.8" "Spoof checks."
    PFMRCTL 0x0f600 [4, 4] Rw 0 "8.2.3.27.18" "Mirror rules."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ixgbe_stat;

    #[test]
    fn no_two_registers_lie_on_each_other() {
        let mut all: Vec<(u32, &str)> = Vec::new();
        for r in MAP.iter().chain(ixgbe_stat::MAP) {
            all.extend((0..r.count).map(|i| (r.offset + i * r.stride, r.name)));
        }
        all.sort_unstable();
        for pair in all.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{pair:?}");
            assert_eq!(pair[0].0 % 4, 0, "{pair:?}");
        }
        assert!(all.last().is_some_and(|last| last.0 < crate::ixgbe::CSR_BYTES));
    }

    #[test]
    fn offsets_match_a_second_source() {
        // Initial values and offsets that the TinyNF and EbbRT drivers name with sections.
        for (offset, name, reset) in [
            (0x02f00, "RDRXCTL", 0x0010_8808),
            (0x04240, "HLREG0", 0x0801_2c0b),
            (0x04a80, "DMATXCTL", 0x8100_0004),
            (0x04900, "RTTDCS", 0x00c0_0000),
            (0x03c00, "RXPBSIZE", 512 << 10),
            (0x0cc00, "TXPBSIZE", 160 << 10),
            (0x08100, "DTXMXSZRQ", 0x10),
            (0x00200, "LEDCTL", 0x0504_8100),
        ] {
            let found = MAP.iter().find(|r| r.offset == offset).map(|r| (r.name, r.reset));
            assert_eq!(found, Some((name, reset)));
        }
    }
}
