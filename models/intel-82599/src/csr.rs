//! The register file: storage, aliases, access modes, and what was touched that is not modelled
//! (8.2, 8.2.3).
//!
//! A register that is not in the map keeps what is written and is reported. One that is in the map
//! but has no function here is reported when something else than its reset value is written.

use pollproof_regs::ixgbe::{self, ALIASES, CSR_BYTES};
use pollproof_regs::ixgbe_map::{self as map, Access, Register};
use pollproof_regs::ixgbe_stat as stat;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How often a register without a model was touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    /// Reads.
    pub reads: u64,
    /// Writes, or settings that ask for a function that is not modelled.
    pub writes: u64,
    /// Name, when it is in the map.
    pub name: Option<&'static str>,
}

const DWORDS: usize = (CSR_BYTES / 4) as usize;
const NO_ROW: u16 = u16::MAX;

/// In the map, without function: first and last offset.
const INERT: &[(u32, u32)] = &[
    (map::EXVET, map::EXVET),
    (map::L34T_IMIR, map::L34T_IMIR + 0x1fc),
    (map::LLITHRESH, map::LLITHRESH),
    (map::IMIRVP, map::IMIRVP),
    (map::PIENA, map::PIENA),
    (map::ETQF, map::ETQF + 0x1c),
    (map::ETQS, map::ETQS + 0x1c),
    (map::SAQF, map::FTQF + 0x1fc),
    (map::SYNQF, map::SYNQF),
    (map::MTQC, map::MTQC),
    (map::RTRUP2TC, map::RTRUP2TC),
    (map::RTTUP2TC, map::RTTUP2TC),
    (map::RTRPT4C, map::RTRPT4C + 0x1c),
    (map::RTTDT1C, map::RTTDT1C),
    (map::RTTBCNRC, map::RTTBCNRC),
    (map::RTTDT2C, map::RTTDT2C + 0x1c),
    (map::RTTPT2C, map::RTTPT2C + 0x1c),
    (map::IPSTXIDX, map::IPSTXKEY + 0x10),
    (map::IPSRXIDX, map::IPSRXIDX + 0x1c),
    (map::TSYNCRXCTL, map::TSYNCRXCTL),
    (map::TSYNCTXCTL, map::TSAUXC),
    (map::FCRXCTRL, map::FCRXCTRL),
    (map::FCRECTL, map::FCRECTL),
    (map::FDIRINPUT, map::FDIRCMD),
    (map::WUC, map::WUFC),
    (map::PFVTCTL, map::PFVTCTL),
    (map::PFQDE, map::PFQDE),
    (map::PFDTXGSWC, map::PFDTXGSWC),
    (map::PFVMVIR, map::PFVMVIR + 0xfc),
    (map::PFVFSPOOF, map::PFVFSPOOF + 0x1c),
    (map::PFVLVF, map::PFVLVFB + 0x1fc),
    (map::PFMRCTL, map::PFMRCTL + 0xc),
];

/// Values of all registers.
#[derive(Clone, Debug)]
pub(crate) struct Csr {
    words: Box<[u32; DWORDS]>,
    map: &'static Lookup,
    touched: BTreeMap<u32, Touch>,
}

/// All registers at 0, made on the heap: the size is known, so that a known offset needs no check.
fn zeroed() -> Box<[u32; DWORDS]> {
    match vec![0; DWORDS].into_boxed_slice().try_into() {
        Ok(words) => words,
        Err(_) => unreachable!("the vector was made with that length"),
    }
}

/// The map by dword: the same for all devices.
#[derive(Debug)]
struct Lookup {
    /// Row of the map.
    rows: Vec<u16>,
    /// Register that an alias leads to.
    canonical: Vec<u16>,
    /// Registers that are not 0 after reset.
    resets: Vec<(u32, u32)>,
}

static LOOKUP: LazyLock<Lookup> = LazyLock::new(Lookup::new);

