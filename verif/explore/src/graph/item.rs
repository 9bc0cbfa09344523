//! A graph as a list of choices, in the order in which its events were added: what the search keeps
//! for later, what a checkpoint holds and what a token says. Everything else is found again by
//! running the program.

/// Source of a read that sees the initial value.
pub(crate) const INIT: u16 = u16::MAX;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Load, or the reading half of a read-modify-write.
    Read,
    /// Store.
    Write,
    /// The writing half of a read-modify-write: directly after what was read.
    RmwWrite,
    /// A place in the queue of a lock, behind `rf`.
    Request,
    /// The lock is had: the one before in the queue has given it back.
    Grant,
    /// The lock is given back.
    Unlock,
    /// Sequentially consistent fence.
    Fence,
    /// A choice; `rf` is the number.
    Choose,
    /// Nobody else can go on.
    Rest,
}

impl Kind {
    /// Whether it has a place among the writes of its location.
    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, Self::Write | Self::RmwWrite | Self::Request)
    }

    /// Whether a write of another event may become its source.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Request)
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) thread: u8,
    pub(crate) kind: Kind,
    /// Location.
    pub(crate) loc: u16,
    /// Of reads and requests, the event that it reads from.
    pub(crate) rf: u16,
    /// Of writes and requests, the place in coherence order, from 1.
    pub(crate) pos: u16,
}

/// A graph. Its events in the order of their adding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item(pub(crate) Vec<Packed>);
