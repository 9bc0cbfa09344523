//! A PCI function: configuration space, BARs, capabilities, and what may pass because of them.
//!
//! Sources: PCI Local Bus Specification 3.0 (6.1 header, 6.2.5 BARs, 6.8.2 MSI-X), PCI Bus Power
//! Management 1.2 (3.2), PCI Express Base Specification 2.0 (7.8); 82599 datasheet 9.3 for where
//! the capabilities lie. Not modelled: MSI and INTx, the I/O BAR, the expansion ROM, AER, serial
//! number, virtualisation and other extended capabilities, which read as absent.

use crate::nic::{Bar, Identity};

/// Bytes of configuration space.
pub const CONFIG_BYTES: usize = 4096;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const BARS: usize = 0x10;
const SUBSYSTEM: usize = 0x2c;
const CAPABILITIES: usize = 0x34;
const MEMORY: u16 = 1 << 1;
const MASTER: u16 = 1 << 2;
const HAS_CAPABILITIES: u16 = 1 << 4;

const PM_CONTROL: usize = 4;
const MSIX_CONTROL: usize = 2;
const MSIX_ENABLE: u16 = 1 << 15;
const MSIX_MASK: u16 = 1 << 14;
const EXP_CONTROL: usize = 8;
const EXP_STATUS: usize = 10;
const EXP_LINK_STATUS: usize = 18;
const FLR: u16 = 1 << 15;
const PENDING: u16 = 1 << 5;
/// Function level reset is there; extended tags are.
const EXP_CAPS: u32 = 1 << 28 | 1 << 15 | 1 << 5;

/// What a write of configuration space sets off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Message control of MSI-X was written.
    Msix {
        /// MSI-X is on.
        enabled: bool,
        /// All vectors are masked.
        function_mask: bool,
    },
    /// The function is reset: by itself, or on its way from D3 to D0.
    Reset,
}

/// One function on the bus.
#[derive(Debug)]
pub struct Function {
    bytes: Vec<u8>,
    /// Bits that software may change.
    writable: Vec<u8>,
    /// Bits that a written 1 clears.
    clears: Vec<u8>,
    identity: Identity,
    removed: bool,
}

impl Function {
    /// A function as after power on.
    pub fn new(identity: Identity) -> Self {
        let zeroed = || vec![0; CONFIG_BYTES];
        let mut function = Self {
            bytes: zeroed(),
            writable: zeroed(),
            clears: zeroed(),
            identity,
            removed: false,
        };
        function.power_on();
        function
    }

    fn power_on(&mut self) {
        let id = self.identity;
        self.bytes.fill(0);
        self.writable.fill(0);
        self.put16(0x00, id.vendor);
        self.put16(0x02, id.device);
        self.put16(STATUS, HAS_CAPABILITIES);
        self.allow16(COMMAND, MEMORY | MASTER | 1 << 6 | 1 << 8 | 1 << 10);
        self.put32(0x08, id.class << 8 | u32::from(id.revision));
        self.allow16(0x0c, 0x00ff);
        self.put16(SUBSYSTEM, id.vendor);
        self.put16(SUBSYSTEM + 2, id.subsystem);
        self.allow16(0x3c, 0x00ff);
        for bar in id.bars {
            self.add_bar(bar);
        }
        self.add_capabilities();
    }

    /// Memory, 64 bits, not prefetchable.
    fn add_bar(&mut self, bar: &Bar) {
        let at = BARS + 4 * usize::from(bar.index);
        self.put32(at, 0b100);
        let size = u64::from(bar.bytes.next_power_of_two());
        let mask = !(size - 1);
        for (n, byte) in mask.to_le_bytes().into_iter().enumerate() {
            if let Some(slot) = self.writable.get_mut(at + n) {
                *slot = byte;
            }
        }
    }

