//! Transmit offloads: checksums, VLAN tag, segmentation (7.2.4, 7.2.5).
//!
//! Checksums are completed, not made: the driver leaves the sum of the pseudo header in the field
//! (with length; for segmentation without it), as 7.2.5.1 asks, so that a wrong one shows on the
//! wire. Frames are made one at a time. Not modelled: SCTP CRC, IPsec, LinkSec, FCoE.

use crate::parse::{be16, be32, fold, sum};
use crate::Misuse;
use pollproof_regs::ixgbe_desc::tx;

/// What a context descriptor says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// IPLEN.
    pub ip_len: usize,
    /// MACLEN.
    pub mac_len: usize,
    /// Tag.
    pub vlan: u16,
    /// IPv4.
    pub ipv4: bool,
    /// L4T: 0 UDP, 1 TCP, 2 SCTP.
    pub l4_type: u32,
    /// L4LEN.
    pub l4_len: usize,
    /// MSS.
    pub mss: usize,
}

impl Context {
    /// Reads a context descriptor from its dwords (7.2.3.2.3).
    pub fn read(dwords: [u32; 4]) -> Self {
        Self {
            ip_len: (dwords[0] & 0x1ff) as usize,
            mac_len: (dwords[0] >> 9 & 0x7f) as usize,
            vlan: (dwords[0] >> 16) as u16,
            ipv4: dwords[2] & tx::TUCMD_IPV4 != 0,
            l4_type: dwords[2] >> tx::TUCMD_L4T_SHIFT & 3,
            l4_len: (dwords[3] >> tx::L4LEN_SHIFT & 0xff) as usize,
            mss: (dwords[3] >> tx::MSS_SHIFT) as usize,
        }
    }
}

/// What is to be done with one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Its context, when it needs one.
    pub context: Option<Context>,
    /// TSE.
    pub segment: bool,
    /// IXSM.
    pub ip_checksum: bool,
    /// TXSM.
    pub l4_checksum: bool,
    /// VLE: tag.
    pub vlan: Option<u16>,
    /// Legacy IC: where the sum begins and where it goes.
    pub legacy_checksum: Option<(usize, usize)>,
    /// IFCS, or HLREG0.TXCRCEN.
    pub append_fcs: bool,
    /// HLREG0.TXPADEN.
    pub pad: bool,
    /// EtherType of the tag.
    pub vlan_type: u16,
    /// DTXTCPFLGL, DTXTCPFLGH: flags that first, middle and last segments keep.
    pub flags: [u16; 3],
}

/// A packet whose data is complete, and how much of it has been made into frames.
#[derive(Clone, Debug)]
pub struct Segmenter {
    data: Vec<u8>,
    orders: Orders,
    header: usize,
    at: usize,
    count: u32,
    over: bool,
}

impl Segmenter {
    /// Checks the orders against the data.
    pub fn new(mut data: Vec<u8>, orders: Orders, max_frame: u32) -> Result<Self, Misuse> {
        if !orders.append_fcs {
            // The driver brought the FCS along; frames here have none.
            data.truncate(data.len().saturating_sub(4));
        }
        let context = orders.context.unwrap_or_default();
        let headers = context.mac_len + context.ip_len;
        let wants = orders.segment || orders.ip_checksum || orders.l4_checksum;
        if wants && orders.context.is_none() {
            return Err(Misuse::TxNoContext);
        }
        if wants && (context.mac_len < 14 || context.ip_len < 20 || headers > data.len()) {
            return Err(Misuse::TxHeaderLength);
        }
        if orders.l4_checksum && headers + checksum_at(&context) + 2 > data.len() {
            return Err(Misuse::TxHeaderLength);
        }
        let mut header = 0;
        if orders.segment {
            header = headers + context.l4_len;
            let smallest = if context.l4_type == 1 { 20 } else { 8 };
            if context.l4_len < smallest || header > data.len() || header >= 512 {
                return Err(Misuse::TxHeaderLength);
            }
            if context.mss == 0 {
                return Err(Misuse::TxMss);
            }
        }
        let longest = if orders.segment { header + context.mss } else { data.len() };
        if longest > max_frame as usize {
            return Err(Misuse::TxTooLong);
        }
        Ok(Self { data, orders, header, at: header, count: 0, over: false })
    }

