//! PCI over virtio: what a driver does to the device, and the interrupt that goes back.
//!
//! Source: Linux 6.12 `include/uapi/linux/virtio_pcidev.h`. Numbers are little endian here, which
//! is what hosts of User Mode Linux are.

/// Bytes of a command before its data.
pub const HEADER_BYTES: usize = 16;
/// Longest access that is one command.
pub const SIZE_MAX: u32 = 1 << 14;

/// What is wrong with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Too short to be one.
    #[error("a PCI command of {0} bytes, {HEADER_BYTES} are its header")]
    Short(usize),
    /// Unknown.
    #[error("PCI command {0} is not known")]
    Unknown(u8),
    /// An access that can not be.
    #[error("PCI command {op}: an access of {size} bytes at {addr:#x}")]
    Size {
        /// Command.
        op: u8,
        /// Bytes.
        size: u32,
        /// Place.
        addr: u64,
    },
    /// The data is missing.
    #[error("PCI command {op}: {size} bytes are to be written, {there} are there")]
    Data {
        /// Command.
        op: u8,
        /// Bytes.
        size: u32,
        /// Bytes that came.
        there: usize,
    },
}

/// A command of the driver.
#[allow(missing_docs, reason = "the fields say what they are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Configuration space is read.
    ConfigRead { offset: u64, size: u32 },
    /// It is written.
    ConfigWrite { offset: u64, data: Vec<u8> },
    /// A BAR is read.
    Read { bar: u8, offset: u64, size: u32 },
    /// It is written.
    Write { bar: u8, offset: u64, data: Vec<u8> },
    /// It is filled.
    Fill { bar: u8, offset: u64, size: u32, byte: u8 },
}

impl Command {
    /// Reads a command.
    pub fn parse(bytes: &[u8]) -> Result<Self, CommandError> {
        let Some((header, data)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(CommandError::Short(bytes.len()));
        };
        let [op, bar, _, _, s0, s1, s2, s3, a0, a1, a2, a3, a4, a5, a6, a7] = *header;
        let size = u32::from_le_bytes([s0, s1, s2, s3]);
        let addr = u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
        let is_config = matches!(op, 1 | 2);
        let fits = if is_config { matches!(size, 1 | 2 | 4 | 8) } else { size <= SIZE_MAX };
        if !fits || size == 0 || addr.checked_add(size.into()).is_none() {
            return Err(CommandError::Size { op, size, addr });
        }
        let taken = |wanted: u32| {
            let there = data.get(..wanted as usize).map(<[u8]>::to_vec);
            there.ok_or(CommandError::Data { op, size: wanted, there: data.len() })
        };
        Ok(match op {
            1 => Self::ConfigRead { offset: addr, size },
            // Always sent with 8 bytes of data, of which `size` count.
            2 => Self::ConfigWrite { offset: addr, data: taken(size)? },
            3 => Self::Read { bar, offset: addr, size },
            4 => Self::Write { bar, offset: addr, data: taken(size)? },
            5 => {
                let byte = taken(1)?.first().copied().unwrap_or(0);
                Self::Fill { bar, offset: addr, size, byte }
            }
            _ => return Err(CommandError::Unknown(op)),
        })
    }
}

/// An MSI-X message, as it is put into a buffer of the interrupt ring.
pub fn interrupt(address: u64, data: u32) -> Vec<u8> {
    const MSI: u8 = 7;
    let mut bytes = vec![MSI, 0, 0, 0];
    bytes.extend(4_u32.to_le_bytes());
    bytes.extend(address.to_le_bytes());
    bytes.extend(data.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(op: u8, bar: u8, size: u32, addr: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![op, bar, 0, 0];
        bytes.extend(size.to_le_bytes());
        bytes.extend(addr.to_le_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn commands_are_read_as_linux_sends_them() {
        let write = command(2, 0, 2, 4, &[6, 1, 0, 0, 0, 0, 0, 0]);
        let data = vec![6, 1];
        assert_eq!(Command::parse(&write), Ok(Command::ConfigWrite { offset: 4, data }));
        let read = command(3, 0, 4, 0x18, &[]);
        assert_eq!(Command::parse(&read), Ok(Command::Read { bar: 0, offset: 0x18, size: 4 }));
        let fill = command(5, 4, 64, 0, &[0xff]);
        let filled = Command::Fill { bar: 4, offset: 0, size: 64, byte: 0xff };
        assert_eq!(Command::parse(&fill), Ok(filled));
    }

    #[test]
    fn what_is_malformed_is_named() {
        let error = |bytes: &[u8]| Command::parse(bytes).expect_err("an error").to_string();
        assert!(error(&[1; 15]).contains("15 bytes"));
        assert!(error(&command(9, 0, 4, 0, &[])).contains("9 is not known"));
        assert!(error(&command(1, 0, 3, 0, &[])).contains("3 bytes at 0x0"));
        assert!(error(&command(4, 0, 4, 0, &[1])).contains("4 bytes are to be written, 1"));
        assert!(error(&command(3, 0, 4, u64::MAX, &[])).contains("0xffffffffffffffff"));
        assert!(error(&command(3, 0, 1 << 20, 0, &[])).contains("1048576 bytes"));
    }
}