    fn add_capabilities(&mut self) {
        let id = self.identity;
        let [pm, msix, exp] = [id.cap_pm, id.cap_msix, id.cap_exp].map(usize::from);
        self.put16(CAPABILITIES, id.cap_pm);
        // D1 and D2 are missing, PME from D0 and D3; No_Soft_Reset is 0.
        self.put32(pm, 0x4803_0001 | u32::from(id.cap_msix) << 8);
        self.allow16(pm + PM_CONTROL, 0x0103);
        self.clear16(pm + PM_CONTROL, 0x8000);
        self.put32(msix, 0x11 | u32::from(id.cap_exp) << 8);
        self.put16(msix + MSIX_CONTROL, (id.vectors.clamp(1, 2048) - 1) as u16);
        self.allow16(msix + MSIX_CONTROL, MSIX_ENABLE | MSIX_MASK);
        self.put32(msix + 4, id.msix_table | u32::from(id.msix_bar));
        self.put32(msix + 8, id.msix_pba | u32::from(id.msix_bar));
        // Version 2, an endpoint.
        self.put32(exp, 0x0002_0010);
        self.put32(exp + 4, EXP_CAPS | 2);
        self.put16(exp + EXP_CONTROL, 0x2810);
        self.allow16(exp + EXP_CONTROL, 0x7fff);
        self.clear16(exp + EXP_STATUS, 0x000f);
        // 5 GT/s, eight lanes.
        self.put32(exp + 12, 0x0000_0082);
        self.allow16(exp + 16, 0x00c3);
        self.put16(exp + EXP_LINK_STATUS, 0x0082);
        self.allow16(exp + 40, 0x001f);
        self.put32(exp + 44, 0x0000_0004);
        self.put16(exp + 48, 0x0002);
    }

    fn put16(&mut self, at: usize, value: u16) {
        put(&mut self.bytes, at, &value.to_le_bytes());
    }
    fn put32(&mut self, at: usize, value: u32) {
        put(&mut self.bytes, at, &value.to_le_bytes());
    }
    fn allow16(&mut self, at: usize, bits: u16) {
        put(&mut self.writable, at, &bits.to_le_bytes());
    }
    fn clear16(&mut self, at: usize, bits: u16) {
        put(&mut self.clears, at, &bits.to_le_bytes());
    }
    fn get16(&self, at: usize) -> u16 {
        let field = self.bytes.get(at..).and_then(|b| b.first_chunk::<2>());
        field.map_or(0, |field| u16::from_le_bytes(*field))
    }

    /// Takes the function off the bus: everything reads as ones from here on.
    pub fn remove(&mut self) {
        self.removed = true;
    }

    /// Whether it was taken off.
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// Whether accesses to BARs reach the device.
    pub fn decodes(&self) -> bool {
        !self.removed && self.get16(COMMAND) & MEMORY != 0 && self.power_state() == 0
    }

    /// Whether the device may write and read memory, and send messages.
    pub fn may_master(&self) -> bool {
        self.decodes() && self.get16(COMMAND) & MASTER != 0
    }

    fn power_state(&self) -> u16 {
        self.get16(usize::from(self.identity.cap_pm) + PM_CONTROL) & 3
    }

    /// Whether MSI-X is on.
    pub fn msix_enabled(&self) -> bool {
        self.get16(usize::from(self.identity.cap_msix) + MSIX_CONTROL) & MSIX_ENABLE != 0
    }

    /// Tells whether requests of the device are open (PCI Express device status, bit 5).
    pub fn set_pending(&mut self, pending: bool) {
        let at = usize::from(self.identity.cap_exp) + EXP_STATUS;
        let rest = self.get16(at) & !PENDING;
        self.put16(at, if pending { rest | PENDING } else { rest });
    }

    /// Reads up to 8 bytes; what is outside reads as ones, as does a function that was removed.
    pub fn read(&self, offset: u64, size: u32) -> u64 {
        let byte = |n: u64| {
            let at = usize::try_from(offset.saturating_add(n)).unwrap_or(usize::MAX);
            self.bytes.get(at).copied().filter(|_| !self.removed).unwrap_or(0xff)
        };
        (0..u64::from(size.min(8))).fold(0, |value, n| value | u64::from(byte(n)) << (8 * n))
    }

