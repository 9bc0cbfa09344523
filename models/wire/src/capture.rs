//! Captures in pcap and pcapng files: both byte orders, microseconds and nanoseconds.
//!
//! Source: draft-ietf-opsawg-pcap-05; the parts of pcap are taken apart by the `pcap-file` crate.
//! A frame shorter than an Ethernet header (a runt) and a frame that the capture cut short cannot
//! arrive at a NIC; both are counted and left out. A record that breaks the format is an error
//! that names the packet and the offset in the file.

use crate::pcapng;
use crate::Frame;
use pcap_file::pcap::{PcapParser, RawPcapPacket};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::path::Path;
use std::sync::Arc;

/// Longest packet that is taken from a file (`MAXIMUM_SNAPLEN` of libpcap).
pub const SNAP_MAX: u32 = 256 << 10;
/// Longest file that is read.
pub const FILE_MAX: u64 = 1 << 30;

const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;
/// Shortest frame: addresses and EtherType.
pub(crate) const FRAME_MIN: usize = 14;

/// A captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured, nanoseconds since 1970.
    pub time_ns: u64,
    /// From the destination MAC address on.
    pub bytes: Arc<[u8]>,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Whole frames in the order of the file.
    pub packets: Vec<Packet>,
    /// Frames that were left out because they are shorter than 14 bytes.
    pub runts: u64,
    /// Frames that were left out because the capture holds only their start.
    pub cut: u64,
}

impl Capture {
    /// The frames, numbered from 0.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        (0..).zip(&self.packets).map(|(number, p)| Frame::new(number, p.bytes.clone()))
    }

    /// Takes a packet of a file, or counts why not.
    pub(crate) fn add(&mut self, time_ns: u64, bytes: &[u8], original_len: u32) {
        if (bytes.len() as u64) < u64::from(original_len) {
            self.cut += 1;
        } else if bytes.len() < FRAME_MIN {
            self.runts += 1;
        } else {
            self.packets.push(Packet { time_ns, bytes: Arc::from(bytes) });
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Unknown magic number.
    #[error("not a pcap or pcapng file")]
    NotACapture,
    /// Ends within a header.
    #[error("the file ends within a header")]
    TruncatedHeader,
    /// Ends within a packet.
    #[error("the file ends within a packet: {there} of {wanted} bytes are there")]
    TruncatedPacket {
        /// Bytes that the record promises.
        wanted: u64,
        /// Bytes that are left.
        there: u64,
    },
    /// A length beyond [`SNAP_MAX`], or one that contradicts another.
    #[error("absurd length of {0} bytes")]
    BadLength(u64),
    /// A fraction of a second of a second or more.
    #[error("the time of the packet is not a time")]
    BadTime,
    /// Not Ethernet.
    #[error("link type {0} is not Ethernet (1)")]
    LinkType(u32),
    /// pcapng: a packet of an interface that was not described.
    #[error("interface {0} is not described before its packet")]
    Interface(u32),
    /// Longer than [`FILE_MAX`].
    #[error("the file of {0} bytes is longer than 1 GiB")]
    TooLong(u64),
    /// The operating system said so.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// Something else that the pcap reader found.
    #[error("{0}")]
    Format(String),
}

/// What is wrong with a file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}{}", self.place())]
pub struct CaptureError {
    /// Name of the file.
    pub file: String,
    /// Offset of the header or record.
    pub offset: u64,
    /// Number of the packet, from 1; none in a file header.
    pub packet: Option<u64>,
    /// What.
    #[source]
    pub problem: Problem,
}

impl CaptureError {
    /// Where in the file; a file that can not be opened has no places.
    fn place(&self) -> String {
        if matches!(self.problem, Problem::Io(_)) {
            return String::new();
        }
        let packet = self.packet.map_or(String::new(), |n| format!(", packet {n}"));
        format!(" (at byte {}{packet})", self.offset)
    }
}

/// A problem and its place, before the file has a name.
pub(crate) struct At {
    pub offset: usize,
    pub packet: Option<u64>,
    pub problem: Problem,
}

/// Reads a file.
pub fn read_file(path: &Path) -> Result<Capture, CaptureError> {
    let file = path.display().to_string();
    let problem = match std::fs::metadata(path) {
        Ok(meta) if meta.len() > FILE_MAX => Problem::TooLong(meta.len()),
        Ok(_) => match std::fs::read(path) {
            Ok(bytes) => return read_capture(&file, &bytes),
            Err(error) => error.into(),
        },
        Err(error) => error.into(),
    };
    Err(CaptureError { file, offset: 0, packet: None, problem })
}

/// Reads the bytes of a file; `file` names it in errors.
pub fn read_capture(file: &str, bytes: &[u8]) -> Result<Capture, CaptureError> {
    let read = match bytes.first_chunk::<4>() {
        _ if bytes.is_empty() => Err(At { offset: 0, packet: None, problem: Problem::Empty }),
        Some(&pcapng::MAGIC) => pcapng::read(bytes),
        _ => read_pcap(bytes),
    };
    read.map_err(|At { offset, packet, problem }| CaptureError {
        file: file.to_owned(),
        offset: offset as u64,
        packet,
        problem,
    })
}

/// Magic numbers of pcap, as they lie in the file.
const MAGICS: [[u8; 4]; 4] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];

