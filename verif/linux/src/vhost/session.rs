//! A session: what the front end has set up so far, and the answer to each of its requests.

use super::message::{self, RegionEntry, Request};
use super::ring::{RingError, SplitRing};
use crate::memory::{MemoryError, SharedMemory};
use std::fs::File;
use std::os::fd::OwnedFd;

/// Rings of a device behind PCI over virtio.
pub const RINGS: usize = 2;
/// Ring of commands.
pub const COMMANDS: usize = 0;
/// Ring of interrupts.
pub const INTERRUPTS: usize = 1;

/// Features that are offered.
pub const FEATURES: u64 = message::F_PROTOCOL | message::F_VERSION_1;
/// Protocol features that are offered, and needed.
pub const PROTOCOL: u64 = message::P_REPLY_ACK | message::P_BACKEND_REQ | message::P_INBAND;

/// What a front end does wrong.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It wants what was not offered.
    #[error("the front end sets {what} {asked:#x}, of which {offered:#x} were offered")]
    Features {
        /// Which set.
        what: &'static str,
        /// Wanted.
        asked: u64,
        /// Offered.
        offered: u64,
    },
    /// It can not do what this needs.
    #[error(
        "the front end lacks protocol features {missing:#x}: kicks as messages and a channel back \
         are needed (a kernel since 5.7 has them)"
    )]
    Missing {
        /// Features.
        missing: u64,
    },
    /// A ring that is not there.
    #[error("the front end speaks of ring {ring}, there are {RINGS}")]
    NoRing {
        /// Number.
        ring: u32,
    },
    /// The rings are set up before the memory that they lie in.
    #[error("the front end sets up ring {ring} before it shares memory")]
    NoMemory {
        /// Number.
        ring: u32,
    },
    /// An index that rings do not have.
    #[error("ring {ring} is to begin at {index}, which is above 65535")]
    Base {
        /// Number.
        ring: u32,
        /// Index.
        index: u32,
    },
    /// Ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// What follows from a request.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Answer that belongs to the request, whether or not one was asked for.
    pub reply: Option<Vec<u8>>,
    /// Ring in which there are buffers.
    pub kicked: Option<usize>,
    /// Channel for requests of the back end.
    pub channel: Option<OwnedFd>,
}

/// State of a session.
#[derive(Debug)]
pub struct Session {
    /// What is shared.
    pub memory: SharedMemory,
    /// Rings.
    pub rings: [SplitRing; RINGS],
}

impl Default for Session {
    fn default() -> Self {
        let rings = [SplitRing::new(0), SplitRing::new(1)];
        Self { memory: SharedMemory::default(), rings }
    }
}

impl Session {
    fn ring(&mut self, ring: u32) -> Result<&mut SplitRing, SessionError> {
        self.rings.get_mut(ring as usize).ok_or(SessionError::NoRing { ring })
    }

    /// Takes a request; its number is for the answer.
    pub fn take(
        &mut self,
        number: u32,
        request: Request,
        fds: Vec<OwnedFd>,
    ) -> Result<Outcome, SessionError> {
        let mut outcome = Outcome::default();
        match request {
            Request::SetOwner => {}
            Request::GetFeatures => outcome.reply = Some(message::reply_u64(number, FEATURES)),
            Request::GetProtocolFeatures => {
                outcome.reply = Some(message::reply_u64(number, PROTOCOL));
            }
            Request::SetFeatures(asked) => offered("features", asked, FEATURES)?,
            Request::SetProtocolFeatures(asked) => {
                offered("protocol features", asked, PROTOCOL)?;
                if asked != PROTOCOL {
                    return Err(SessionError::Missing { missing: PROTOCOL & !asked });
                }
            }
            Request::SetBackendReq => outcome.channel = fds.into_iter().next(),
            Request::SetMemTable(regions) => self.share(regions, fds)?,
            Request::SetVringNum { ring, entries } => self.ring(ring)?.set_entries(entries)?,
            Request::SetVringBase { ring, index } => {
                let at = u16::try_from(index).map_err(|_| SessionError::Base { ring, index })?;
                self.ring(ring)?.set_base(at);
            }
            Request::SetVringAddr { ring, desc, used, avail } => {
                self.place(ring, desc, avail, used)?;
            }
            Request::SetVringEnable { ring, enabled } => {
                let state = self.ring(ring)?;
                state.enable(enabled);
                // Buffers may have been offered before.
                outcome.kicked = enabled.then_some(ring as usize);
            }
            Request::GetVringBase { ring } => {
                let state = self.ring(ring)?;
                state.enable(false);
                let index = u32::from(state.base());
                outcome.reply = Some(message::reply_state(number, ring, index));
            }
            Request::VringKick { ring } => {
                self.ring(ring)?;
                outcome.kicked = Some(ring as usize);
            }
        }
        Ok(outcome)
    }

    /// Rings that lie in memory that is no longer shared are off.
    fn share(&mut self, regions: Vec<RegionEntry>, fds: Vec<OwnedFd>) -> Result<(), SessionError> {
        let regions = regions.into_iter().zip(fds.into_iter().map(File::from)).collect();
        self.memory = SharedMemory::new(regions)?;
        self.rings = Session::default().rings;
        Ok(())
    }

    fn place(&mut self, ring: u32, desc: u64, avail: u64, used: u64) -> Result<(), SessionError> {
        if self.memory.is_empty() {
            return Err(SessionError::NoMemory { ring });
        }
        let bus = |user| self.memory.from_user(user);
        let (desc, avail, used) = (bus(desc)?, bus(avail)?, bus(used)?);
        let Self { memory, rings } = self;
        let state = rings.get_mut(ring as usize).ok_or(SessionError::NoRing { ring })?;
        Ok(state.set_place(memory, desc, avail, used)?)
    }
}

fn offered(what: &'static str, asked: u64, offered: u64) -> Result<(), SessionError> {
    if asked & !offered != 0 {
        return Err(SessionError::Features { what, asked, offered });
    }
    Ok(())
}
