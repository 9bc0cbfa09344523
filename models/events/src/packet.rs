//! What happens to packets on their way up: lists, what they refer to, and what they carry.

use crate::{CqId, NapiId};

/// Where the list link of a packet points (`skb->next`, `skb->list`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Nowhere: it is on no list.
    #[default]
    Null,
    /// To its neighbours on a list.
    Listed,
    /// To itself (`list_del_init`): who walks it as a chain never comes to an end.
    Itself,
    /// To what no code may follow (`LIST_POISON1`).
    Poison,
}

/// One thing that happened to a packet, or to a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkbStep {
    /// A packet was put on a list, or left the code of lists, with a link that is not null.
    Linked {
        /// Identity of the packet.
        skb: u64,
        /// Its link.
        link: Link,
        /// What it came to: `list_add_tail`, `dst_input`, `netif_receive_skb`.
        at: &'static str,
    },
    /// A list of packets goes up: a merged one counts as one.
    ListIn {
        /// Packets on it.
        skbs: u32,
    },
    /// The list is through.
    ListOut {
        /// Packets that were not dropped, as its caller is told.
        kept: u32,
    },
    /// A list that belongs to one call of a poll method is there, or is gone.
    ListScope {
        /// Context.
        napi: NapiId,
        /// It is there.
        open: bool,
    },
    /// A packet came to an end that looks at who owns it (`skb_orphan`).
    Owned {
        /// Identity of the packet.
        skb: u64,
        /// It has an owner (`skb->sk`).
        owner: bool,
        /// It has a destructor.
        destructor: bool,
    },
    /// A packet that may have a twin goes into GRO, which writes into it.
    Enters {
        /// Identity of the packet.
        skb: u64,
        /// Nobody else has its bytes.
        exclusive: bool,
    },
    /// A packet refers to an object from here on.
    RefGet {
        /// What it is: a connection, a page of a pool.
        kind: &'static str,
        /// Which.
        object: u64,
    },
    /// A reference was given back, in the manner of that kind.
    RefPut {
        /// What it is held to be.
        kind: &'static str,
        /// Which.
        object: u64,
    },
    /// A frame is sent to the port: hash of its bytes.
    Sent {
        /// Frame.
        number: u64,
        /// Hash.
        sum: u32,
    },
    /// A socket read a packet: hash of its bytes.
    Read {
        /// Identity of the packet.
        skb: u64,
        /// Hash.
        sum: u32,
    },
    /// The next entry that a poll takes tells of so many packets, which are taken together.
    Entry {
        /// Queue.
        cq: CqId,
        /// Packets.
        packets: u32,
    },
    /// A driver added to the score by which it moderates its interrupts.
    Score {
        /// Its queue.
        cq: CqId,
        /// All that was ever added.
        total: u64,
    },
}

/// Hash of bytes, for [`SkbStep::Sent`] and [`SkbStep::Read`]: FNV-1a.
pub fn sum_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
