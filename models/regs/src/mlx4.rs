//! ConnectX-3: CQE, EQE, receive WQE, doorbell records and doorbells.
//!
//! Sources: Linux 6.12 `include/linux/mlx4/{cq,device,doorbell}.h`, `drivers/net/ethernet/mellanox/
//! mlx4/{eq,cq,en_rx}.c`; PRM bit tables of iPXE's `MT25408_PRM.h`. Everything is big endian; the
//! words here are host values, see [`be`].

/// A word as it lies in memory (read little endian) from its big-endian meaning, and back.
#[inline]
pub const fn be(word: u32) -> u32 {
    word.swap_bytes()
}

/// BAR of the UAR pages.
pub const BAR_UAR: u8 = 2;
/// Size of a UAR page.
pub const UAR_PAGE_BYTES: u64 = 4096;

/// Completion queue entry, 32-byte body (`struct mlx4_cqe`).
pub mod cqe {
    /// Size of the body; with a stride of 64 it lies in the upper half.
    pub const BYTES: u32 = 32;
    /// `vlan_my_qpn`: QPN in bits 23:0.
    pub const MY_QPN: u32 = 0x00;
    /// `immed_rss_invalid`: RSS hash when the Toeplitz hash is on.
    pub const RSS_HASH: u32 = 0x04;
    /// `status`, upper half of this word (16 bits at 0x10).
    pub const STATUS: u32 = 0x10;
    /// `byte_cnt`.
    pub const BYTE_CNT: u32 = 0x14;
    /// `wqe_index` in bits 31:16, `checksum` in bits 15:0.
    pub const WQE_INDEX_CHECKSUM: u32 = 0x18;
    /// Reserved bytes, then `owner_sr_opcode` in bits 7:0.
    pub const OWNER_OPCODE: u32 = 0x1c;
    /// Bit 7 of `owner_sr_opcode`.
    pub const OWNER: u32 = 0x80;
    /// Bits 4:0 of `owner_sr_opcode`.
    pub const OPCODE_MASK: u32 = 0x1f;
    /// Receive with immediate or Ethernet receive.
    pub const OPCODE_RECV: u32 = 0x01;
    /// Error completion.
    pub const OPCODE_ERROR: u32 = 0x1e;
    /// `status`: IPv4.
    pub const STATUS_IPV4: u32 = 0x0040;
    /// `status`: IPv6.
    pub const STATUS_IPV6: u32 = 0x0100;
    /// `status`: TCP.
    pub const STATUS_TCP: u32 = 0x0400;
    /// `status`: UDP.
    pub const STATUS_UDP: u32 = 0x0800;
    /// `status`: IP header checksum good.
    pub const STATUS_IPOK: u32 = 0x1000;
    /// Error CQE: `syndrome` in bits 7:0 of this word (bits of 0x18: vendor 15:8, syndrome 7:0).
    pub const SYNDROME_LOCAL_LENGTH: u32 = 0x01;
    /// Local protection error.
    pub const SYNDROME_LOCAL_PROT: u32 = 0x04;
    /// Work request flushed.
    pub const SYNDROME_WR_FLUSH: u32 = 0x05;
}

/// Event queue entry (`struct mlx4_eqe`).
pub mod eqe {
    /// Size.
    pub const BYTES: u32 = 32;
    /// `type` in bits 23:16, `subtype` in bits 7:0.
    pub const TYPE: u32 = 0x00;
    /// First data word; `cqn` in bits 23:0 for COMP and CQ_ERR.
    pub const CQN: u32 = 0x04;
    /// `syndrome` of CQ_ERR in bits 7:0 (byte 15).
    pub const SYNDROME: u32 = 0x0c;
    /// Owner byte in bits 7:0 of the last word.
    pub const OWNER_WORD: u32 = 0x1c;
    /// Bit 7 of the owner byte.
    pub const OWNER: u32 = 0x80;
    /// `type` of a completion event.
    pub const TYPE_COMP: u32 = 0x00;
    /// `type` of a CQ error.
    pub const TYPE_CQ_ERR: u32 = 0x04;
    /// `syndrome`: overrun.
    pub const SYNDROME_OVERRUN: u32 = 0x01;
}

/// Data segment of a receive WQE (`struct mlx4_wqe_data_seg`).
pub mod wqe {
    /// Size; the stride of a ring is a power of two of at least this.
    pub const DATA_SEG_BYTES: u32 = 16;
    /// `byte_count`.
    pub const BYTE_COUNT: u32 = 0x00;
    /// `lkey`.
    pub const LKEY: u32 = 0x04;
    /// Upper half of `addr`.
    pub const ADDR_HI: u32 = 0x08;
    /// Lower half of `addr`.
    pub const ADDR_LO: u32 = 0x0c;
    /// `lkey` of an unused segment (`MLX4_INVALID_LKEY`).
    pub const LKEY_INVALID: u32 = 0x100;
}