    /// Writes bytes, as far as they may be written.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Vec<Effect> {
        if self.removed {
            return Vec::new();
        }
        let before = self.controls();
        let mut resets = false;
        for (n, &value) in data.iter().enumerate() {
            let at = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(n);
            let (Some(byte), Some(&writable), Some(&clears)) =
                (self.bytes.get_mut(at), self.writable.get(at), self.clears.get(at))
            else {
                continue;
            };
            *byte = (*byte & !writable | value & writable) & !(value & clears);
            let flr = usize::from(self.identity.cap_exp) + EXP_CONTROL + 1;
            resets |= at == flr && value & (FLR >> 8) as u8 != 0;
        }
        self.effects(before, resets)
    }

    /// Message control and power state.
    fn controls(&self) -> (u16, u16) {
        let msix = usize::from(self.identity.cap_msix) + MSIX_CONTROL;
        (self.get16(msix) & (MSIX_ENABLE | MSIX_MASK), self.power_state())
    }

    fn effects(&mut self, before: (u16, u16), resets: bool) -> Vec<Effect> {
        let (control, power) = self.controls();
        let mut effects = Vec::new();
        if resets || (before.1 == 3 && power == 0) {
            self.power_on();
            effects.push(Effect::Reset);
        } else if control != before.0 {
            let (enabled, function_mask) = (control & MSIX_ENABLE != 0, control & MSIX_MASK != 0);
            effects.push(Effect::Msix { enabled, function_mask });
        }
        effects
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(slot) = bytes.get_mut(at..at + value.len()) {
        slot.copy_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::Nic;
    use pollproof_intel_82599::{Intel82599, Medium, Params};

    fn function() -> Function {
        let medium = Medium::Sfp { module: true };
        Function::new(Intel82599::new(Params { medium, ..Params::default() }).identity())
    }

    #[test]
    fn a_bar_tells_its_size_and_keeps_its_address() {
        let mut function = function();
        assert_eq!(function.read(0, 4), 0x10fb_8086);
        function.write(0x10, &[0xff; 8]);
        assert_eq!(function.read(0x10, 8), !0x1_ffff | 4);
        function.write(0x10, &0xf002_0000_u64.to_le_bytes());
        assert_eq!(function.read(0x10, 8), 0xf002_0004);
        function.write(0x20, &[0xff; 8]);
        assert_eq!(function.read(0x20, 8), !0x3fff | 4);
        function.write(0x18, &[0xff; 4]);
        assert_eq!(function.read(0x18, 4), 0, "there is no BAR 2");
    }

    #[test]
    fn capabilities_are_found_along_their_chain() {
        let function = function();
        let mut at = function.read(0x34, 1);
        let mut found = Vec::new();
        while at != 0 {
            found.push((at, function.read(at, 1)));
            at = function.read(at + 1, 1);
        }
        assert_eq!(found, [(0x40, 1), (0x70, 0x11), (0xa0, 0x10)]);
        assert_eq!(function.read(0x72, 2), 63);
        assert_eq!((function.read(0x74, 4), function.read(0x78, 4)), (4, 0x2004));
    }

    #[test]
    fn msix_and_mastering_follow_their_bits() {
        let mut function = function();
        assert!(!function.decodes());
        function.write(4, &[2, 0]);
        assert!(function.decodes() && !function.may_master());
        function.write(4, &[6, 0]);
        assert!(function.may_master());
        let on = function.write(0x72, &0xc000_u16.to_le_bytes());
        assert_eq!(on, [Effect::Msix { enabled: true, function_mask: true }]);
        assert!(function.msix_enabled());
        assert_eq!(function.read(0x72, 2), 0xc03f);
        assert_eq!(function.write(0x72, &0xc000_u16.to_le_bytes()), []);
    }

    #[test]
    fn resets_and_power_states_begin_anew() {
        let mut function = function();
        function.write(4, &[6, 0]);
        function.write(0x44, &[3, 0]);
        assert!(!function.decodes(), "in D3");
        assert_eq!(function.write(0x44, &[0, 0]), [Effect::Reset]);
        assert_eq!(function.read(4, 2), 0);
        assert_eq!(function.write(0xa8, &0x8000_u16.to_le_bytes()), [Effect::Reset]);
    }

    #[test]
    fn a_function_that_is_gone_reads_as_ones() {
        let mut function = function();
        function.remove();
        assert_eq!(function.read(0, 4), 0xffff_ffff);
        assert_eq!(function.write(4, &[6, 0]), []);
        assert!(!function.decodes());
        assert_eq!(Function::new(function.identity).read(4095, 8), u64::MAX << 8);
    }
}
