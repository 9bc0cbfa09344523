//! Which frames the port takes: addresses, multicast hash, VLAN (7.1.1).
//!
//! Not modelled: pools (MPSAR, PFVLVF), EtherType, 5-tuple, SYN and flow director filters.

use crate::csr::Csr;
use pollproof_regs::ixgbe::{fctrl, mcst, vlnctrl};
use pollproof_regs::ixgbe_map as map;

/// Why a frame passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// By the multicast hash alone: software has to look again (PIF).
    pub(crate) inexact: bool,
}

const BROADCAST: [u8; 6] = [0xff; 6];

/// Whether a frame is taken, and how.
pub(crate) fn pass(csr: &Csr, frame: &[u8]) -> Option<Passed> {
    let to: &[u8; 6] = frame.first_chunk()?;
    let control = csr.get(map::FCTRL);
    let exact = Some(Passed { inexact: false });
    let passed = if *to == BROADCAST {
        exact.filter(|_| control & fctrl::BAM != 0)
    } else if to[0] & 1 != 0 {
        if control & fctrl::MPE != 0 || is_ours(csr, to) {
            exact
        } else {
            hashed(csr, to).then_some(Passed { inexact: true })
        }
    } else {
        exact.filter(|_| control & fctrl::UPE != 0 || is_ours(csr, to))
    };
    passed.filter(|_| vlan(csr, frame))
}

/// One of the 128 addresses of RAL and RAH (7.1.1.1.2).
fn is_ours(csr: &Csr, to: &[u8; 6]) -> bool {
    let low = u32::from_le_bytes([to[0], to[1], to[2], to[3]]);
    let high = u32::from(u16::from_le_bytes([to[4], to[5]])) | mcst::AV;
    (0..128).any(|n| {
        csr.get(map::RAL + 8 * n) == low && csr.get(map::RAH + 8 * n) & (mcst::AV | 0xffff) == high
    })
}

/// Bit of MTA that an address leads to, by MCSTCTRL.MO (8.2.3.7.7).
pub fn multicast_hash(mo: u32, to: &[u8; 6]) -> u32 {
    let tail = u32::from(u16::from_le_bytes([to[4], to[5]]));
    let shift = [4, 3, 2, 0][(mo & 3) as usize];
    tail >> shift & 0xfff
}

fn hashed(csr: &Csr, to: &[u8; 6]) -> bool {
    let control = csr.get(map::MCSTCTRL);
    let hash = multicast_hash(control & mcst::MO, to);
    let word = csr.get(map::MTA + 4 * (hash >> 5));
    control & mcst::MFE != 0 && word >> (hash & 31) & 1 != 0
}

/// VLAN filter: frames without tag pass (7.1.1.1.5).
fn vlan(csr: &Csr, frame: &[u8]) -> bool {
    let control = csr.get(map::VLNCTRL);
    let word = |at: usize| frame.get(at..at + 2).map(|b| u32::from(b[0]) << 8 | u32::from(b[1]));
    let tag = word(14).filter(|_| word(12) == Some(control & vlnctrl::VET));
    let (Some(tag), true) = (tag, control & vlnctrl::VFE != 0) else { return true };
    let id = tag & 0xfff;
    let cfi_ok =
        control & vlnctrl::CFIEN == 0 || (tag >> 12 & 1 != 0) == (control & vlnctrl::CFI != 0);
    cfi_ok && csr.get(map::VFTA + 4 * (id >> 5)) >> (id & 31) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: [u8; 6]) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&to);
        frame
    }

    const EXACT: Option<Passed> = Some(Passed { inexact: false });

    #[test]
    fn unicasts_pass_by_address_or_all() {
        let mut csr = Csr::new();
        let to = [2, 3, 4, 5, 6, 7];
        assert_eq!(pass(&csr, &frame(to)), None);
        csr.set(map::RAL + 8 * 127, 0x0504_0302);
        csr.set(map::RAH + 8 * 127, 0x0706);
        assert_eq!(pass(&csr, &frame(to)), None, "not valid");
        csr.set(map::RAH + 8 * 127, 0x0706 | mcst::AV);
        assert_eq!(pass(&csr, &frame(to)), EXACT);
        assert_eq!(pass(&csr, &frame([2; 6])), None);
        csr.set(map::FCTRL, fctrl::UPE);
        assert_eq!(pass(&csr, &frame([2; 6])), EXACT);
        assert_eq!(pass(&csr, &frame([0xff; 6])), None, "BAM is for broadcasts");
        csr.set(map::FCTRL, fctrl::BAM);
        assert_eq!(pass(&csr, &frame([0xff; 6])), EXACT);
        assert_eq!(pass(&csr, &[2; 5]), None);
    }

    #[test]
    fn multicasts_pass_by_hash_and_are_marked() {
        let mut csr = Csr::new();
        let to = [0x01, 0x00, 0x5e, 0x00, 0x12, 0x34];
        // Linux: byte 4 >> 4 | byte 5 << 4.
        let hash = multicast_hash(0, &to);
        assert_eq!(hash, 0x341);
        csr.set(map::MTA + 4 * (hash >> 5), 1 << (hash & 31));
        assert_eq!(pass(&csr, &frame(to)), None, "MFE is off");
        csr.set(map::MCSTCTRL, mcst::MFE);
        assert_eq!(pass(&csr, &frame(to)), Some(Passed { inexact: true }));
        csr.set(map::MCSTCTRL, mcst::MFE | 3);
        assert_eq!(multicast_hash(3, &to), 0x412);
        assert_eq!(pass(&csr, &frame(to)), None);
        csr.set(map::FCTRL, fctrl::MPE);
        assert_eq!(pass(&csr, &frame(to)), EXACT);
    }

    #[test]
    fn tags_pass_by_their_table() {
        let mut csr = Csr::new();
        csr.set(map::FCTRL, fctrl::UPE);
        csr.set(map::VLNCTRL, 0x8100 | vlnctrl::VFE);
        let mut tagged = frame([2; 6]);
        assert_eq!(pass(&csr, &tagged), EXACT, "no tag");
        tagged[12..16].copy_from_slice(&[0x81, 0x00, 0xe0, 0x65]);
        assert_eq!(pass(&csr, &tagged), None);
        csr.set(map::VFTA + 4 * 3, 1 << 5);
        assert_eq!(pass(&csr, &tagged), EXACT);
        csr.set(map::VLNCTRL, 0x8100 | vlnctrl::VFE | vlnctrl::CFIEN | vlnctrl::CFI);
        assert_eq!(pass(&csr, &tagged), None);
        tagged[14] |= 0x10;
        assert_eq!(pass(&csr, &tagged), EXACT);
    }
}
