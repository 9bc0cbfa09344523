//! The line protocol of qtest, and the process behind it (`softmmu/qtest.c`).
//!
//! A request is a line, its answer another that begins with `OK`; lines that begin with `IRQ` may
//! come between. Nothing that the peer does is trusted: answers are bounded in length, number and
//! time, and the process is killed with the connection, whatever happened.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest time that the peer may take for a line or for the reading of one.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer, bytes.
const LINE_MAX: usize = 1 << 20;
/// Most messages before an answer that are not one.
const ASIDES_MAX: u32 = 1000;

/// Why the peer can not be measured.
#[derive(Debug, thiserror::Error)]
pub enum QtestError {
    /// It does not start.
    #[error("QEMU does not start: {0}")]
    Start(std::io::Error),
    /// It does not read or answer in time, or has ended.
    #[error("QEMU does not answer {request:?}: {error}")]
    Silent {
        /// What it was asked.
        request: String,
        /// What happened.
        error: std::io::Error,
    },
    /// The answer is no `OK`, too long, or no number.
    #[error("QEMU answers {request:?} by {answer:?}")]
    Answer {
        /// What it was asked.
        request: String,
        /// The beginning of what came.
        answer: String,
    },
    /// The device does not do what it should.
    #[error("the device of QEMU {0}")]
    Device(String),
}

/// A QEMU without a guest.
pub struct Qtest {
    child: Option<Child>,
    stream: UnixStream,
    /// What came behind the last answer.
    pending: Vec<u8>,
}

impl Qtest {
    /// Starts `program` with `args` and qtest on its standard input and output.
    pub fn start(program: &Path, args: &[&str]) -> Result<Self, QtestError> {
        let (ours, theirs) = UnixStream::pair().map_err(QtestError::Start)?;
        let input = OwnedFd::from(theirs.try_clone().map_err(QtestError::Start)?);
        let child = Command::new(program)
            .args(args)
            .args(["-qtest", "stdio", "-qtest-log", "/dev/null"])
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::null())
            .spawn()
            .map_err(QtestError::Start)?;
        Self::over(ours, Some(child))
    }

    /// The protocol over a connection; `child` is killed with it.
    pub fn over(stream: UnixStream, child: Option<Child>) -> Result<Self, QtestError> {
        let qtest = Self { child, stream, pending: Vec::new() };
        qtest.stream.set_read_timeout(Some(PATIENCE)).map_err(QtestError::Start)?;
        qtest.stream.set_write_timeout(Some(PATIENCE)).map_err(QtestError::Start)?;
        Ok(qtest)
    }

    /// The process, for its accounts.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Sends a request; gives what comes behind `OK`.
    fn ask(&mut self, request: &str) -> Result<String, QtestError> {
        let silent = |error| QtestError::Silent { request: short(request), error };
        self.stream.write_all(format!("{request}\n").as_bytes()).map_err(silent)?;
        for _ in 0..ASIDES_MAX {
            let line = self.line().map_err(silent)?;
            if line.starts_with("IRQ") {
                continue;
            }
            let answer = line.strip_prefix("OK").map(|rest| rest.trim().to_owned());
            return answer.ok_or_else(|| wrong(request, &line));
        }
        Err(wrong(request, "one message after the other"))
    }

    /// The next line, without its end.
    fn line(&mut self) -> std::io::Result<String> {
        let mut looked = 0;
        loop {
            let end =
                self.pending.get(looked..).and_then(|new| new.iter().position(|b| *b == b'\n'));
            if let Some(at) = end {
                let rest = self.pending.split_off(looked + at + 1);
                let line = std::mem::replace(&mut self.pending, rest);
                return Ok(String::from_utf8_lossy(&line).trim().to_owned());
            }
            looked = self.pending.len();
            if looked > LINE_MAX {
                return Err(std::io::Error::other("a line without end"));
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes)?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.pending.extend_from_slice(bytes.get(..read).unwrap_or_default());
        }
    }

    fn number(&mut self, request: &str) -> Result<u32, QtestError> {
        let answer = self.ask(request)?;
        let digits = answer.strip_prefix("0x").unwrap_or_default();
        let value = u64::from_str_radix(digits, 16).ok();
        value.and_then(|v| u32::try_from(v).ok()).ok_or_else(|| wrong(request, &answer))
    }

    /// Writes a word to an address of the bus.
    pub fn writel(&mut self, addr: u64, value: u32) -> Result<(), QtestError> {
        self.ask(&format!("writel {addr:#x} {value:#x}")).map(drop)
    }

    /// Reads one.
    pub fn readl(&mut self, addr: u64) -> Result<u32, QtestError> {
        self.number(&format!("readl {addr:#x}"))
    }

    /// Writes a word to an I/O port.
    pub fn outl(&mut self, port: u16, value: u32) -> Result<(), QtestError> {
        self.ask(&format!("outl {port:#x} {value:#x}")).map(drop)
    }

    /// Reads one.
    pub fn inl(&mut self, port: u16) -> Result<u32, QtestError> {
        self.number(&format!("inl {port:#x}"))
    }

    /// Writes bytes to memory.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), QtestError> {
        // In pieces: QEMU reads a request as a whole.
        for (n, piece) in (0u64..).zip(bytes.chunks(4096)) {
            let hex: String = piece.iter().map(|byte| format!("{byte:02x}")).collect();
            let at = addr + 4096 * n;
            self.ask(&format!("write {at:#x} {:#x} 0x{hex}", piece.len()))?;
        }
        Ok(())
    }

    /// Reads `len` bytes of memory.
    pub fn read(&mut self, addr: u64, len: usize) -> Result<Vec<u8>, QtestError> {
        let request = format!("read {addr:#x} {len:#x}");
        let answer = self.ask(&request)?;
        let hex = answer.strip_prefix("0x").unwrap_or_default().as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
        let (pairs, odd) = hex.as_chunks();
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        bytes.filter(|b| b.len() == len && odd.is_empty()).ok_or_else(|| wrong(&request, &answer))
    }
}

