//! QEMU's e1000e in MAC loopback: one transmit and one receive ring, filled once.
//!
//! Names of registers are those of the 82574 datasheet, chapter 10.

use super::wire::{Qtest, QtestError};
use std::path::Path;

/// Where the BIOS of a guest might have put BAR 0.
const BAR: u64 = 0xe000_0000;
/// Slot on the root bus.
const SLOT: u32 = 4;
const CONFIG_ADDRESS: u16 = 0xcf8;
const CONFIG_DATA: u16 = 0xcfc;
/// Vendor and device of an 82574L.
const ID: u32 = 0x10d3_8086;

/// Registers.
mod reg {
    pub const CTRL: u64 = 0x0000;
    pub const STATUS: u64 = 0x0008;
    pub const IMC: u64 = 0x00d8;
    pub const RCTL: u64 = 0x0100;
    pub const TCTL: u64 = 0x0400;
    pub const RDBAL: u64 = 0x2800;
    pub const RDT: u64 = 0x2818;
    pub const TDBAL: u64 = 0x3800;
    pub const TDT: u64 = 0x3818;
    /// Good packets received; cleared when read.
    pub const GPRC: u64 = 0x4074;
}

/// CTRL: full duplex, set link up, reset.
const CTRL_UP: u32 = 1 | 1 << 6;
const CTRL_RST: u32 = 1 << 26;
/// STATUS: link up.
const STATUS_LU: u32 = 1 << 1;
/// RCTL: enabled, any address, MAC loopback, FCS stripped.
const RCTL: u32 = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 15 | 1 << 26;
/// TCTL: enabled, short packets padded, collision threshold and distance as recommended.
const TCTL: u32 = 1 << 1 | 1 << 3 | 0x0f << 4 | 0x3f << 12;
/// Transmit descriptor: end of packet, insert FCS, report status.
const TX_COMMAND: u8 = 1 | 1 << 1 | 1 << 3;
/// Receive descriptor: done, end of packet.
const RX_DONE: u8 = 3;

/// Descriptors of each ring.
const ENTRIES: u32 = 2048;
const DESCRIPTOR: u64 = 16;
const FRAME_AT: u64 = 0x8_0000;
const TX_AT: u64 = 0x10_0000;
const RX_AT: u64 = 0x20_0000;
const BUFFERS_AT: u64 = 0x40_0000;
const BUFFER: u64 = 2048;

/// A port in loopback that is ready to send one frame again and again.
pub struct E1000e {
    qtest: Qtest,
    frame: Vec<u8>,
    tail: u32,
}

impl E1000e {
    /// Starts QEMU and sets the port up to send `frame`, of 60 bytes or more.
    pub fn open(program: &Path, frame: &[u8]) -> Result<Self, QtestError> {
        // Not every QEMU has the accelerator for tests; with the CPU stopped the other will do.
        let machine = ["-machine", "q35,accel=qtest:tcg", "-S", "-m", "64", "-display", "none"];
        let device = format!("e1000e,addr={SLOT}.0");
        let args = [&machine[..], &["-nodefaults", "-device", &device]].concat();
        let mut port =
            Self { qtest: Qtest::start(program, &args)?, frame: frame.to_vec(), tail: 0 };
        port.set_up()?;
        port.check()?;
        Ok(port)
    }

    /// The process, for its accounts.
    pub fn pid(&self) -> Option<u32> {
        self.qtest.pid()
    }

    fn configure(&mut self, offset: u32, value: Option<u32>) -> Result<u32, QtestError> {
        self.qtest.outl(CONFIG_ADDRESS, 1 << 31 | SLOT << 11 | offset)?;
        match value {
            Some(value) => self.qtest.outl(CONFIG_DATA, value).map(|()| value),
            None => self.qtest.inl(CONFIG_DATA),
        }
    }

    fn set(&mut self, register: u64, value: u32) -> Result<(), QtestError> {
        self.qtest.writel(BAR + register, value)
    }

    fn set_up(&mut self) -> Result<(), QtestError> {
        let id = self.configure(0, None)?;
        if id != ID {
            return Err(QtestError::Device(format!("has the id {id:#x}")));
        }
        self.configure(0x10, Some(BAR as u32))?;
        // Memory and bus master.
        self.configure(0x04, Some(6))?;
        self.set(reg::CTRL, CTRL_RST)?;
        self.set(reg::IMC, u32::MAX)?;
        self.set(reg::CTRL, CTRL_UP)?;
        if self.qtest.readl(BAR + reg::STATUS)? & STATUS_LU == 0 {
            return Err(QtestError::Device("has no link".into()));
        }
        let frame = std::mem::take(&mut self.frame);
        self.qtest.write(FRAME_AT, &frame)?;
        let sent = descriptor(FRAME_AT, frame.len() as u16, TX_COMMAND);
        self.qtest.write(TX_AT, &sent.repeat(ENTRIES as usize))?;
        let buffers = (0..u64::from(ENTRIES)).map(|n| descriptor(BUFFERS_AT + n * BUFFER, 0, 0));
        self.qtest.write(RX_AT, &buffers.collect::<Vec<_>>().concat())?;
        self.frame = frame;
        for (base, at) in [(reg::TDBAL, TX_AT), (reg::RDBAL, RX_AT)] {
            // Base, length, head, tail.
            let words = [at as u32, (at >> 32) as u32, ENTRIES * DESCRIPTOR as u32];
            for (offset, word) in [0, 4, 8].into_iter().zip(words) {
                self.set(base + offset, word)?;
            }
            self.set(base + 0x10, 0)?;
            self.set(base + 0x18, 0)?;
        }
        self.set(reg::RCTL, RCTL)?;
        self.set(reg::RDT, ENTRIES - 1)?;
        self.set(reg::TCTL, TCTL)
    }

    /// Sends one ring and looks at what came back.
    fn check(&mut self) -> Result<(), QtestError> {
        let count = self.kick()?;
        if count != u64::from(ENTRIES - 1) {
            let message = format!("received {count} of {} frames", ENTRIES - 1);
            return Err(QtestError::Device(message));
        }
        let last = u64::from(ENTRIES - 2);
        let written = self.qtest.read(RX_AT + last * DESCRIPTOR, DESCRIPTOR as usize)?;
        let bytes = self.qtest.read(BUFFERS_AT + last * BUFFER, self.frame.len())?;
        if written.get(12).is_none_or(|s| s & RX_DONE != RX_DONE) || bytes != self.frame {
            return Err(QtestError::Device("received something else than was sent".into()));
        }
        Ok(())
    }

    /// Sends a ring of frames; gives how many of them were received. All descriptors are given back
    /// to the device.
    pub fn kick(&mut self) -> Result<u64, QtestError> {
        self.tail = (self.tail + ENTRIES - 1) % ENTRIES;
        self.set(reg::TDT, self.tail)?;
        let received = self.qtest.readl(BAR + reg::GPRC)?;
        let head = self.qtest.readl(BAR + reg::RDBAL + 0x10)?;
        self.set(reg::RDT, (head % ENTRIES + ENTRIES - 1) % ENTRIES)?;
        Ok(received.into())
    }
}

/// A legacy descriptor of either direction: address, length, command.
fn descriptor(addr: u64, len: u16, command: u8) -> [u8; DESCRIPTOR as usize] {
    let word = u64::from(len) | u64::from(command) << 24;
    (u128::from(word) << 64 | u128::from(addr)).to_le_bytes()
}
