//! Messages of vhost-user, as `virtio_uml` of Linux 6.12 sends and takes them: layout alone.
//!
//! Sources: the vhost-user protocol text of QEMU (`docs/interop/vhost-user.rst`) for layouts, Linux
//! 6.12 `arch/um/drivers/vhost_user.h` for what User Mode Linux uses of it. Not understood:
//! logging, IOTLB, migration, eventfds for kicks and calls, configuration space of virtio.

/// Bytes of a header: request, flags, size.
pub const HEADER_BYTES: usize = 12;
/// Longest payload that any known request has: a memory table of eight regions.
pub const PAYLOAD_MAX: usize = 8 + REGIONS_MAX * REGION_BYTES;
/// Regions that a memory table may have.
pub const REGIONS_MAX: usize = 8;
/// File descriptors that may come with a message: one a region.
pub const FDS_MAX: usize = REGIONS_MAX;
const REGION_BYTES: usize = 32;

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// Feature: the protocol has features of its own.
pub const F_PROTOCOL: u64 = 1 << 30;
/// Feature: virtio 1.0.
pub const F_VERSION_1: u64 = 1 << 32;
/// Protocol feature: requests may ask for an answer.
pub const P_REPLY_ACK: u64 = 1 << 3;
/// Protocol feature: the back end has a channel for requests of its own.
pub const P_BACKEND_REQ: u64 = 1 << 5;
/// Protocol feature: kicks and calls are messages.
pub const P_INBAND: u64 = 1 << 14;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The version is not 1.
    #[error("vhost-user message {request}: version {version}, 1 is spoken here")]
    Version {
        /// Request.
        request: u32,
        /// What it says.
        version: u32,
    },
    /// A reply came where a request was due.
    #[error("vhost-user message {request}: a reply where a request was due")]
    Reply {
        /// Request.
        request: u32,
    },
    /// The payload is longer than any.
    #[error("vhost-user message {request}: {size} bytes of payload, the limit is {PAYLOAD_MAX}")]
    TooLong {
        /// Request.
        request: u32,
        /// What it says.
        size: u32,
    },
    /// The payload has another size than the request has.
    #[error("vhost-user message {request}: {size} bytes of payload, {wanted} belong to it")]
    Size {
        /// Request.
        request: u32,
        /// What came.
        size: usize,
        /// What should have come.
        wanted: usize,
    },
    /// The request is not one that is known.
    #[error("vhost-user message {0}: this request is not known here")]
    Unknown(u32),
    /// A memory table with too many regions, or none.
    #[error("vhost-user memory table: {0} regions, 1 to {REGIONS_MAX} may be in it")]
    Regions(u32),
    /// Another number of descriptors than the message needs.
    #[error("vhost-user message {request}: {fds} file descriptors, {wanted} belong to it")]
    Fds {
        /// Request.
        request: u32,
        /// What came.
        fds: usize,
        /// What should have come.
        wanted: usize,
    },
}

/// First part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the request.
    pub request: u32,
    /// The sender waits for an answer.
    pub needs_reply: bool,
    /// Bytes that follow; at most [`PAYLOAD_MAX`].
    pub size: usize,
}

/// A region of a memory table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionEntry {
    /// Bus address.
    pub guest_addr: u64,
    /// Bytes.
    pub size: u64,
    /// The same place as rings are told of it.
    pub user_addr: u64,
    /// Where it begins in its file.
    pub file_offset: u64,
}

/// A request of the front end.
#[allow(missing_docs, reason = "the fields say what they are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Which features are there?
    GetFeatures,
    /// These are used.
    SetFeatures(u64),
    /// The session begins.
    SetOwner,
    /// Memory to share; one descriptor each.
    SetMemTable(Vec<RegionEntry>),
    /// Entries of a ring.
    SetVringNum { ring: u32, entries: u32 },
    /// Where a ring is, in user addresses.
    SetVringAddr { ring: u32, desc: u64, used: u64, avail: u64 },
    /// Index at which a ring begins.
    SetVringBase { ring: u32, index: u32 },
    /// Stops a ring and asks for its index.
    GetVringBase { ring: u32 },
    /// Which protocol features are there?
    GetProtocolFeatures,
    /// These are used.
    SetProtocolFeatures(u64),
    /// A ring is on or off.
    SetVringEnable { ring: u32, enabled: bool },
    /// One descriptor: where requests of the back end go.
    SetBackendReq,
    /// There are buffers in a ring.
    VringKick { ring: u32 },
}

