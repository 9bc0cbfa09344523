//! The MSI-X table and its pending bits as memory of a BAR (PCI 3.0, 6.8.2; 82599 datasheet 9.3.8).
//!
//! Mask and pending are [`MsixTable`]; here are address and data of each message, the function mask
//! and the enable bit of the capability. Offsets count from the beginning of the table.

use crate::MsixTable;

const ENTRY_BYTES: u32 = 16;
const CONTROL: usize = 3;

/// Table and pending bits of the function.
#[derive(Clone, Debug)]
pub struct MsixBar {
    entries: Vec<[u32; 4]>,
    table: MsixTable,
    /// Where the pending bits begin.
    pba: u32,
    enabled: bool,
    function_mask: bool,
}

impl MsixBar {
    /// A table of so many vectors, masked or not, whose pending bits begin at `pba`. MSI-X is on.
    pub fn new(vectors: u32, pba: u32, masked: bool) -> Self {
        let mut table = MsixTable::new(vectors);
        let vectors = table.vectors();
        if masked {
            (0..vectors).for_each(|vector| table.mask(vector));
        }
        let entries = vec![[0, 0, 0, u32::from(masked)]; vectors as usize];
        Self { entries, table, pba, enabled: true, function_mask: false }
    }

    /// Message of a vector: address and data.
    pub fn message(&self, vector: u32) -> Option<(u64, u32)> {
        let entry = self.entries.get(vector as usize)?;
        Some((u64::from(entry[1]) << 32 | u64::from(entry[0]), entry[2]))
    }

    /// Sends a message; true when it goes out now.
    pub fn send(&mut self, vector: u32) -> bool {
        self.enabled && self.table.send(vector)
    }

    /// Masks and pending bits.
    pub fn table(&self) -> &MsixTable {
        &self.table
    }

    /// Message control of the capability; gives the vectors whose pending message goes out now.
    pub fn control(&mut self, enabled: bool, function_mask: bool) -> Vec<u32> {
        self.enabled = enabled;
        self.function_mask = function_mask;
        (0..self.table.vectors()).filter(|&vector| self.apply(vector)).collect()
    }

    /// Brings the mask of a vector in line; true when a pending message goes out.
    fn apply(&mut self, vector: u32) -> bool {
        let masked = self.entries.get(vector as usize).is_some_and(|e| e[CONTROL] & 1 != 0);
        if masked || self.function_mask {
            self.table.mask(vector);
            return false;
        }
        self.table.unmask(vector) && self.enabled
    }

    /// Reads a dword.
    pub fn read(&self, offset: u32) -> u32 {
        if offset >= self.pba {
            let first = (offset - self.pba) / 4 * 32;
            let bits = (first..first.saturating_add(32)).filter(|&v| self.table.pending(v));
            return bits.fold(0, |word, vector| word | 1 << (vector % 32));
        }
        let entry = self.entries.get((offset / ENTRY_BYTES) as usize);
        entry.map_or(0, |e| e[(offset / 4 % 4) as usize])
    }

    /// Writes a dword; gives a vector whose pending message goes out now.
    pub fn write(&mut self, offset: u32, value: u32) -> Option<u32> {
        let vector = offset / ENTRY_BYTES;
        let word = (offset / 4 % 4) as usize;
        let entry = self.entries.get_mut(vector as usize)?;
        if word != CONTROL {
            entry[word] = if word == 0 { value & !3 } else { value };
            return None;
        }
        entry[CONTROL] = value & 1;
        self.apply(vector).then_some(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PBA: u32 = 0x2000;

    #[test]
    fn a_masked_vector_shows_in_the_pending_bits_and_goes_out_when_unmasked() {
        let mut msix = MsixBar::new(64, PBA, true);
        assert_eq!(msix.write(33 * 16, 0xfee0_0003), None);
        assert_eq!(msix.write(33 * 16 + 8, 0x4041), None);
        assert_eq!(msix.message(33), Some((0xfee0_0000, 0x4041)));
        assert!(!msix.send(33));
        assert_eq!(msix.read(PBA + 4), 2);
        assert_eq!(msix.write(33 * 16 + 12, 0), Some(33));
        assert_eq!(msix.read(PBA + 4), 0);
        assert!(msix.send(33));
        assert_eq!(msix.read(33 * 16 + 12), 0);
        assert_eq!(msix.read(0x1ffc), 0);
        assert_eq!(msix.write(0x3ffc, 0), None);
    }

    #[test]
    fn the_function_mask_holds_all_vectors() {
        let mut msix = MsixBar::new(64, PBA, false);
        assert!(msix.control(true, true).is_empty());
        assert!(!msix.send(5));
        assert_eq!(msix.control(true, false), [5]);
        assert!(msix.control(false, false).is_empty());
        assert!(!msix.send(5));
        assert_eq!(msix.read(PBA), 0, "a function without MSI-X keeps nothing");
    }
}
