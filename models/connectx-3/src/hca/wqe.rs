//! Send WQEs: control segment, data segments, data inline.
//!
//! Not modelled: LSO, VLAN insertion, BlueFlame's counter, remote addresses, fences.

use super::bytes::{be32, be64};
use pollproof_regs::mlx4_hca::sq;

/// Most bytes of a packet.
const PACKET_MAX: u32 = 64 << 10;

/// A piece of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// In the WQE.
    Inline(Vec<u8>),
    /// Elsewhere in memory.
    Memory { addr: u64, len: u32 },
}

/// What is to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wqe {
    pub opcode: u32,
    pub reports: bool,
    pub ip_checksum: bool,
    pub l4_checksum: bool,
    pub pieces: Vec<Piece>,
}

/// Bytes of a WQE by its second word.
pub(super) fn bytes_of(first: &[u8]) -> u32 {
    (be32(first, 4) & sq::SIZE_MASK) * 16
}

/// Reads a whole WQE; the reason if it can not be sent.
pub(super) fn parse(wqe: &[u8]) -> Result<Wqe, &'static str> {
    let opcode = be32(wqe, 0) & sq::OPCODE_MASK;
    let flags = be32(wqe, 8);
    if be32(wqe, 4) & sq::INS_VLAN != 0 {
        return Err("VLAN insertion is not modelled");
    }
    let mut parsed = Wqe {
        opcode,
        reports: flags & sq::CQ_UPDATE == sq::CQ_UPDATE,
        ip_checksum: flags & sq::IP_CSUM != 0,
        l4_checksum: flags & sq::L4_CSUM != 0,
        pieces: Vec::new(),
    };
    match opcode {
        sq::OPCODE_NOP => return Ok(parsed),
        sq::OPCODE_SEND => {}
        _ => return Err("send opcode that is not modelled"),
    }
    let (mut at, mut total) = (16, 0_u32);
    while at + 4 <= wqe.len() {
        let count = be32(wqe, at);
        let len = count & !sq::INLINE;
        total = len.saturating_add(total);
        if total > PACKET_MAX {
            return Err("send WQE of more than 64 KiB");
        }
        if count & sq::INLINE == 0 {
            if len > 0 {
                parsed.pieces.push(Piece::Memory { addr: be64(wqe, at + 8), len });
            }
            at += 16;
            continue;
        }
        let data = wqe.get(at + 4..at + 4 + len as usize).ok_or("inline data behind the WQE")?;
        if at / 64 != (at + 3 + len as usize) / 64 {
            return Err("inline data across 64 bytes");
        }
        parsed.pieces.push(Piece::Inline(data.to_vec()));
        at = (at + 4 + len as usize).next_multiple_of(16);
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn pieces_come_in_their_order() {
        let mut wqe = words(&[0x0a, 4, 0x3e, 0, 6 | sq::INLINE, 0x0102_0304, 0x0506_0000, 0]);
        wqe.extend(words(&[100, 0x1000, 1, 2, 0, 0x100, 0, 0]));
        let parsed = parse(&wqe).expect("a WQE");
        assert!(parsed.reports && parsed.ip_checksum && parsed.l4_checksum);
        let memory = Piece::Memory { addr: 1 << 32 | 2, len: 100 };
        assert_eq!(parsed.pieces, [Piece::Inline(vec![1, 2, 3, 4, 5, 6]), memory]);
        assert_eq!(bytes_of(&wqe), 64);
    }

    #[test]
    fn what_can_not_be_sent_is_told() {
        for (bad, why) in [
            (words(&[0x0e, 2, 0, 0]), "send opcode that is not modelled"),
            (words(&[0x0a, 2 | sq::INS_VLAN, 0, 0]), "VLAN insertion is not modelled"),
            (words(&[0x0a, 2, 0, 0, 60 | sq::INLINE, 0]), "inline data behind the WQE"),
            (words(&[0x0a, 2, 0, 0, 1 << 17, 0, 0, 0]), "send WQE of more than 64 KiB"),
        ] {
            assert_eq!(parse(&bad), Err(why));
        }
        let mut across = words(&[0x0a, 8, 0, 0, 60 | sq::INLINE]);
        across.resize(128, 7);
        assert_eq!(parse(&across), Err("inline data across 64 bytes"));
        for len in 0..64 {
            let _ = parse(&vec![0xff; len]);
        }
    }
}