mod number {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_OWNER: u32 = 3;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_VRING_BASE: u32 = 11;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_BACKEND_REQ: u32 = 21;
    pub const VRING_KICK: u32 = 35;
    /// Request of the back end: there are used buffers in a ring.
    pub const BACKEND_VRING_CALL: u32 = 4;
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|b| b.first_chunk::<4>());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..).and_then(|b| b.first_chunk::<8>());
    field.map_or(0, |field| u64::from_le_bytes(*field))
}

impl Header {
    /// Reads the header of a request.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, MessageError> {
        let [request, flags, size] = [0, 4, 8].map(|at| u32_at(bytes, at));
        if flags & VERSION_MASK != VERSION {
            return Err(MessageError::Version { request, version: flags & VERSION_MASK });
        }
        if flags & REPLY != 0 {
            return Err(MessageError::Reply { request });
        }
        if size as usize > PAYLOAD_MAX {
            return Err(MessageError::TooLong { request, size });
        }
        Ok(Self { request, needs_reply: flags & NEED_REPLY != 0, size: size as usize })
    }
}

impl Request {
    /// Reads the request of a header with its payload and so many descriptors.
    pub fn parse(header: &Header, payload: &[u8], fds: usize) -> Result<Self, MessageError> {
        use number::*;
        let request = header.request;
        let sized = |wanted: usize| match payload.len() {
            size if size == wanted => Ok(()),
            size => Err(MessageError::Size { request, size, wanted }),
        };
        let state = || sized(8).map(|()| (u32_at(payload, 0), u32_at(payload, 4)));
        let number = || sized(8).map(|()| u64_at(payload, 0));
        let parsed = match request {
            GET_FEATURES => sized(0).map(|()| Self::GetFeatures)?,
            SET_FEATURES => Self::SetFeatures(number()?),
            SET_OWNER => sized(0).map(|()| Self::SetOwner)?,
            SET_MEM_TABLE => Self::SetMemTable(parse_regions(request, payload)?),
            SET_VRING_NUM => {
                let (ring, entries) = state()?;
                Self::SetVringNum { ring, entries }
            }
            SET_VRING_ADDR => {
                sized(40)?;
                let [desc, used, avail] = [8, 16, 24].map(|at| u64_at(payload, at));
                Self::SetVringAddr { ring: u32_at(payload, 0), desc, used, avail }
            }
            SET_VRING_BASE => {
                let (ring, index) = state()?;
                Self::SetVringBase { ring, index }
            }
            GET_VRING_BASE => Self::GetVringBase { ring: state()?.0 },
            GET_PROTOCOL_FEATURES => sized(0).map(|()| Self::GetProtocolFeatures)?,
            SET_PROTOCOL_FEATURES => Self::SetProtocolFeatures(number()?),
            SET_VRING_ENABLE => {
                let (ring, enabled) = state()?;
                Self::SetVringEnable { ring, enabled: enabled != 0 }
            }
            SET_BACKEND_REQ => sized(0).map(|()| Self::SetBackendReq)?,
            VRING_KICK => Self::VringKick { ring: state()?.0 },
            _ => return Err(MessageError::Unknown(request)),
        };
        let wanted = match &parsed {
            Self::SetMemTable(regions) => regions.len(),
            Self::SetBackendReq => 1,
            _ => 0,
        };
        if fds != wanted {
            return Err(MessageError::Fds { request, fds, wanted });
        }
        Ok(parsed)
    }
}

