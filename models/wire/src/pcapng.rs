//! pcapng as far as packets go: section headers, interfaces, enhanced and simple packet blocks.
//!
//! Source: draft-ietf-opsawg-pcapng-02. Other blocks are passed over. Taken apart here and not by
//! `pcap-file`, whose reader of version 2.0 takes all times for nanoseconds.

use crate::capture::{At, Problem, SNAP_MAX};
use crate::Capture;

/// Type of a section header block, the same in both byte orders.
pub(crate) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
const LINK_ETHERNET: u32 = 1;
const OPTION_END: u16 = 0;
const OPTION_TS_RESOLUTION: u16 = 9;
/// A block holds a packet and some options.
const BLOCK_MAX: usize = SNAP_MAX as usize + (64 << 10);

/// Reads numbers in the byte order of a section.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    fn u32(self, bytes: &[u8], at: usize) -> Result<u32, Problem> {
        let field = bytes.get(at..).and_then(|b| b.first_chunk());
        let field = *field.ok_or(Problem::TruncatedHeader)?;
        Ok(if self.big { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) })
    }

    fn u16(self, bytes: &[u8], at: usize) -> Result<u16, Problem> {
        let field = bytes.get(at..).and_then(|b| b.first_chunk());
        let field = *field.ok_or(Problem::TruncatedHeader)?;
        Ok(if self.big { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) })
    }
}

/// Units of a second of an interface.
struct Interface {
    per_second: u64,
    snap_len: u32,
}

struct Section {
    order: Order,
    interfaces: Vec<Interface>,
}

/// Reads a file that begins with [`MAGIC`].
pub(crate) fn read(bytes: &[u8]) -> Result<Capture, At> {
    let mut capture = Capture::default();
    let mut section = Section { order: Order { big: false }, interfaces: Vec::new() };
    let (mut offset, mut number) = (0, 0);
    while offset < bytes.len() {
        let rest = &bytes[offset..];
        let mut packet = None;
        let block = block(&mut section, rest).and_then(|(kind, len)| {
            let body = rest.get(8..len - 4).ok_or(Problem::BadLength(len as u64))?;
            if kind == ENHANCED || kind == SIMPLE {
                number += 1;
                packet = Some(number);
            }
            section.take(kind, body, &mut capture)?;
            Ok(len)
        });
        match block {
            Ok(len) => offset += len,
            Err(problem) => return Err(At { offset, packet, problem }),
        }
    }
    Ok(capture)
}

/// Type and length of the block at the start of `rest`; a section header sets the byte order.
fn block(section: &mut Section, rest: &[u8]) -> Result<(u32, usize), Problem> {
    if rest.starts_with(&MAGIC) {
        section.order.big = match (Order { big: true }.u32(rest, 8)?, section.order.u32(rest, 8)?) {
            (ORDER_MAGIC, _) => true,
            _ if Order { big: false }.u32(rest, 8)? == ORDER_MAGIC => false,
            _ => return Err(Problem::NotACapture),
        };
    }
    let kind = section.order.u32(rest, 0)?;
    let len = section.order.u32(rest, 4)? as usize;
    if !(12..=BLOCK_MAX).contains(&len) || !len.is_multiple_of(4) {
        return Err(Problem::BadLength(len as u64));
    }
    if rest.len() < len {
        return Err(Problem::TruncatedPacket { wanted: len as u64, there: rest.len() as u64 });
    }
    if section.order.u32(rest, len - 4)? as usize != len {
        return Err(Problem::BadLength(len as u64));
    }
    Ok((kind, len))
}

impl Section {
    fn take(&mut self, kind: u32, body: &[u8], capture: &mut Capture) -> Result<(), Problem> {
        match kind {
            SECTION => self.interfaces.clear(),
            INTERFACE => {
                let interface = self.interface(body)?;
                self.interfaces.push(interface);
            }
            ENHANCED => self.enhanced(body, capture)?,
            SIMPLE => self.simple(body, capture)?,
            _ => {}
        }
        Ok(())
    }

    fn interface(&self, body: &[u8]) -> Result<Interface, Problem> {
        let link = u32::from(self.order.u16(body, 0)?);
        if link != LINK_ETHERNET {
            return Err(Problem::LinkType(link));
        }
        let snap_len = self.order.u32(body, 4)?;
        let mut options = body.get(8..).unwrap_or(&[]);
        let mut per_second = 1_000_000;
        while options.len() >= 4 {
            let (code, len) = (self.order.u16(options, 0)?, self.order.u16(options, 2)?);
            if code == OPTION_END {
                break;
            }
            let value = options.get(4..4 + usize::from(len)).ok_or(Problem::TruncatedHeader)?;
            if let (OPTION_TS_RESOLUTION, &[exponent]) = (code, value) {
                per_second = units(exponent).ok_or(Problem::BadTime)?;
            }
            let padded = 4 + usize::from(len).next_multiple_of(4);
            options = options.get(padded..).unwrap_or(&[]);
        }
        Ok(Interface { per_second, snap_len })
    }

    fn enhanced(&self, body: &[u8], capture: &mut Capture) -> Result<(), Problem> {
        let order = self.order;
        let id = order.u32(body, 0)?;
        let interface = self.interfaces.get(id as usize).ok_or(Problem::Interface(id))?;
        let (high, low) = (order.u32(body, 4)?, order.u32(body, 8)?);
        let (len, original_len) = (order.u32(body, 12)?, order.u32(body, 16)?);
        if len > SNAP_MAX || original_len < len {
            return Err(Problem::BadLength(u64::from(len.max(original_len))));
        }
        let bytes = body.get(20..20 + len as usize);
        let bytes = bytes.ok_or(Problem::BadLength(len.into()))?;
        let units = u64::from(high) << 32 | u64::from(low);
        let time_ns = u128::from(units) * 1_000_000_000 / u128::from(interface.per_second);
        let time_ns = u64::try_from(time_ns).map_err(|_| Problem::BadTime)?;
        capture.add(time_ns, bytes, original_len);
        Ok(())
    }

    /// A simple packet has no time: it counts as the time of the packet before.
    fn simple(&self, body: &[u8], capture: &mut Capture) -> Result<(), Problem> {
        let interface = self.interfaces.first().ok_or(Problem::Interface(0))?;
        let original_len = self.order.u32(body, 0)?;
        let snap_len = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
        let len = original_len.min(snap_len);
        let bytes = body.get(4..).and_then(|b| b.get(..len as usize));
        let bytes = bytes.ok_or(Problem::BadLength(len.into()))?;
        let time_ns = capture.packets.last().map_or(0, |p| p.time_ns);
        capture.add(time_ns, bytes, original_len);
        Ok(())
    }
}

/// `if_tsresol`: bit 7 says powers of 2, else of 10.
fn units(exponent: u8) -> Option<u64> {
    let base = if exponent & 0x80 != 0 { 2u64 } else { 10 };
    base.checked_pow(u32::from(exponent & 0x7f))
}