fn read_pcap(bytes: &[u8]) -> Result<Capture, At> {
    let start = |problem| At { offset: 0, packet: None, problem };
    if !MAGICS.iter().any(|magic| bytes.starts_with(magic)) {
        return Err(start(Problem::NotACapture));
    }
    let (mut rest, parser) = PcapParser::new(bytes).map_err(|_| start(Problem::TruncatedHeader))?;
    let header = parser.header();
    if header.datalink != DataLink::ETHERNET {
        let problem = Problem::LinkType(u32::from(header.datalink));
        return Err(At { offset: HEADER_BYTES - 4, packet: None, problem });
    }
    let mut capture = Capture::default();
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let at = |problem| At { offset: bytes.len() - rest.len(), packet: Some(number), problem };
        let (next, packet) = next_record(rest, &parser).map_err(at)?;
        let time_ns = time_ns(&packet, header.ts_resolution).ok_or_else(|| at(Problem::BadTime))?;
        if packet.orig_len < packet.incl_len {
            return Err(at(Problem::BadLength(packet.orig_len.into())));
        }
        capture.add(time_ns, &packet.data, packet.orig_len);
        rest = next;
    }
    Ok(capture)
}

fn next_record<'a>(
    rest: &'a [u8],
    parser: &PcapParser,
) -> Result<(&'a [u8], RawPcapPacket<'a>), Problem> {
    let field = rest.get(8..12).and_then(|f| f.first_chunk::<4>());
    let wanted = match (field, parser.header().endianness) {
        _ if rest.len() < RECORD_BYTES => return Err(Problem::TruncatedHeader),
        (Some(&field), Endianness::Big) => u32::from_be_bytes(field),
        (Some(&field), Endianness::Little) => u32::from_le_bytes(field),
        (None, _) => return Err(Problem::TruncatedHeader),
    };
    if wanted > SNAP_MAX {
        return Err(Problem::BadLength(wanted.into()));
    }
    let there = (rest.len() - RECORD_BYTES) as u64;
    if there < u64::from(wanted) {
        return Err(Problem::TruncatedPacket { wanted: wanted.into(), there });
    }
    parser.next_raw_packet(rest).map_err(|error| Problem::Format(error.to_string()))
}

fn time_ns(packet: &RawPcapPacket<'_>, resolution: TsResolution) -> Option<u64> {
    let fraction_ns = match resolution {
        TsResolution::MicroSecond => u64::from(packet.ts_frac) * 1000,
        TsResolution::NanoSecond => u64::from(packet.ts_frac),
    };
    let second_ns = 1_000_000_000;
    (fraction_ns < second_ns).then(|| u64::from(packet.ts_sec) * second_ns + fraction_ns)
}

/// The bytes of a pcap file (nanoseconds, little endian). Times beyond 2106 are cut off, packets
/// are cut to [`SNAP_MAX`].
pub fn write_pcap(packets: &[Packet]) -> Vec<u8> {
    let total: usize = packets.iter().map(|p| RECORD_BYTES + p.bytes.len()).sum();
    let mut out = Vec::with_capacity(HEADER_BYTES + total);
    out.extend(0xa1b2_3c4d_u32.to_le_bytes());
    out.extend([2, 0, 4, 0]);
    out.extend([0; 8]);
    out.extend(SNAP_MAX.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    for packet in packets {
        let len = packet.bytes.len().min(SNAP_MAX as usize);
        let (seconds, fraction_ns) =
            (packet.time_ns / 1_000_000_000, (packet.time_ns % 1_000_000_000) as u32);
        out.extend((seconds.min(u32::MAX.into()) as u32).to_le_bytes());
        out.extend(fraction_ns.to_le_bytes());
        out.extend((len as u32).to_le_bytes());
        out.extend((packet.bytes.len() as u32).to_le_bytes());
        out.extend(&packet.bytes[..len]);
    }
    out
}
