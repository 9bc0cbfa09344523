//! The few calls that std has no name for. All `unsafe` of the guest is here.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub const AF_INET: c_int = 2;
pub const AF_NETLINK: c_int = 16;
pub const AF_PACKET: c_int = 17;
pub const SOCK_DGRAM: c_int = 2;
pub const SOCK_RAW: c_int = 3;
pub const SOL_SOCKET: c_int = 1;
const SOCK_CLOEXEC: c_int = 0o2000000;
const POLLIN: i16 = 1;

/// `struct ifreq` on 64 bits: a name of 16 bytes and a union of 24.
pub const IFREQ: usize = 40;
/// Room for whatever an ethtool command may write back.
pub const ETHTOOL_BYTES: usize = 64 * 1024;

mod c {
    use super::*;

    #[repr(C)]
    pub struct IoVec {
        pub base: *mut c_void,
        pub len: usize,
    }

    #[repr(C)]
    pub struct MsgHdr {
        pub name: *mut c_void,
        pub name_len: u32,
        pub iov: *mut IoVec,
        pub iov_len: usize,
        pub control: *mut c_void,
        pub control_len: usize,
        pub flags: c_int,
    }

    #[repr(C)]
    pub struct PollFd {
        pub fd: c_int,
        pub events: i16,
        pub revents: i16,
    }

    extern "C" {
        pub fn mount(
            source: *const c_char,
            target: *const c_char,
            kind: *const c_char,
            flags: c_ulong,
            data: *const c_void,
        ) -> c_int;
        pub fn reboot(how: c_int) -> c_int;
        pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
        pub fn bind(fd: c_int, address: *const c_void, len: u32) -> c_int;
        pub fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int;
        pub fn setsockopt(
            fd: c_int,
            level: c_int,
            name: c_int,
            value: *const c_void,
            len: u32,
        ) -> c_int;
        pub fn getsockopt(
            fd: c_int,
            level: c_int,
            name: c_int,
            value: *mut c_void,
            len: *mut u32,
        ) -> c_int;
        pub fn sendto(
            fd: c_int,
            bytes: *const c_void,
            len: usize,
            flags: c_int,
            address: *const c_void,
            address_len: u32,
        ) -> isize;
        pub fn recvmsg(fd: c_int, message: *mut MsgHdr, flags: c_int) -> isize;
        pub fn poll(fds: *mut PollFd, count: c_ulong, timeout_ms: c_int) -> c_int;
        pub fn sync();
    }
}

fn check(result: c_long) -> io::Result<c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn text(what: &str) -> io::Result<CString> {
    CString::new(what).map_err(|_| io::Error::other("a zero byte in a name"))
}

