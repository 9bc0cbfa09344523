//! A packet on its way out and the socket that it comes from, as far as a scheduler looks at them.

/// No limit to a rate, `~0UL`.
pub const NO_RATE: u64 = u64::MAX;

/// Longest packet there is: `GSO_MAX_SIZE`.
pub const GSO_MAX_SIZE: u32 = 8 * 65_536;

/// What a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SockKind {
    /// A connected TCP socket: its packets carry their departure time.
    Tcp,
    /// Another connected socket.
    Other,
    /// `TCP_CLOSE`: not connected, sends to many.
    Close,
    /// A listener, a request or TIME_WAIT: no flow of its own.
    Listener,
}

/// A socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sock {
    /// Its address: names the flow. Even.
    pub addr: u64,
    /// `sk_hash`: another one at the same address is another socket.
    pub sk_hash: u32,
    /// What it is.
    pub kind: SockKind,
    /// `sk_pacing_rate`, bytes a second.
    pub pacing_rate: u64,
    /// `sk_max_pacing_rate` (`SO_MAX_PACING_RATE`), bytes a second.
    pub max_pacing_rate: u64,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Identity.
    pub id: u64,
    /// `qdisc_pkt_len`, bytes.
    pub len: u32,
    /// `skb->priority`; its low four bits count.
    pub priority: u8,
    /// Flow hash.
    pub hash: u32,
    /// `skb->tstamp`: earliest departure; 0 is none.
    pub tstamp_ns: u64,
    /// Socket.
    pub sk: Option<Sock>,
}

impl Packet {
    /// A packet of a TCP socket that wants to leave at `tstamp_ns`.
    pub fn edt(id: u64, sock: u64, len: u32, tstamp_ns: u64) -> Self {
        Self { tstamp_ns, ..Self::paced(id, sock, len, SockKind::Tcp, NO_RATE) }
    }

    /// A packet of a socket that is paced by the scheduler (`SO_MAX_PACING_RATE`).
    pub fn rated(id: u64, sock: u64, len: u32, rate: u64) -> Self {
        Self::paced(id, sock, len, SockKind::Other, rate)
    }

    fn paced(id: u64, sock: u64, len: u32, kind: SockKind, rate: u64) -> Self {
        let (addr, sk_hash) = (sock << 6, sock as u32);
        let sk = Sock { addr, sk_hash, kind, pacing_rate: rate, max_pacing_rate: rate };
        Self { id, len, priority: 0, hash: sk_hash, tstamp_ns: 0, sk: Some(sk) }
    }
}