    /// The next frame, without FCS.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        if self.over {
            return None;
        }
        let mut frame = if self.orders.segment { self.segment() } else { self.whole() };
        if let Some(tag) = self.orders.vlan.filter(|_| frame.len() >= 12) {
            let mut bytes = self.orders.vlan_type.to_be_bytes().to_vec();
            bytes.extend(tag.to_be_bytes());
            frame.splice(12..12, bytes);
        }
        if self.orders.pad && frame.len() < 60 {
            frame.resize(60, 0);
        }
        Some(frame)
    }

    fn whole(&mut self) -> Vec<u8> {
        self.over = true;
        let mut frame = std::mem::take(&mut self.data);
        let context = self.orders.context.unwrap_or_default();
        if let Some((start, at)) = self.orders.legacy_checksum {
            let checksum = !fold(sum(frame.get(start..).unwrap_or(&[]))) as u16;
            put16(&mut frame, at, checksum);
        }
        if self.orders.ip_checksum {
            ip_checksum(&mut frame, &context);
        }
        if self.orders.l4_checksum {
            l4_checksum(&mut frame, &context, 0);
        }
        frame
    }

    /// One segment: headers of the first with lengths, number, flags and checksums of its own.
    fn segment(&mut self) -> Vec<u8> {
        let context = self.orders.context.unwrap_or_default();
        let end = (self.at + context.mss).min(self.data.len());
        let is_last = end == self.data.len();
        let mut frame = self.data.get(..self.header).unwrap_or(&[]).to_vec();
        frame.extend_from_slice(self.data.get(self.at..end).unwrap_or(&[]));
        let (ip, l4) = (context.mac_len, context.mac_len + context.ip_len);
        let length = frame.len() - ip;
        let l4_bytes = (frame.len() - l4) as u16;
        if context.ipv4 {
            put16(&mut frame, ip + 2, length as u16);
            let id = be16(&frame, ip + 4).unwrap_or(0).wrapping_add(self.count as u16);
            put16(&mut frame, ip + 4, id);
        } else {
            put16(&mut frame, ip + 4, length.saturating_sub(40) as u16);
        }
        if context.l4_type == 1 {
            let seq = be32(&frame, l4 + 4).unwrap_or(0);
            let seq = seq.wrapping_add((self.at - self.header) as u32);
            if let Some(field) = frame.get_mut(l4 + 4..l4 + 8) {
                field.copy_from_slice(&seq.to_be_bytes());
            }
            let which = if is_last { 2 } else { usize::from(self.count != 0) };
            // A single segment is the first and the last: it keeps what both keep.
            let keep = self.orders.flags[which];
            let word = be16(&frame, l4 + 12).unwrap_or(0);
            put16(&mut frame, l4 + 12, word & (keep | 0xf000));
        } else {
            put16(&mut frame, l4 + 4, l4_bytes);
        }
        if self.orders.ip_checksum {
            ip_checksum(&mut frame, &context);
        }
        if self.orders.l4_checksum {
            l4_checksum(&mut frame, &context, u64::from(l4_bytes));
        }
        self.count += 1;
        self.at = end;
        self.over = is_last;
        frame
    }
}

fn put16(frame: &mut [u8], at: usize, value: u16) {
    if let Some(field) = frame.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

fn ip_checksum(frame: &mut [u8], context: &Context) {
    let (at, end) = (context.mac_len, context.mac_len + context.ip_len);
    put16(frame, at + 10, 0);
    let checksum = !fold(sum(frame.get(at..end).unwrap_or(&[]))) as u16;
    put16(frame, at + 10, checksum);
}

/// Where the checksum is in the TCP or UDP header.
fn checksum_at(context: &Context) -> usize {
    if context.l4_type == 1 {
        16
    } else {
        6
    }
}

/// Completes the sum that the driver began; `missing` is what it could not know.
fn l4_checksum(frame: &mut [u8], context: &Context, missing: u64) {
    let at = context.mac_len + context.ip_len;
    let total = sum(frame.get(at..).unwrap_or(&[])) + missing;
    let checksum = !fold(total) as u16;
    let checksum = if checksum == 0 && context.l4_type == 0 { 0xffff } else { checksum };
    put16(frame, at + checksum_at(context), checksum);
}