/// Mounts a file system that has no device.
pub fn mount(source: &str, target: &str, kind: &str) -> io::Result<()> {
    let (source, target, kind) = (text(source)?, text(target)?, text(kind)?);
    // SAFETY: three strings that live through the call; no data.
    let result =
        unsafe { c::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    check(result.into()).map(drop)
}

/// Ends the machine; comes back only with an error.
pub fn power_off() -> io::Error {
    const RB_POWER_OFF: c_int = 0x4321_fedc;
    // SAFETY: neither call takes memory.
    unsafe {
        c::sync();
        c::reboot(RB_POWER_OFF);
    }
    io::Error::last_os_error()
}

/// A new socket.
pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let fd = check(unsafe { c::socket(domain, kind | SOCK_CLOEXEC, protocol) }.into())?;
    // SAFETY: the descriptor is new and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Binds to an address in the layout of its family.
pub fn bind(fd: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    // SAFETY: the address is read within its length.
    let result = unsafe { c::bind(fd.as_raw_fd(), address.as_ptr().cast(), address.len() as u32) };
    check(result.into()).map(drop)
}

/// An interface request: the kernel reads and writes the 40 bytes of a `struct ifreq` (a
/// `struct arpreq`, which is padded to as much, has 68 and is passed in a longer array).
pub fn ioctl<const N: usize>(
    fd: BorrowedFd<'_>,
    request: c_ulong,
    argument: &mut [u8; N],
) -> io::Result<()> {
    const { assert!(N >= IFREQ) };
    // SAFETY: callers use requests of SIOC*IF* and SIOCSARP, whose structures fit in N bytes.
    let result = unsafe { c::ioctl(fd.as_raw_fd(), request, argument.as_mut_ptr().cast()) };
    check(result.into()).map(drop)
}

/// SIOCETHTOOL: `request` goes down, what the kernel made of it comes back.
pub fn ethtool(fd: BorrowedFd<'_>, name: &[u8; 16], request: &[u8]) -> io::Result<Vec<u8>> {
    const SIOCETHTOOL: c_ulong = 0x8946;
    let mut room = vec![0u8; ETHTOOL_BYTES];
    room[..request.len()].copy_from_slice(request);
    let mut ifreq = [0u8; IFREQ];
    ifreq[..16].copy_from_slice(name);
    ifreq[16..24].copy_from_slice(&(room.as_mut_ptr() as usize).to_ne_bytes());
    // SAFETY: the request points at 64 KiB that live through the call, more than any command that
    // ethtool.rs sends writes back (it checks counts first).
    let result = unsafe { c::ioctl(fd.as_raw_fd(), SIOCETHTOOL, ifreq.as_mut_ptr().cast()) };
    check(result.into()).map(|_| room)
}

/// A socket option of four bytes, or of another size.
pub fn set_option(fd: BorrowedFd<'_>, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value is read within its length.
    let result = unsafe {
        c::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as u32)
    };
    check(result.into()).map(drop)
}

/// Reads a socket option of N bytes.
pub fn get_option<const N: usize>(
    fd: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
) -> io::Result<[u8; N]> {
    let (mut value, mut len) = ([0; N], N as u32);
    // SAFETY: at most `len` bytes are written.
    let result =
        unsafe { c::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &mut len) };
    check(result.into()).map(|_| value)
}

/// Sends a datagram; without an address to whom the socket is bound or connected.
pub fn send_to(fd: BorrowedFd<'_>, bytes: &[u8], address: &[u8]) -> io::Result<usize> {
    let to = if address.is_empty() { std::ptr::null() } else { address.as_ptr() };
    // SAFETY: both are read within their lengths.
    let result = unsafe {
        c::sendto(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            0,
            to.cast(),
            address.len() as u32,
        )
    };
    check(result as c_long).map(|n| n as usize)
}

/// One message with its sender's address and control data.
pub struct Message {
    /// Bytes of the message, also of what did not fit.
    pub len: usize,
    pub address: [u8; 32],
    pub control: [u64; 16],
    pub control_len: usize,
}

/// Receives into `bytes`; the length is that of the whole message, even if it did not fit.
pub fn receive(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<Message> {
    const MSG_TRUNC: c_int = 0x20;
    let mut message = Message { len: 0, address: [0; 32], control: [0; 16], control_len: 0 };
    let mut iov = c::IoVec { base: bytes.as_mut_ptr().cast(), len: bytes.len() };
    let mut header = c::MsgHdr {
        name: message.address.as_mut_ptr().cast(),
        name_len: message.address.len() as u32,
        iov: &mut iov,
        iov_len: 1,
        control: message.control.as_mut_ptr().cast(),
        control_len: size_of_val(&message.control),
        flags: 0,
    };
    // SAFETY: every pointer is to memory of the length beside it, alive through the call.
    let result = unsafe { c::recvmsg(fd.as_raw_fd(), &mut header, MSG_TRUNC) };
    message.len = check(result as c_long)? as usize;
    message.control_len = header.control_len;
    Ok(message)
}

/// Waits until something can be read; false when the time is over first.
pub fn wait_readable(fd: BorrowedFd<'_>, timeout_ms: u64) -> io::Result<bool> {
    let mut one = c::PollFd { fd: fd.as_raw_fd(), events: POLLIN, revents: 0 };
    let timeout = c_int::try_from(timeout_ms).unwrap_or(c_int::MAX);
    // SAFETY: one entry, as the count says.
    let result = unsafe { c::poll(&mut one, 1, timeout) };
    check(result.into()).map(|n| n > 0)
}