impl Lookup {
    fn new() -> Self {
        let mut by_dword = vec![NO_ROW; DWORDS];
        let mut resets = Vec::new();
        for (number, row) in (0u16..).zip(rows()) {
            for n in 0..row.count {
                let at = row.offset + n * row.stride;
                if let Some(entry) = by_dword.get_mut((at / 4) as usize) {
                    *entry = number;
                }
                // One packet buffer threshold of eight has a value (8.2.3.9.16).
                if row.reset != 0 && !(row.offset == map::TXPBTHRESH && n > 0) {
                    resets.push((at, row.reset));
                }
            }
        }
        let mut canonical: Vec<u16> = (0..DWORDS as u32).map(|dword| dword as u16).collect();
        for &(from, count, stride, to, to_stride) in ALIASES {
            for n in 0..count {
                if let Some(entry) = canonical.get_mut(((from + n * stride) / 4) as usize) {
                    *entry = ((to + n * to_stride) / 4) as u16;
                }
            }
        }
        Self { rows: by_dword, canonical, resets }
    }
}

fn rows() -> impl Iterator<Item = &'static Register> {
    map::MAP.iter().chain(stat::MAP)
}

impl Csr {
    pub(crate) fn new() -> Self {
        let mut csr = Self { words: zeroed(), map: &LOOKUP, touched: BTreeMap::new() };
        csr.reset();
        csr
    }

    /// All registers as after reset. What was touched stays known.
    pub(crate) fn reset(&mut self) {
        self.words.fill(0);
        for &(at, value) in &self.map.resets {
            self.set(at, value);
        }
    }

    /// The offset that an aligned offset stands for.
    pub(crate) fn canonical(&self, offset: u32) -> u32 {
        let dword = self.map.canonical.get((offset / 4) as usize).copied();
        dword.map_or(offset, |dword| u32::from(dword) * 4)
    }

    /// Row of the map.
    pub(crate) fn row(&self, offset: u32) -> Option<&'static Register> {
        let row = *self.map.rows.get((offset / 4) as usize)?;
        let own = map::MAP.len();
        let row = usize::from(row);
        if row < own {
            map::MAP.get(row)
        } else {
            stat::MAP.get(row - own)
        }
    }

    /// Value as stored.
    #[inline]
    pub(crate) fn get(&self, offset: u32) -> u32 {
        self.words.get((offset / 4) as usize).copied().unwrap_or(0)
    }

    /// Stores a value.
    #[inline]
    pub(crate) fn set(&mut self, offset: u32, value: u32) {
        if let Some(word) = self.words.get_mut((offset / 4) as usize) {
            *word = value;
        }
    }

    /// Adds to a counter, which stays at all ones when it is full.
    #[inline]
    pub(crate) fn count(&mut self, offset: u32, n: u32) {
        self.set(offset, self.get(offset).saturating_add(n));
    }

    /// Adds to a counter pair of 36 bits, the upper half behind the lower.
    #[inline]
    pub(crate) fn count_pair(&mut self, low: u32, n: u32) {
        const FULL: u64 = (1 << 36) - 1;
        let value = u64::from(self.get(low + 4)) << 32 | u64::from(self.get(low));
        let value = (value + u64::from(n)).min(FULL);
        self.set(low, value as u32);
        self.set(low + 4, (value >> 32) as u32);
    }

    /// A read by software, as the access mode has it.
    pub(crate) fn read(&mut self, offset: u32) -> u32 {
        let value = self.get(offset);
        match self.row(offset).map(|row| row.access) {
            None => {
                self.touch(offset).reads += 1;
                value
            }
            Some(Access::Wo) => 0,
            Some(Access::Rc) => {
                self.set(offset, 0);
                value
            }
            Some(Access::RcHigh) => {
                self.set(offset, 0);
                self.set(offset - 4, 0);
                value
            }
            Some(_) => value,
        }
    }

    /// A write by software, as the access mode has it; false when it has no effect.
    pub(crate) fn write(&mut self, offset: u32, value: u32) -> bool {
        let row = self.row(offset);
        match row.map(|row| row.access) {
            None => self.touch(offset).writes += 1,
            Some(Access::Ro | Access::Rc | Access::RcLow | Access::RcHigh) => return false,
            Some(Access::W1c | Access::RcW1c) => {
                self.set(offset, self.get(offset) & !value);
                return true;
            }
            Some(Access::W1s) => {
                self.set(offset, self.get(offset) | value);
                return true;
            }
            Some(Access::Wo) => return true,
            Some(Access::Rw) => {
                let inert = INERT.iter().any(|range| (range.0..=range.1).contains(&offset));
                if inert && row.is_some_and(|row| row.reset != value) {
                    self.not_modelled(offset);
                }
            }
        }
        self.set(offset, value);
        true
    }

    /// Software asked a register for what is not modelled.
    pub(crate) fn not_modelled(&mut self, offset: u32) {
        let name = self.row(offset).map(|row| row.name);
        let touch = self.touch(offset);
        touch.writes += 1;
        touch.name = name;
    }

    fn touch(&mut self, offset: u32) -> &mut Touch {
        self.touched.entry(offset).or_default()
    }

    pub(crate) fn touched(&self) -> &BTreeMap<u32, Touch> {
        &self.touched
    }
}

