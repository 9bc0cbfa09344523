//! ConnectX-3 as a PCI function: control space, firmware commands and their mailboxes, contexts.
//!
//! Sources: Linux 6.12 `drivers/net/ethernet/mellanox/mlx4/{cmd,fw,main,reset,eq,qp,en_*}.c` and
//! `include/linux/mlx4/{cmd,device,qp}.h`. Everything in control space, mailboxes and contexts is
//! big endian; the words here are host values.

/// Identity and BARs.
pub mod pci {
    /// Vendor.
    pub const VENDOR: u16 = 0x15b3;
    /// ConnectX-3.
    pub const DEVICE: u16 = 0x1003;
    /// Class code: Ethernet controller.
    pub const CLASS: u32 = 0x02_0000;
    /// BAR of control space, 64-bit memory.
    pub const BAR_CONTROL: u8 = 0;
    /// Its bytes.
    pub const CONTROL_BYTES: u32 = 1 << 20;
    /// Bytes of the BAR of UAR pages.
    pub const UAR_BYTES: u32 = 8 << 20;
    /// MSI-X vectors.
    pub const VECTORS: u32 = 32;
    /// Where the MSI-X table begins in control space. Free choice of a device.
    pub const MSIX_TABLE: u32 = 0x7_c000;
    /// Where the pending bits begin in control space. Free choice of a device.
    pub const MSIX_PBA: u32 = 0x7_d000;
    /// Power management capability.
    pub const CAP_PM: u16 = 0x40;
    /// MSI-X capability.
    pub const CAP_MSIX: u16 = 0x60;
    /// PCI Express capability.
    pub const CAP_PCIE: u16 = 0xa0;
}

/// Offsets in control space.
pub mod control {
    /// First word of the command register; seven of them.
    pub const HCR: u64 = 0x8_0680;
    /// Its last word: status, GO, E, T, modifier, opcode.
    pub const HCR_LAST: u64 = HCR + 0x18;
    /// Ownership: reads 0 when the function is free (`MLX4_OWNER_BASE`).
    pub const OWNER: u64 = 0x8_069c;
    /// Buffer of catastrophic errors: its first word is 0 while all is well. Free choice.
    pub const CATAS: u64 = 0x9_fa00;
    /// Its bytes.
    pub const CATAS_BYTES: u64 = 0x40;
    /// Clears INTx. Free choice.
    pub const CLEAR_INT: u64 = 0xf_00d8;
    /// A 1 resets the function.
    pub const RESET: u64 = 0xf_0010;
    /// Semaphore of resets: reads 0 when it is taken.
    pub const RESET_SEMAPHORE: u64 = 0xf_03fc;
    /// `HCR_LAST`: command runs.
    pub const GO: u32 = 1 << 23;
    /// `HCR_LAST`: report by event.
    pub const EVENT: u32 = 1 << 22;
    /// `HCR_LAST`: toggles from command to command.
    pub const TOGGLE: u32 = 1 << 21;
    /// `HCR_LAST`: place of the status.
    pub const STATUS_SHIFT: u32 = 24;
}

/// Bytes of a mailbox.
pub const MAILBOX_BYTES: u32 = 4096;
/// Bytes of a page of ICM.
pub const ICM_PAGE_BYTES: u64 = 4096;
/// Offset of the send doorbell in a UAR page.
pub const SEND_DOORBELL: u64 = 0x14;

/// Opcodes of commands.
pub mod op {
    #![allow(missing_docs, reason = "names of the PRM say all there is to say")]
    pub const QUERY_DEV_CAP: u32 = 0x003;
    pub const QUERY_FW: u32 = 0x004;
    pub const QUERY_ADAPTER: u32 = 0x006;
    pub const INIT_HCA: u32 = 0x007;
    pub const CLOSE_HCA: u32 = 0x008;
    pub const INIT_PORT: u32 = 0x009;
    pub const CLOSE_PORT: u32 = 0x00a;
    pub const QUERY_HCA: u32 = 0x00b;
    pub const SET_PORT: u32 = 0x00c;
    pub const SW2HW_MPT: u32 = 0x00d;
    pub const HW2SW_MPT: u32 = 0x00f;
    pub const MAP_EQ: u32 = 0x012;
    pub const SW2HW_EQ: u32 = 0x013;
    pub const HW2SW_EQ: u32 = 0x014;
    pub const SW2HW_CQ: u32 = 0x016;
    pub const HW2SW_CQ: u32 = 0x017;
    pub const RST2INIT_QP: u32 = 0x019;
    pub const INIT2RTR_QP: u32 = 0x01a;
    pub const RTR2RTS_QP: u32 = 0x01b;
    pub const RTS2RTS_QP: u32 = 0x01c;
    pub const TO_RST_QP: u32 = 0x021;
    pub const CONF_SPECIAL_QP: u32 = 0x023;
    pub const MAD_IFC: u32 = 0x024;
    pub const MODIFY_CQ: u32 = 0x02c;
    pub const NOP: u32 = 0x031;
    pub const MOD_STAT_CFG: u32 = 0x034;
    pub const QUERY_PORT: u32 = 0x043;
    pub const SET_VLAN_FLTR: u32 = 0x047;
    pub const SET_MCAST_FLTR: u32 = 0x048;
    pub const DUMP_ETH_STATS: u32 = 0x049;
    pub const RUN_FW: u32 = 0xff6;
    pub const UNMAP_ICM: u32 = 0xff9;
    pub const MAP_ICM: u32 = 0xffa;
    pub const UNMAP_ICM_AUX: u32 = 0xffb;
    pub const MAP_ICM_AUX: u32 = 0xffc;
    pub const SET_ICM_SIZE: u32 = 0xffd;
    pub const UNMAP_FA: u32 = 0xffe;
    pub const MAP_FA: u32 = 0xfff;
}

