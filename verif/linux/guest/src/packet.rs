//! What an interface receives, as a packet socket sees it: every frame, in order.

use crate::{iface::Iface, out, sys};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

const ETH_P_ALL: u16 = 3;
const SO_RCVBUFFORCE: i32 = 33;
const SOL_PACKET: i32 = 263;
const PACKET_STATISTICS: i32 = 6;
const PACKET_AUXDATA: i32 = 8;
const PACKET_OUTGOING: u8 = 4;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const RECEIVE_BUFFER_BYTES: u32 = 16 << 20;
/// The longest that GRO makes of many, and its header.
const FRAME_BYTES_MAX: usize = 0x1_0000 + 64;
/// Frames of a run that are remembered, and bytes of those that are printed whole.
const FRAMES_MAX: usize = 200_000;
const HEX_BYTES_MAX: usize = 8 << 20;
/// An interface that is down gives errors; after so many in a row there is nothing to wait for.
const ERRORS_MAX: u32 = 10_000;

struct Frame {
    len: usize,
    hash: u64,
    bytes: Option<Vec<u8>>,
}

#[derive(Default)]
struct Seen {
    frames: Vec<Frame>,
    /// Frames beyond what is remembered.
    beyond: usize,
    kept_bytes: usize,
    /// Already printed.
    printed: usize,
}

/// A capture that runs until the machine is switched off.
pub struct Capture {
    socket: OwnedFd,
    keep: bool,
    seen: Mutex<Seen>,
    more: Condvar,
}

impl Capture {
    /// Opens the socket and starts to listen; `keep` keeps the bytes as well.
    pub fn start(iface: &Iface, keep: bool) -> io::Result<Arc<Self>> {
        let socket = sys::socket(sys::AF_PACKET, sys::SOCK_RAW, ETH_P_ALL.to_be().into())?;
        let fd = socket.as_fd();
        let size = RECEIVE_BUFFER_BYTES.to_ne_bytes();
        sys::set_option(fd, sys::SOL_SOCKET, SO_RCVBUFFORCE, &size)?;
        sys::set_option(fd, SOL_PACKET, PACKET_AUXDATA, &1u32.to_ne_bytes())?;
        let mut address = [0; 20];
        address[..2].copy_from_slice(&(sys::AF_PACKET as u16).to_ne_bytes());
        address[2..4].copy_from_slice(&ETH_P_ALL.to_be_bytes());
        address[4..8].copy_from_slice(&iface.index()?.to_ne_bytes());
        sys::bind(fd, &address)?;
        let (seen, more) = (Mutex::default(), Condvar::new());
        let capture = Arc::new(Self { socket, keep, seen, more });
        let listener = Arc::clone(&capture);
        std::thread::Builder::new().spawn(move || listener.listen())?;
        Ok(capture)
    }

    fn listen(&self) {
        let mut room = vec![0; FRAME_BYTES_MAX];
        let mut errors = 0;
        while errors < ERRORS_MAX {
            match sys::receive(self.socket.as_fd(), &mut room) {
                Ok(message) => {
                    errors = 0;
                    // struct sockaddr_ll: the kind of packet is byte 10.
                    if message.address[10] != PACKET_OUTGOING {
                        self.add(whole(&room[..message.len.min(room.len())], &message));
                    }
                }
                Err(_) => {
                    errors += 1;
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    fn add(&self, bytes: Vec<u8>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.frames.len() >= FRAMES_MAX {
            seen.beyond += 1;
            return;
        }
        let (len, hash) = (bytes.len(), fnv1a(&bytes));
        let keeps = self.keep && seen.kept_bytes + len <= HEX_BYTES_MAX;
        seen.kept_bytes += if keeps { len } else { 0 };
        seen.frames.push(Frame { len, hash, bytes: keeps.then_some(bytes) });
        self.more.notify_all();
    }

    /// Waits for the first `count` frames; gives how many there are then.
    pub fn wait(&self, count: usize, timeout: Duration) -> usize {
        let until = Instant::now() + timeout;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        while seen.frames.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            seen = match self.more.wait_timeout(seen, left) {
                Ok(woken) => woken.0,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        seen.frames.len()
    }

    /// Prints what came since it was printed last, then how many came in all and were lost here.
    pub fn print(&self, line: usize) -> io::Result<()> {
        let lost: [u8; 8] = sys::get_option(self.socket.as_fd(), SOL_PACKET, PACKET_STATISTICS)?;
        let lost = u32::from_ne_bytes([lost[4], lost[5], lost[6], lost[7]]);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, frame) in seen.frames.iter().enumerate().skip(seen.printed) {
            let mut text = format!("frame {index} len={} hash={:016x}", frame.len, frame.hash);
            if let Some(bytes) = &frame.bytes {
                text.push_str(" hex=");
                text.push_str(&hex(bytes));
            }
            out::line(line, &text);
        }
        seen.printed = seen.frames.len();
        let (count, beyond) = (seen.frames.len(), seen.beyond);
        out::line(line, &format!("captured {count} lost={lost} beyond={beyond}"));
        Ok(())
    }
}

/// The frame as it was on the wire: a VLAN tag that the NIC took out is put back.
fn whole(bytes: &[u8], message: &sys::Message) -> Vec<u8> {
    // One cmsghdr of 16 bytes, then struct tpacket_auxdata: status first, TCI and TPID last.
    let control: Vec<u8> = message.control.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let half = |at: usize| u16::from_ne_bytes([control[at], control[at + 1]]);
    let status = u32::from_ne_bytes([control[16], control[17], control[18], control[19]]);
    if message.control_len < 36 || status & TP_STATUS_VLAN_VALID == 0 || bytes.len() < 12 {
        return bytes.to_vec();
    }
    let tag = [half(34).to_be_bytes(), half(32).to_be_bytes()].concat();
    [&bytes[..12], &tag, &bytes[12..]].concat()
}

/// FNV-1a of 64 bits, piece by piece.
pub struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    pub fn value(&self) -> u64 {
        self.0
    }
}

/// FNV-1a of 64 bits.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = Fnv1a::default();
    hash.add(bytes);
    hash.value()
}

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(status: u32, tci: u16, tpid: u16) -> sys::Message {
        let mut control = [0u8; 128];
        control[16..20].copy_from_slice(&status.to_ne_bytes());
        control[32..34].copy_from_slice(&tci.to_ne_bytes());
        control[34..36].copy_from_slice(&tpid.to_ne_bytes());
        let mut words = [0; 16];
        for (word, bytes) in words.iter_mut().zip(control.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap());
        }
        sys::Message { len: 14, address: [0; 32], control: words, control_len: 36 }
    }

    #[test]
    fn a_tag_that_was_taken_out_is_put_back() {
        let frame: Vec<u8> = (0..14).collect();
        assert_eq!(whole(&frame, &message(0, 7, 0x8100)), frame);
        let tagged = whole(&frame, &message(TP_STATUS_VLAN_VALID, 7, 0x8100));
        assert_eq!(tagged, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x81, 0, 0, 7, 12, 13]);
    }

    #[test]
    fn hashes_are_those_of_the_published_vectors() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
