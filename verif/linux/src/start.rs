//! The answer to the first message about time: it must come with two descriptors, for memory that
//! all participants share and for a log. Neither is used here: the memory says a version that no
//! kernel knows, so that it goes on with messages alone.

use rustix::fs::{memfd_create, MemfdFlags};
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// A kernel looks at one page before it decides.
const PAGE_BYTES: u64 = 4096;

/// Sends the answer with both descriptors.
pub fn answer(socket: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    let memory = memfd_create("pollproof-time", MemfdFlags::CLOEXEC)?;
    let memory = File::from(memory);
    memory.set_len(PAGE_BYTES)?;
    let log = File::options().write(true).open("/dev/null")?;
    let fds = [memory.as_fd(), log.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for two descriptors"));
    }
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent != bytes.len() {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    Ok(())
}
