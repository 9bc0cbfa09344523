//! The SFP+ cage: a module's EEPROM behind two I2C lines that software moves by hand
//! (8.2.3.1.5; SFF-8472 for the contents).
//!
//! The lines are open drain: a line is high when nobody pulls it. The module answers at 0xA0
//! (identity) and 0xA2 (diagnostics), takes a byte address, and gives bytes one after the other.

use pollproof_regs::ixgbe::i2cctl;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No transfer, or one that is not for this module.
    Idle,
    /// Bits from the host: the address, then a memory address, then data to write.
    Receive { first: bool },
    /// The module pulls the line: it has understood.
    Acknowledge { then_send: bool },
    /// Bits to the host.
    Send,
    /// The host says whether it wants another byte.
    HostAcknowledge,
}

/// A module and the state of the lines.
#[derive(Clone, Debug)]
pub struct Sfp {
    pages: [[u8; 256]; 2],
    present: bool,
    clock: bool,
    data: bool,
    /// What the module does to the data line: true leaves it alone.
    released: bool,
    phase: Phase,
    bits: u32,
    shift: u8,
    page: usize,
    pointer: u8,
    pointer_next: bool,
}

impl Sfp {
    /// A cage, with a 10GBASE-SR module in it or not.
    pub fn new(present: bool) -> Self {
        Self {
            pages: [identity(), [0; 256]],
            present,
            clock: true,
            data: true,
            released: true,
            phase: Phase::Idle,
            bits: 0,
            shift: 0,
            page: 0,
            pointer: 0,
            pointer_next: false,
        }
    }

    /// Whether a module is there.
    pub fn is_present(&self) -> bool {
        self.present
    }

    /// Plugs a module in or takes it out.
    pub fn set_present(&mut self, present: bool) {
        self.present = present;
        self.phase = Phase::Idle;
        self.released = true;
    }

    /// Changes a byte of the identity page.
    pub fn set_byte(&mut self, at: u8, value: u8) {
        self.pages[0][usize::from(at)] = value;
    }

    /// I2CCTL as it reads.
    pub fn i2cctl(&self) -> u32 {
        let bit = |level: bool, bit: u32| if level { bit } else { 0 };
        bit(self.clock, i2cctl::CLK_IN | i2cctl::CLK_OUT)
            | bit(self.data, i2cctl::DATA_OUT)
            | bit(self.data && (self.released || !self.present), i2cctl::DATA_IN)
    }

    /// Software moves the lines.
    pub fn write(&mut self, value: u32) {
        let (clock, data) = (value & i2cctl::CLK_OUT != 0, value & i2cctl::DATA_OUT != 0);
        let (old_clock, old_data) = (self.clock, self.data);
        self.clock = clock;
        self.data = data;
        if !self.present {
            return;
        }
        if old_clock && clock && old_data && !data {
            self.start();
        } else if old_clock && clock && !old_data && data {
            self.phase = Phase::Idle;
            self.released = true;
        } else if !old_clock && clock {
            self.rising(data);
        } else if old_clock && !clock {
            self.falling();
        }
    }

    fn start(&mut self) {
        self.phase = Phase::Receive { first: true };
        self.bits = 0;
        self.released = true;
    }

    /// The clock rises: whoever listens takes the bit.
    fn rising(&mut self, data: bool) {
        match self.phase {
            Phase::Receive { .. } => {
                self.shift = self.shift << 1 | u8::from(data);
                self.bits += 1;
            }
            Phase::HostAcknowledge if data => self.phase = Phase::Idle,
            _ => {}
        }
    }

    /// The clock falls: whoever talks sets the next bit.
    fn falling(&mut self) {
        match self.phase {
            Phase::Receive { first } if self.bits == 8 => self.byte(first),
            Phase::Acknowledge { then_send: true } | Phase::HostAcknowledge => {
                self.phase = Phase::Send;
                self.shift = self.pages[self.page][usize::from(self.pointer)];
                self.pointer = self.pointer.wrapping_add(1);
                self.bits = 0;
                self.send_bit();
            }
            Phase::Acknowledge { then_send: false } => {
                self.phase = Phase::Receive { first: false };
                self.bits = 0;
                self.released = true;
            }
            Phase::Send if self.bits < 8 => self.send_bit(),
            Phase::Send => {
                self.phase = Phase::HostAcknowledge;
                self.released = true;
            }
            _ => self.released = true,
        }
    }

    fn send_bit(&mut self) {
        self.released = self.shift & 0x80 != 0;
        self.shift <<= 1;
        self.bits += 1;
    }