/// Doorbell records in host memory and doorbells in the UAR.
pub mod db {
    /// CQ record: `set_ci`, consumer index in bits 23:0.
    pub const CQ_SET_CI: u64 = 0;
    /// CQ record: `arm`, `sn << 28 | cmd | ci`.
    pub const CQ_ARM: u64 = 4;
    /// RQ record: producer counter in bits 15:0.
    pub const RQ_PRODUCER: u64 = 0;
    /// Size of a record.
    pub const RECORD_BYTES: usize = 8;
    /// Mask of CQ and EQ indices (24 bits).
    pub const INDEX_MASK: u32 = 0x00ff_ffff;
    /// Mask of the RQ producer counter.
    pub const RQ_MASK: u32 = 0xffff;
    /// Offset of the CQ arm doorbell in its UAR page; 8 bytes:
    /// `sn << 28 | cmd << 24 | cqn`, then `ci`.
    pub const CQ_DOORBELL: u64 = 0x20;
    /// Shift of the sequence number, 2 bits.
    pub const SN_SHIFT: u32 = 28;
    /// Arm command: next solicited completion.
    pub const CMD_SOLICITED: u32 = 1 << 24;
    /// Arm command: next completion of any kind.
    pub const CMD_NEXT: u32 = 2 << 24;
    /// Mask of the arm command.
    pub const CMD_MASK: u32 = 7 << 24;
    /// First EQ doorbell in UAR page `eqn / 4`; then 8 bytes an EQ.
    pub const EQ_DOORBELL: u64 = 0x800;
    /// EQ doorbell: also arm.
    pub const EQ_ARM: u32 = 1 << 31;

    /// Offset in BAR 2 of the doorbell of an EQ.
    pub const fn eq_offset(eqn: u32) -> u64 {
        (eqn as u64 / 4) * super::UAR_PAGE_BYTES + EQ_DOORBELL + 8 * (eqn as u64 % 4)
    }
}

/// What SW2HW_EQ passes (the parts of `struct mlx4_eq_context` that are modelled).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqContext {
    /// Bus address of the entries.
    pub buf: u64,
    /// Log2 of the entries.
    pub log_size: u32,
    /// MSI-X vector.
    pub vector: u32,
    /// Moderation period, microseconds; 0 is off.
    pub period_us: u32,
    /// Moderation count; 0 is off.
    pub max_count: u32,
}

/// What SW2HW_CQ passes (the parts of `struct mlx4_cq_context` that are modelled).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqContext {
    /// Bus address of the entries.
    pub buf: u64,
    /// Log2 of the entries; at most 17.
    pub log_size: u32,
    /// Distance of entries: 32 or 64 bytes.
    pub stride_bytes: u32,
    /// EQ that completion events go to.
    pub eqn: u32,
    /// Moderation period, microseconds; 0 is off.
    pub period_us: u32,
    /// Moderation count; 0 is off.
    pub max_count: u32,
    /// Bus address of the doorbell record.
    pub db_record: u64,
    /// Opmod 1: the driver set the owner bits itself (`MLX4_DEV_CAP_FLAG2_SW_CQ_INIT`).
    pub sw_init: bool,
}

/// What the QP transitions pass for a receive queue (parts of `struct mlx4_qp_context`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqContext {
    /// Bus address of the WQEs.
    pub buf: u64,
    /// Log2 of the WQEs.
    pub log_size: u32,
    /// Distance of WQEs: a power of two of at least 16 bytes.
    pub stride_bytes: u32,
    /// Bus address of the doorbell record.
    pub db_record: u64,
    /// CQ that receive completions go to.
    pub cqn: u32,
}

/// RSS context (`struct mlx4_rss_context`): Toeplitz over several rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RssContext {
    /// First receive queue.
    pub base_rqn: u32,
    /// Log2 of the number of queues.
    pub log_queues: u32,
    /// 40-byte Toeplitz key.
    pub key: [u8; 40],
}

/// Status of a firmware command (`drivers/net/ethernet/mellanox/mlx4/cmd.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmdStatus {
    /// 0x03: bad parameter.
    BadParam,
    /// 0x05: no such resource.
    BadResource,
    /// 0x06: the resource is in use.
    ResourceBusy,
    /// 0x09: the resource is in the wrong state.
    BadResourceState,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second source: offsets as the PRM gives them, in bits from the start of the entry.
    #[test]
    fn offsets_agree_with_the_prm_bit_positions() {
        assert_eq!(cqe::BYTE_CNT, 0x0a0 / 8);
        assert_eq!(cqe::WQE_INDEX_CHECKSUM, 0x0c0 / 8);
        assert_eq!(cqe::OWNER_OPCODE, 0x0e0 / 8);
        assert_eq!(eqe::OWNER_WORD, 0x0e0 / 8);
        assert_eq!(wqe::ADDR_HI, 0x040 / 8);
    }

    #[test]
    fn eq_doorbells_lie_four_to_a_page() {
        assert_eq!(db::eq_offset(0), 0x800);
        assert_eq!(db::eq_offset(3), 0x818);
        assert_eq!(db::eq_offset(5), 0x1808);
    }

    #[test]
    fn be_is_its_own_inverse() {
        assert_eq!(be(be(0x1234_5678)), 0x1234_5678);
        assert_eq!(be(0x8000_0000), 0x80);
    }
}