/// Parts of SET_PORT for Ethernet: `in_modifier >> 8`.
pub mod set_port {
    /// MTU and pause.
    pub const GENERAL: u32 = 0;
    /// Default queue pair, promiscuous modes.
    pub const RQP_CALC: u32 = 1;
    /// Unicast addresses.
    pub const MAC_TABLE: u32 = 2;
    /// VLAN tags.
    pub const VLAN_TABLE: u32 = 3;
    /// Priorities.
    pub const PRIO_MAP: u32 = 4;
    /// GIDs of RoCE.
    pub const GID_TABLE: u32 = 5;
}

/// Types of asynchronous events, beside those of completions.
pub mod event {
    /// The port went up or down.
    pub const PORT_CHANGE: u32 = 0x09;
    /// A command is complete.
    pub const CMD: u32 = 0x0a;
    /// Subtype of PORT_CHANGE: down.
    pub const PORT_DOWN: u32 = 1;
    /// Subtype of PORT_CHANGE: up.
    pub const PORT_ACTIVE: u32 = 4;
}

/// EQ context, 64 bytes: offsets.
pub mod eqc {
    /// log2 of the entries, bits 4:0 of the byte.
    pub const LOG_SIZE: usize = 0x0c;
    /// Moderation period, 16 bits.
    pub const PERIOD: usize = 0x10;
    /// Moderation count, 16 bits.
    pub const MAX_COUNT: usize = 0x12;
    /// MSI-X vector, 16 bits.
    pub const VECTOR: usize = 0x16;
    /// log2 of the pages, less 12; bits 5:0.
    pub const LOG_PAGE: usize = 0x18;
    /// Byte offset of the first MTT: a byte, then four.
    pub const MTT: usize = 0x1b;
}

/// CQ context, 64 bytes: offsets. LOG_SIZE, PERIOD, MAX_COUNT, LOG_PAGE and MTT as in an EQ's.
pub mod cqc {
    /// EQ of completion events, a byte.
    pub const EQN: usize = 0x17;
    /// Doorbell record, 64 bits.
    pub const DB_RECORD: usize = 0x38;
}

/// QP context, behind the first 8 bytes of the mailbox: offsets.
pub mod qpc {
    /// State, service, flags.
    pub const FLAGS: usize = 0x00;
    /// FLAGS: spreads over other queues.
    pub const RSS: u32 = 1 << 13;
    /// `log2(size) << 3 | log2(stride) - 4` of the receive queue; 0 is none.
    pub const RQ_SIZE_STRIDE: usize = 0x09;
    /// The same of the send queue.
    pub const SQ_SIZE_STRIDE: usize = 0x0a;
    /// What the RSS context begins at.
    pub const RSS_CONTEXT: usize = 0x3c;
    /// CQ of sends, 24 bits.
    pub const CQN_SEND: usize = 0x7c;
    /// CQ of receives, 24 bits.
    pub const CQN_RECV: usize = 0x9c;
    /// Doorbell record of the receive queue, 64 bits.
    pub const DB_RECORD: usize = 0xa0;
    /// log2 of the pages, less 12; bits 5:0.
    pub const LOG_PAGE: usize = 0xc8;
    /// Byte offset of the first MTT: a byte, then four.
    pub const MTT: usize = 0xcb;
}

/// Send work queue entries.
pub mod sq {
    /// Unit of the send ring, `TXBB_SIZE`.
    pub const TXBB_BYTES: u32 = 64;
    /// First word: owner, compared with the lap.
    pub const OWNER: u32 = 1 << 31;
    /// First word: opcode.
    pub const OPCODE_MASK: u32 = 0x1f;
    /// SEND.
    pub const OPCODE_SEND: u32 = 0x0a;
    /// LSO.
    pub const OPCODE_LSO: u32 = 0x0e;
    /// NOP.
    pub const OPCODE_NOP: u32 = 0x00;
    /// Second word: units of 16 bytes.
    pub const SIZE_MASK: u32 = 0x3f;
    /// Second word: insert the VLAN tag of its upper half.
    pub const INS_VLAN: u32 = 1 << 14;
    /// Third word: report completion (both bits).
    pub const CQ_UPDATE: u32 = 3 << 2;
    /// Third word: insert the IPv4 header checksum.
    pub const IP_CSUM: u32 = 1 << 4;
    /// Third word: insert the TCP or UDP checksum.
    pub const L4_CSUM: u32 = 1 << 5;
    /// Data segment: its data follows it.
    pub const INLINE: u32 = 1 << 31;
    /// CQE of a send: bit 6 of the owner byte.
    pub const CQE_IS_SEND: u32 = 0x40;
}
