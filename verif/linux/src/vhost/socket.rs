//! Whole messages out of and into sockets, descriptors included.

use super::message::{Header, MessageError, Request, FDS_MAX, HEADER_BYTES};
use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags};
use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The message is malformed.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The front end left in the middle of a message.
    #[error("the front end left in the middle of a message")]
    Cut,
    /// The front end stopped in the middle of a message.
    #[error("the front end stopped in the middle of a message")]
    Stalled,
    /// More descriptors came than fit.
    #[error("a message came with more than {FDS_MAX} file descriptors")]
    Fds,
    /// What the system says.
    #[error("the socket of the front end: {0}")]
    System(io::Error),
}

impl From<io::Error> for SocketError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Cut,
            // The socket has a time limit for reads.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Stalled,
            _ => Self::System(error),
        }
    }
}

/// A request with what belongs to it.
#[derive(Debug)]
pub struct Received {
    /// Its header.
    pub header: Header,
    /// The request.
    pub request: Request,
    /// Descriptors that came with it.
    pub fds: Vec<OwnedFd>,
}

/// The next request; none when the front end has left.
pub fn receive(mut socket: &UnixStream) -> Result<Option<Received>, SocketError> {
    let mut head = [0; HEADER_BYTES];
    let (first, fds) = receive_with_fds(socket, &mut head)?;
    if first == 0 {
        return Ok(None);
    }
    if let Some(rest) = head.get_mut(first..).filter(|rest| !rest.is_empty()) {
        socket.read_exact(rest)?;
    }
    let header = Header::parse(&head)?;
    let mut payload = vec![0; header.size];
    socket.read_exact(&mut payload)?;
    let request = Request::parse(&header, &payload, fds.len())?;
    Ok(Some(Received { header, request, fds }))
}

/// Descriptors come with the first byte.
fn receive_with_fds(
    socket: &UnixStream,
    head: &mut [u8],
) -> Result<(usize, Vec<OwnedFd>), SocketError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(head)];
    let received = loop {
        match recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other.map_err(io::Error::from)?,
        }
    };
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(SocketError::Fds);
    }
    Ok((received.bytes, fds))
}