    /// A whole byte came.
    fn byte(&mut self, first: bool) {
        let byte = self.shift;
        if first {
            self.page = match byte & 0xfe {
                0xa0 => 0,
                0xa2 => 1,
                _ => {
                    self.phase = Phase::Idle;
                    return;
                }
            };
            self.pointer_next = byte & 1 == 0;
            self.phase = Phase::Acknowledge { then_send: byte & 1 != 0 };
        } else if self.pointer_next {
            self.pointer = byte;
            self.pointer_next = false;
            self.phase = Phase::Acknowledge { then_send: false };
        } else {
            self.pages[self.page][usize::from(self.pointer)] = byte;
            self.pointer = self.pointer.wrapping_add(1);
            self.phase = Phase::Acknowledge { then_send: false };
        }
        self.released = false;
    }
}

/// Identity page of a short range optical module (SFF-8472, table 4-1).
fn identity() -> [u8; 256] {
    let mut page = [0; 256];
    page[0] = 0x03; // SFP
    page[1] = 0x04;
    page[2] = 0x07; // LC
    page[3] = 0x10; // 10GBASE-SR
    page[12] = 103; // 10.3 GBd
    page[20..36].copy_from_slice(b"POLLPROOF       ");
    page[37..40].copy_from_slice(&[0x00, 0x1b, 0x21]);
    page[40..56].copy_from_slice(b"MODEL-SR        ");
    let sum = |bytes: &[u8]| bytes.iter().fold(0u8, |sum, &b| sum.wrapping_add(b));
    page[63] = sum(&page[..63]);
    page[95] = sum(&page[64..95]);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host's side, line by line.
    struct Host(Sfp);

    impl Host {
        fn lines(&mut self, clock: bool, data: bool) {
            let clock = if clock { i2cctl::CLK_OUT } else { 0 };
            self.0.write(clock | if data { i2cctl::DATA_OUT } else { 0 });
        }

        fn start(&mut self) {
            self.lines(true, true);
            self.lines(true, false);
            self.lines(false, false);
        }

        fn stop(&mut self) {
            self.lines(false, false);
            self.lines(true, false);
            self.lines(true, true);
        }

        fn bit(&mut self, data: bool) -> bool {
            self.lines(false, data);
            self.lines(true, data);
            let level = self.0.i2cctl() & i2cctl::DATA_IN != 0;
            self.lines(false, data);
            level
        }

        /// Sends a byte; true when it was acknowledged.
        fn send(&mut self, byte: u8) -> bool {
            (0..8).rev().for_each(|n| {
                self.bit(byte >> n & 1 != 0);
            });
            !self.bit(true)
        }

        fn receive(&mut self, last: bool) -> u8 {
            let byte = (0..8).fold(0, |byte, _| byte << 1 | u8::from(self.bit(true)));
            self.bit(last);
            byte
        }

        fn read(&mut self, device: u8, at: u8) -> Option<u8> {
            self.start();
            let heard = self.send(device) && self.send(at);
            self.start();
            let heard = heard && self.send(device | 1);
            let byte = self.receive(true);
            self.stop();
            heard.then_some(byte)
        }
    }

    #[test]
    fn bytes_of_the_module_come_over_the_lines() {
        let mut host = Host(Sfp::new(true));
        assert_eq!(host.read(0xa0, 0), Some(3));
        assert_eq!(host.read(0xa0, 3), Some(0x10));
        assert_eq!(host.read(0xa0, 39), Some(0x21));
        assert_eq!(host.read(0xa2, 0), Some(0));
        assert_eq!(host.read(0xb0, 0), None, "nobody answers");
        assert_eq!(host.read(0xa0, 63), Some(identity()[63]));
        host.0.set_byte(3, 0x20);
        assert_eq!(host.read(0xa0, 3), Some(0x20));
    }

    #[test]
    fn several_bytes_follow_each_other_and_a_write_is_kept() {
        let mut host = Host(Sfp::new(true));
        host.start();
        assert!(host.send(0xa0) && host.send(37));
        host.start();
        assert!(host.send(0xa1));
        assert_eq!([host.receive(false), host.receive(false), host.receive(true)], [0, 0x1b, 0x21]);
        host.stop();
        host.start();
        assert!(host.send(0xa2) && host.send(110) && host.send(0x5a));
        host.stop();
        assert_eq!(host.read(0xa2, 110), Some(0x5a));
    }

    #[test]
    fn an_empty_cage_says_nothing() {
        let mut host = Host(Sfp::new(false));
        assert_eq!(host.read(0xa0, 0), None);
        host.0.set_present(true);
        assert_eq!(host.read(0xa0, 0), Some(3));
        host.0.set_present(false);
        assert_eq!(host.read(0xa0, 0), None);
    }
}