/// Linux always sends room for two regions, whatever their number.
fn parse_regions(request: u32, payload: &[u8]) -> Result<Vec<RegionEntry>, MessageError> {
    let count = u32_at(payload, 0);
    if !(1..=REGIONS_MAX as u32).contains(&count) {
        return Err(MessageError::Regions(count));
    }
    let wanted = 8 + count as usize * REGION_BYTES;
    if payload.len() < wanted {
        return Err(MessageError::Size { request, size: payload.len(), wanted });
    }
    let entry = |n: usize| {
        let at = 8 + n * REGION_BYTES;
        let [guest_addr, size, user_addr, file_offset] =
            [0, 8, 16, 24].map(|field| u64_at(payload, at + field));
        RegionEntry { guest_addr, size, user_addr, file_offset }
    };
    Ok((0..count as usize).map(entry).collect())
}

fn encode(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let header = [request, VERSION | flags, payload.len() as u32];
    let mut bytes: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(payload);
    bytes
}

/// The answer to a request: a number.
pub fn reply_u64(request: u32, value: u64) -> Vec<u8> {
    encode(request, REPLY, &value.to_le_bytes())
}

/// The answer to a request: state of a ring.
pub fn reply_state(request: u32, ring: u32, number: u32) -> Vec<u8> {
    encode(request, REPLY, &[ring.to_le_bytes(), number.to_le_bytes()].concat())
}

/// Request of the back end: there are used buffers in a ring.
pub fn vring_call(ring: u32, needs_reply: bool) -> Vec<u8> {
    let flags = if needs_reply { NEED_REPLY } else { 0 };
    let state = [ring.to_le_bytes(), [0; 4]].concat();
    encode(number::BACKEND_VRING_CALL, flags, &state)
}

/// Bytes of the front end's answer to [`vring_call`].
pub const CALL_REPLY_BYTES: usize = HEADER_BYTES + 8;

/// Whether that answer says that all went well.
pub fn call_was_taken(reply: &[u8; CALL_REPLY_BYTES]) -> bool {
    let [request, flags, size] = [0, 4, 8].map(|at| u32_at(reply, at));
    let is_reply = flags & (REPLY | VERSION_MASK) == REPLY | VERSION;
    is_reply && (request, size) == (number::BACKEND_VRING_CALL, 8) && u64_at(reply, 12) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8], fds: usize) -> Result<Request, MessageError> {
        let header = Header::parse(bytes.first_chunk().expect("a header"))?;
        Request::parse(&header, &bytes[HEADER_BYTES..], fds)
    }

    #[test]
    fn requests_are_read_as_linux_sends_them() {
        let kick = encode(35, NEED_REPLY, &[1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(parse(&kick, 0), Ok(Request::VringKick { ring: 1 }));
        let mut table = vec![0; 8 + 64];
        table[0] = 1;
        table[8..16].copy_from_slice(&0x1000_u64.to_le_bytes());
        table[16..24].copy_from_slice(&0x2000_u64.to_le_bytes());
        let Ok(Request::SetMemTable(regions)) = parse(&encode(5, 0, &table), 1) else {
            panic!("a table")
        };
        assert_eq!((regions[0].guest_addr, regions[0].size), (0x1000, 0x2000));
    }

    #[test]
    fn what_is_malformed_is_named() {
        let error = |bytes: &[u8], fds| parse(bytes, fds).expect_err("an error").to_string();
        assert!(error(&encode(1, REPLY, &[]), 0).contains("a reply where a request was due"));
        assert!(error(&[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], 0).contains("version 2"));
        assert!(error(&encode(99, 0, &[]), 0).contains("message 99"));
        assert!(error(&encode(2, 0, &[0; 7]), 0).contains("7 bytes of payload, 8 belong"));
        assert!(error(&encode(21, 0, &[]), 0).contains("0 file descriptors, 1 belong"));
        assert!(error(&encode(5, 0, &[9, 0, 0, 0, 0, 0, 0, 0]), 9).contains("9 regions"));
        assert!(error(&encode(2, 0, &[0; 1000]), 0).contains("1000 bytes"));
    }

    #[test]
    fn an_answer_to_a_call_is_taken_for_what_it_is() {
        let good = encode(4, REPLY, &0_u64.to_le_bytes());
        let bad = encode(4, REPLY, &1_u64.to_le_bytes());
        let answer = |bytes: &[u8]| call_was_taken(bytes.first_chunk().expect("20 bytes"));
        assert!(answer(&good) && !answer(&bad));
        assert!(!answer(&encode(4, 0, &0_u64.to_le_bytes())));
    }
}
