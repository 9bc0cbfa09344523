//! ICMP echo, over a raw socket.

use crate::{iface, out, sys};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

const IPPROTO_ICMP: i32 = 1;
const ECHO: u8 = 8;
const ECHO_REPLY: u8 = 0;
const PAYLOAD_MAX: usize = 60_000;

/// What to send and how long to wait.
pub struct Ping {
    pub to: Ipv4Addr,
    pub count: u16,
    pub interval: Duration,
    pub timeout: Duration,
    pub payload: usize,
}

impl Ping {
    /// Sends one after the other and prints each answer; an answer that fails to come is no error.
    pub fn run(&self, line: usize) -> io::Result<()> {
        if self.payload > PAYLOAD_MAX {
            return Err(io::Error::other(format!("a payload over {PAYLOAD_MAX} bytes")));
        }
        let socket = sys::socket(sys::AF_INET, sys::SOCK_RAW, IPPROTO_ICMP)?;
        let id = line as u16;
        let (mut received, mut unsent) = (0, 0);
        for sequence in 1..=self.count {
            let begin = Instant::now();
            let request = echo(id, sequence, self.payload);
            match sys::send_to(socket.as_fd(), &request, &iface::sockaddr_in(self.to)) {
                Ok(_) if self.answer(&socket, &request, begin)? => {
                    let ns = begin.elapsed().as_nanos();
                    out::line(line, &format!("reply seq={sequence} ns={ns}"));
                    received += 1;
                }
                Ok(_) => out::line(line, &format!("no-reply seq={sequence}")),
                Err(error) => {
                    out::line(line, &format!("unsent seq={sequence} {error}"));
                    unsent += 1;
                }
            }
            std::thread::sleep(self.interval);
        }
        out::line(line, &format!("ping sent={} received={received}", self.count - unsent));
        Ok(())
    }

    /// Whether the answer to `request` comes in time, with the same payload.
    fn answer(&self, socket: &OwnedFd, request: &[u8], begin: Instant) -> io::Result<bool> {
        let mut room = vec![0; PAYLOAD_MAX + 128];
        loop {
            let left = self.timeout.saturating_sub(begin.elapsed());
            let wait_ms = left.as_millis() as u64;
            if wait_ms == 0 || !sys::wait_readable(socket.as_fd(), wait_ms)? {
                return Ok(false);
            }
            let len = sys::receive(socket.as_fd(), &mut room)?.len.min(room.len());
            let header = usize::from(room[0] & 15) * 4;
            let Some(icmp) = room[..len].get(header..) else { continue };
            let is_ours = icmp.len() == request.len() && icmp[0] == ECHO_REPLY;
            // Type and checksum differ, the rest comes back as it was.
            if is_ours && icmp[4..] == request[4..] {
                return Ok(true);
            }
        }
    }
}

fn echo(id: u16, sequence: u16, payload: usize) -> Vec<u8> {
    let mut bytes = vec![ECHO, 0, 0, 0];
    bytes.extend(id.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend((0..payload).map(|i| i as u8));
    let sum = checksum(&bytes).to_be_bytes();
    bytes[2..4].copy_from_slice(&sum);
    bytes
}

/// The checksum of RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let word =
        |pair: &[u8]| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_request_sums_up_to_zero() {
        for payload in [0, 1, 56, 1472, 60_000] {
            assert_eq!(checksum(&echo(7, 3, payload)), 0);
        }
    }
}
