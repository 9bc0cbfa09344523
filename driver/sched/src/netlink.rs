//! Netlink attributes of `TCA_OPTIONS` for fq, from bytes and to bytes.
//!
//! Numbers are those of `include/uapi/linux/pkt_sched.h` of Linux 6.12. Every attribute must have
//! the length that its policy says, be known, and come once; Linux is that strict only from
//! TCA_FQ_TIMER_SLACK on (`strict_start_type`), and lets the last of several win.

use pollproof_sync::bug;

/// Bands.
pub const FQ_BANDS: usize = 3;
/// Priorities that a map covers: `TC_PRIO_MAX` + 1.
pub const PRIOS: usize = 16;
/// `struct tc_prio_qopt`: the number of bands, then a band for each priority.
const PRIOMAP_LEN: usize = 4 + PRIOS;
/// Size of an attribute's header.
const NLA_HDRLEN: usize = 4;
/// First attribute that was checked strictly when it came.
const STRICT_FROM: u16 = kind::TIMER_SLACK;

/// Types of attributes: `TCA_FQ_*`.
#[allow(missing_docs)]
pub mod kind {
    pub const PLIMIT: u16 = 1;
    pub const FLOW_PLIMIT: u16 = 2;
    pub const QUANTUM: u16 = 3;
    pub const INITIAL_QUANTUM: u16 = 4;
    pub const RATE_ENABLE: u16 = 5;
    pub const FLOW_DEFAULT_RATE: u16 = 6;
    pub const FLOW_MAX_RATE: u16 = 7;
    pub const BUCKETS_LOG: u16 = 8;
    pub const FLOW_REFILL_DELAY: u16 = 9;
    pub const ORPHAN_MASK: u16 = 10;
    pub const LOW_RATE_THRESHOLD: u16 = 11;
    pub const CE_THRESHOLD: u16 = 12;
    pub const TIMER_SLACK: u16 = 13;
    pub const HORIZON: u16 = 14;
    pub const HORIZON_DROP: u16 = 15;
    pub const PRIOMAP: u16 = 16;
    pub const WEIGHTS: u16 = 17;
    pub const MAX: u16 = WEIGHTS;
}

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// An attribute does not fit the message.
    #[error("byte {at}: an attribute of {len} bytes does not fit the {left} that are left")]
    Truncated {
        /// Offset of its header.
        at: usize,
        /// Length that its header says.
        len: usize,
        /// Bytes left.
        left: usize,
    },
    /// An attribute that nobody knows.
    #[error("byte {at}: attribute {kind} is not known; there are 1 to {}", kind::MAX)]
    Unknown {
        /// Offset.
        at: usize,
        /// Type with its flags.
        kind: u16,
    },
    /// An attribute of the wrong length.
    #[error("byte {at}: attribute {kind} has {len} bytes of payload instead of {want}")]
    Length {
        /// Offset.
        at: usize,
        /// Type.
        kind: u16,
        /// Length of the payload.
        len: usize,
        /// Length that it must have.
        want: usize,
    },
    /// The same attribute twice.
    #[error("byte {at}: attribute {kind} comes a second time")]
    Twice {
        /// Offset.
        at: usize,
        /// Type.
        kind: u16,
    },
    /// A value that is not allowed.
    #[error("attribute {kind} is {value}; allowed is {allowed}")]
    Value {
        /// Type.
        kind: u16,
        /// Value.
        value: i64,
        /// What is allowed.
        allowed: &'static str,
    },
}

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr<'a> {
    /// Type.
    pub kind: u16,
    /// Payload.
    pub payload: &'a [u8],
}

impl Attr<'_> {
    /// The number in it; bytes that are missing are 0.
    pub fn number(&self) -> u32 {
        self.word(0)
    }

    /// The word at an index of an array.
    pub fn word(&self, index: usize) -> u32 {
        let byte = |n: usize| u32::from(self.payload.get(4 * index + n).copied().unwrap_or(0));
        (0..4).map(|n| byte(n) << (8 * n)).sum()
    }

    /// A value to compare by: the number, or a digest of an array.
    pub fn value(&self) -> u64 {
        let fold = |sum: u64, byte: &u8| sum.wrapping_mul(0x100_0193).wrapping_add((*byte).into());
        match self.payload.len() {
            0..=4 => self.number().into(),
            _ => self.payload.iter().fold(1, fold),
        }
    }
}

/// Length that the payload of an attribute must have.
pub fn length_of(kind: u16) -> Option<usize> {
    match kind {
        kind::HORIZON_DROP => Some(1),
        kind::PRIOMAP => Some(PRIOMAP_LEN),
        kind::WEIGHTS => Some(4 * FQ_BANDS),
        kind::PLIMIT..=kind::MAX => Some(4),
        _ => None,
    }
}

/// Whether a payload of `len` bytes is taken for an attribute.
fn length_fits(kind: u16, len: usize, want: usize) -> bool {
    if bug("H-6") && kind >= STRICT_FROM && want <= 4 {
        return len >= want;
    }
    if bug("H-13") && want > 4 {
        return len <= want;
    }
    len == want
}

/// The attributes of a message, each as it should be but for its value.
pub fn parse(bytes: &[u8]) -> Result<Vec<Attr<'_>>, ChangeError> {
    let mut attrs: Vec<Attr> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (len, kind) = match rest {
            [a, b, c, d, ..] => (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d])),
            _ => (0, 0),
        };
        let len = usize::from(len);
        let Some(payload) = rest.get(NLA_HDRLEN..len) else {
            return Err(ChangeError::Truncated { at, len, left: rest.len() });
        };
        let want = length_of(kind).ok_or(ChangeError::Unknown { at, kind })?;
        if !length_fits(kind, payload.len(), want) {
            return Err(ChangeError::Length { at, kind, len: payload.len(), want });
        }
        if attrs.iter().any(|a| a.kind == kind) {
            return Err(ChangeError::Twice { at, kind });
        }
        attrs.push(Attr { kind, payload });
        at += len.next_multiple_of(4);
    }
    Ok(attrs)
}

/// Appends an attribute.
pub fn put(bytes: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    let len = (NLA_HDRLEN + payload.len()) as u16;
    bytes.extend(len.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Appends an attribute with a number.
pub fn put_u32(bytes: &mut Vec<u8>, kind: u16, value: u32) {
    put(bytes, kind, &value.to_le_bytes());
}
