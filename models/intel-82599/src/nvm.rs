//! EEPROM: its words, the checksum, and reading it through EERD (6.2, 6.3, 8.2.3.2).
//!
//! The image holds what a driver looks at: no sections that the checksum would follow, the
//! capabilities of the board, for an SFP+ board also a firmware version and the list of
//! initialisation sequences. Not modelled: bit-banging through EEC, writing, the flash.

use crate::params::Medium;
use pollproof_regs::ixgbe::{eec, eerd, nvm};

/// Words: EEC.SIZE is 5.
const WORDS: usize = 2048;
const SIZE: u32 = 5;

/// The EEPROM of one board.
#[derive(Clone, Debug)]
pub(crate) struct Nvm {
    words: Vec<u16>,
}

impl Nvm {
    pub(crate) fn new(medium: Medium, mac: [u8; 6]) -> Self {
        let mut words = vec![0xffff; WORDS];
        for (word, pair) in words.iter_mut().zip(mac.chunks_exact(2)) {
            *word = u16::from_le_bytes([pair[0], pair[1]]);
        }
        let mut put = |at: u16, value: u16| {
            if let Some(word) = words.get_mut(usize::from(at)) {
                *word = value;
            }
        };
        put(nvm::PBA, 0x8259);
        put(nvm::PBA + 1, 0x0900);
        // Any module, no wake up, no workaround for crosstalk.
        put(nvm::DEVICE_CAPS, 0x0083);
        put(0x2d, 0x0001);
        put(0x2e, 0x8000);
        if matches!(medium, Medium::Sfp { .. }) {
            sfp_sections(&mut put);
        }
        let mut nvm = Self { words };
        nvm.seal();
        nvm
    }

    /// Words as they are.
    pub(crate) fn word(&self, at: u16) -> Option<u16> {
        self.words.get(usize::from(at)).copied()
    }

    /// Changes a word. The checksum is left as it is, so that a bad one can be made.
    pub(crate) fn set_word(&mut self, at: u16, value: u16) -> bool {
        let word = self.words.get_mut(usize::from(at));
        word.map(|w| *w = value).is_some()
    }

    /// Sum of the words before the checksum and of the sections that words 3 to 14 point to.
    pub(crate) fn sum(&self) -> u16 {
        let at = |at: u16| self.word(at).unwrap_or(0);
        let mut sum = (0..nvm::CHECKSUM).fold(0u16, |sum, n| sum.wrapping_add(at(n)));
        for pointer in nvm::POINTERS.map(at).filter(|&p| p != 0 && p != nvm::NONE) {
            let len = at(pointer);
            if len != 0 && len != nvm::NONE {
                let words = (1..=len).map(|n| at(pointer.wrapping_add(n)));
                sum = words.fold(sum, u16::wrapping_add);
            }
        }
        sum
    }

    /// Makes the checksum right.
    pub(crate) fn seal(&mut self) {
        let checksum = nvm::SUM.wrapping_sub(self.sum());
        self.set_word(nvm::CHECKSUM, checksum);
    }

    /// EEC after `value` was written: present, read, and the pins are granted at once.
    pub(crate) fn eec(&self, value: u32) -> u32 {
        let kept = value & (eec::SK_CS_DI | eec::REQ | 3 << 4);
        let granted = if value & eec::REQ != 0 { eec::GNT } else { 0 };
        kept | granted | eec::PRES | eec::ARD | SIZE << eec::SIZE_SHIFT
    }

    /// EERD after `value` was written; `None` when the word does not exist.
    pub(crate) fn eerd(&self, value: u32) -> Option<u32> {
        let address = value >> eerd::ADDR_SHIFT & eerd::ADDR_MASK;
        if value & eerd::START == 0 {
            return Some(value);
        }
        let word = self.word(address as u16)?;
        let asked = address << eerd::ADDR_SHIFT;
        Some(u32::from(word) << eerd::DATA_SHIFT | asked | eerd::DONE)
    }
}

/// Where the driver finds what it wants to know of an SFP+ board (Linux `ixgbe_82599.c`,
/// `ixgbe_phy.c`): the firmware's version, and a sequence for each kind of module.
fn sfp_sections(put: &mut impl FnMut(u16, u16)) {
    const FIRMWARE: u16 = 0x100;
    const PATCH: u16 = 0x120;
    const LIST: u16 = 0x140;
    const SEQUENCE: u16 = 0x160;
    put(nvm::FW_PTR, FIRMWARE);
    put(FIRMWARE + 4, PATCH);
    put(PATCH + 7, 6);
    put(nvm::PHY_INIT, LIST);
    put(LIST, 0);
    // Copper and optical modules, first and second port; each pair is a kind and its sequence.
    for (n, kind) in (0u16..).zip([3, 4, 5, 6]) {
        put(LIST + 1 + 2 * n, kind);
        put(LIST + 2 + 2 * n, SEQUENCE);
    }
    put(LIST + 9, nvm::NONE);
    // A word that is passed over, two values for CORECTL, the end.
    for (n, value) in (0u16..).zip([0, 0x0010, 0x0020, nvm::NONE]) {
        put(SEQUENCE + n, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_checksum_add_up() {
        for medium in [Medium::Cx4, Medium::Sfp { module: true }] {
            let mut nvm = Nvm::new(medium, [2, 0, 0, 0, 0, 1]);
            let total = |nvm: &Nvm| nvm.sum().wrapping_add(nvm.word(nvm::CHECKSUM).unwrap_or(0));
            assert_eq!(total(&nvm), nvm::SUM);
            assert!(nvm.set_word(5, 0x200));
            assert!(nvm.set_word(0x200, 2));
            assert!(nvm.set_word(0x201, 0x1234));
            assert_ne!(total(&nvm), nvm::SUM, "the section and its pointer count");
            nvm.seal();
            assert_eq!(total(&nvm), nvm::SUM);
        }
    }

    #[test]
    fn a_read_is_done_at_once_and_outside_there_is_nothing() {
        let nvm = Nvm::new(Medium::Cx4, [2, 0, 0, 0, 0, 1]);
        let done = nvm.eerd(0x2c << eerd::ADDR_SHIFT | eerd::START);
        assert_eq!(done, Some(0x83 << 16 | 0x2c << 2 | eerd::DONE));
        assert_eq!(nvm.eerd(0x2c << eerd::ADDR_SHIFT), Some(0x2c << 2));
        assert_eq!(nvm.eerd(0x3fff << eerd::ADDR_SHIFT | eerd::START), None);
        assert!(!Nvm::new(Medium::Cx4, [0; 6]).set_word(0xffff, 0));
    }
}