impl Drop for Qtest {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The beginning of a text, for messages.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

fn wrong(request: &str, answer: &str) -> QtestError {
    QtestError::Answer { request: short(request), answer: short(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that has said `says` before it was asked, and then hangs up.
    fn peer(says: &[u8]) -> Qtest {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.write_all(says).expect("room for it");
        theirs.shutdown(std::net::Shutdown::Write).expect("a connection");
        // Its other half stays open for requests.
        std::mem::forget(theirs);
        Qtest::over(ours, None).expect("a connection")
    }

    #[test]
    fn answers_are_read_and_messages_between_are_passed_over() {
        let mut qtest = peer(b"IRQ raise 3\nOK 0x00000012\nOK\nOK 0x0aff\n");
        assert_eq!(qtest.readl(0x10).ok(), Some(0x12));
        assert!(qtest.writel(0x10, 1).is_ok());
        assert_eq!(qtest.read(0x10, 2).ok(), Some(vec![0x0a, 0xff]));
        assert!(matches!(qtest.readl(0), Err(QtestError::Silent { .. })));
    }

    #[test]
    fn a_peer_that_answers_nonsense_is_an_error_and_no_more() {
        let junk: [&[u8]; 6] = [
            b"FAIL\n",
            b"OK 0xzz\n",
            b"OK 0x1ffffffff\n",
            b"OK\n",
            b"\xff\xfe\n",
            b"no end of line",
        ];
        for says in junk {
            assert!(peer(says).readl(0).is_err(), "{says:?}");
        }
        for says in [&b"OK 0x0\n"[..], b"OK 0x000\n", b"OK 0xg0\n", b"OK 0x0000000000\n"] {
            assert!(peer(says).read(0, 2).is_err(), "{says:?}");
        }
        let asides = b"IRQ raise 1\n".repeat(2000);
        assert!(matches!(peer(&asides).readl(0), Err(QtestError::Answer { .. })));
    }

    #[test]
    fn a_program_that_is_no_qemu_is_told() {
        assert!(matches!(Qtest::start(Path::new("/nowhere"), &[]), Err(QtestError::Start(_))));
        let mut other = Qtest::start(Path::new("/bin/true"), &[]).expect("it starts");
        assert!(matches!(other.readl(0), Err(QtestError::Silent { .. })));
    }
}