/// A register of receive queue `n`, from its offset in queue 0 (8.2.3.8).
#[inline]
pub(crate) fn rx_offset(register: u32, n: u32) -> u32 {
    if n < 64 {
        register + 64 * n
    } else {
        register - map::RDBAL + map::RDBAL_HI + 64 * (n - 64)
    }
}

/// Queue and its register, as an offset in queue 0, that a receive offset is about.
pub(crate) fn rx_queue(offset: u32) -> Option<(u32, u32)> {
    let (first, n) = match offset {
        0x1000..=0x1fff => (0, (offset - map::RDBAL) / 64),
        0xd000..=0xdfff => (64, (offset - map::RDBAL_HI) / 64),
        _ => return None,
    };
    let register = map::RDBAL + offset % 64;
    let known = !(0x30..0x3c).contains(&(offset % 64));
    known.then_some((first + n, register))
}

/// Queue and its register, as an offset in queue 0, that a transmit offset is about.
pub(crate) fn tx_queue(offset: u32) -> Option<(u32, u32)> {
    let known = (0x6000..0x8000).contains(&offset) && !(0x30..0x38).contains(&(offset % 64));
    known.then(|| ((offset - map::TDBAL) / 64, map::TDBAL + offset % 64))
}

/// Index in an array of dwords.
pub(crate) fn index(offset: u32, base: u32, count: u32) -> Option<u32> {
    let n = offset.checked_sub(base)? / 4;
    (n < count).then_some(n)
}

const _: () = assert!(ixgbe::CSR_BYTES / 4 <= 1 << 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_lead_to_the_register_itself() {
        let csr = Csr::new();
        assert_eq!(csr.canonical(0x00004), map::CTRL);
        assert_eq!(csr.canonical(0x05408), map::RAL + 8);
        assert_eq!(csr.canonical(0x0213c), rx_offset(map::SRRCTL, 15));
        assert_eq!(csr.canonical(0x05c7c), map::RETA + 0x7c);
        assert_eq!(csr.canonical(map::RETA), map::RETA);
    }

    #[test]
    fn queue_registers_are_found_below_and_above_64() {
        for n in [0, 1, 63, 64, 127] {
            assert_eq!(rx_queue(rx_offset(map::RDT, n)), Some((n, map::RDT)));
            assert_eq!(tx_queue(map::TDT + 64 * n), Some((n, map::TDT)));
        }
        assert_eq!(rx_queue(stat::QPRC), None);
        assert_eq!(tx_queue(stat::QPTC), None);
        assert_eq!(rx_queue(0x2100), None);
    }

    #[test]
    fn counters_clear_when_read_and_pairs_with_their_upper_half() {
        let mut csr = Csr::new();
        csr.count(stat::GPRC, 3);
        assert_eq!((csr.read(stat::GPRC), csr.read(stat::GPRC)), (3, 0));
        csr.count_pair(stat::GORCL, u32::MAX);
        csr.count_pair(stat::GORCL, 2);
        assert_eq!((csr.read(stat::GORCL), csr.read(stat::GORCL)), (1, 1));
        assert_eq!((csr.read(stat::GORCH), csr.read(stat::GORCL)), (1, 0));
        csr.set(stat::GPRC, u32::MAX - 1);
        csr.count(stat::GPRC, 5);
        assert_eq!(csr.get(stat::GPRC), u32::MAX);
        assert!(!csr.write(stat::GPRC, 0));
    }

    #[test]
    fn what_is_not_modelled_is_kept_and_reported() {
        let mut csr = Csr::new();
        csr.write(0x1fff0, 0x55);
        assert_eq!(csr.read(0x1fff0), 0x55);
        assert_eq!(csr.touched()[&0x1fff0], Touch { reads: 1, writes: 1, name: None });
        csr.write(map::MTQC, 0);
        assert_eq!(csr.touched().len(), 1, "the reset value asks for nothing");
        csr.write(map::MTQC, 1);
        assert_eq!(csr.touched()[&map::MTQC].name, Some("MTQC"));
    }
}
