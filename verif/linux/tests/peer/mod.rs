//! A front end for tests: what User Mode Linux does with its socket and its memory, by hand.

#![allow(dead_code, reason = "each test file uses a part of it")]

use pollproof_intel_82599::{Intel82599, Medium, Params};
use pollproof_linux::serve::{Door, Limits, ServeError, Server, Time};
use pollproof_linux::timing::Plan;
use pollproof_linux::wall::Wall;
use pollproof_linux::world::{Phase, Street, World};
use pollproof_pcie::LinkParams;
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::Duration;

pub const BASE: u64 = 0x10_0000;
pub const BYTES: u64 = 1 << 20;
pub const ENTRIES: u16 = 16;

/// Places of a ring's parts and of its buffers, from the start of memory.
#[derive(Clone, Copy)]
pub struct RingPlace {
    pub desc: u64,
    pub avail: u64,
    pub used: u64,
    pub buffers: u64,
}

pub fn ring_place(ring: u64) -> RingPlace {
    let at = 0x8000 * ring;
    RingPlace { desc: at, avail: at + 0x1000, used: at + 0x2000, buffers: at + 0x3000 }
}

pub fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let words = [request, 1 | flags, payload.len() as u32];
    let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes.extend(payload);
    bytes
}

pub fn state(ring: u32, number: u32) -> Vec<u8> {
    [ring.to_le_bytes(), number.to_le_bytes()].concat()
}

pub fn memory_table(size: u64) -> Vec<u8> {
    let mut table = vec![1, 0, 0, 0, 0, 0, 0, 0];
    for word in [BASE, size, BASE, 0] {
        table.extend(word.to_le_bytes());
    }
    table.resize(8 + 64, 0);
    table
}

pub fn ring_address(ring: u32) -> Vec<u8> {
    let place = ring_place(ring.into());
    let mut bytes = state(ring, 0);
    for part in [place.desc, place.used, place.avail, u64::MAX] {
        let addr = if part == u64::MAX { part } else { BASE + part };
        bytes.extend(addr.to_le_bytes());
    }
    bytes
}

pub fn memory_file(size: u64) -> File {
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).expect("a memfd"));
    file.set_len(size).expect("its size");
    file
}

pub fn send(socket: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(fds)));
    }
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL);
    assert_eq!(sent.expect("sent"), bytes.len());
}

pub fn device() -> Intel82599 {
    let medium = Medium::Sfp { module: true };
    Intel82599::new(Params { medium, ..Params::default() })
}

pub fn limits() -> Limits {
    let second = Duration::from_secs(20);
    Limits { wall: second, silence: second, ..Limits::default() }
}

/// A server of a device without time of its own.
pub fn server(socket: UnixStream, phases: Vec<Phase>) -> Server<Intel82599> {
    let street = Street::new(phases, None);
    let world = World::new(device(), street, Plan::default(), LinkParams::zero());
    Server::new(world, Door::Open(socket), Time::Real(Wall::start()), limits()).expect("a server")
}

/// Serves what lies in a socket already, up to its end.
pub fn serve_to_end(socket: UnixStream) -> Result<(), ServeError> {
    let (gone, _keep) = UnixStream::pair().expect("a pair");
    server(socket, Vec::new()).serve(gone.as_fd())
}

/// The front end, with a server in a thread of its own.
pub struct FrontEnd {
    pub socket: UnixStream,
    pub channel: UnixStream,
    pub memory: File,
    next: [u16; 2],
    server: Option<JoinHandle<Result<(), String>>>,
}

impl FrontEnd {
    /// A session as Linux sets it up.
    pub fn connect() -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a pair");
        let server = std::thread::spawn(move || serve_to_end(theirs).map_err(|e| e.to_string()));
        let (channel, their_channel) = UnixStream::pair().expect("a pair");
        channel.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let memory = memory_file(BYTES);
        let mut front = Self { socket, channel, memory, next: [0; 2], server: Some(server) };
        front.set_up(their_channel.into());
        front
    }

    fn set_up(&mut self, channel: OwnedFd) {
        self.acknowledged(3, &[], &[]);
        assert_eq!(self.asked(1), 1 << 30 | 1 << 32);
        assert_eq!(self.asked(15), 1 << 3 | 1 << 5 | 1 << 14);
        self.acknowledged(16, &(1_u64 << 3 | 1 << 5 | 1 << 14).to_le_bytes(), &[]);
        self.acknowledged(21, &[], &[channel.as_fd()]);
        self.acknowledged(2, &(1_u64 << 30 | 1 << 32).to_le_bytes(), &[]);
        let memory = self.memory.try_clone().expect("a clone");
        self.acknowledged(5, &memory_table(BYTES), &[memory.as_fd()]);
        for ring in 0..2 {
            self.acknowledged(8, &state(ring, ENTRIES.into()), &[]);
            self.acknowledged(10, &state(ring, 0), &[]);
            self.acknowledged(9, &ring_address(ring), &[]);
        }
        for ring in 0..2 {
            self.acknowledged(18, &state(ring, 1), &[]);
        }
        // Buffers for interrupts.
        for n in 0..4 {
            let addr = ring_place(1).buffers + 64 * n;
            self.offer(1, &[(addr, 20, true)]);
        }
        self.kick(1);
    }

    fn reply(&mut self) -> Vec<u8> {
        let mut reply = [0; 20];
        self.socket.read_exact(&mut reply).expect("a reply");
        assert_eq!(reply[4..12], [5, 0, 0, 0, 8, 0, 0, 0], "flags and size");
        reply[12..].to_vec()
    }

    pub fn acknowledged(&mut self, request: u32, payload: &[u8], fds: &[BorrowedFd<'_>]) {
        send(&self.socket, &message(request, 8, payload), fds);
        assert_eq!(self.reply(), [0; 8], "request {request} is acknowledged");
    }

    pub fn asked(&mut self, request: u32) -> u64 {
        send(&self.socket, &message(request, 0, &[]), &[]);
        u64::from_le_bytes(self.reply().try_into().expect("8 bytes"))
    }

    pub fn kick(&mut self, ring: u32) {
        self.acknowledged(35, &state(ring, 0), &[]);
    }

    /// Puts a chain of (place, bytes, written by the device) into a ring; gives its head.
    pub fn offer(&mut self, ring: usize, parts: &[(u64, u32, bool)]) -> u16 {
        let place = ring_place(ring as u64);
        let head = (self.next[ring] * 2) % ENTRIES;
        for (n, (addr, len, writes)) in parts.iter().enumerate() {
            let index = head + n as u16;
            let more = n + 1 < parts.len();
            let flags = u16::from(more) | if *writes { 2 } else { 0 };
            let mut desc = (BASE + addr).to_le_bytes().to_vec();
            desc.extend(len.to_le_bytes());
            desc.extend(flags.to_le_bytes());
            desc.extend((index + 1).to_le_bytes());
            self.put(place.desc + 16 * u64::from(index), &desc);
        }
        let slot = u64::from(self.next[ring] % ENTRIES);
        self.put(place.avail + 4 + 2 * slot, &head.to_le_bytes());
        self.next[ring] = self.next[ring].wrapping_add(1);
        self.put(place.avail + 2, &self.next[ring].to_le_bytes());
        head
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at).expect("memory");
    }

    pub fn get(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory.read_exact_at(&mut bytes, at).expect("memory");
        bytes
    }

    pub fn used_index(&self, ring: u64) -> u16 {
        let bytes = self.get(ring_place(ring).used + 2, 2);
        u16::from_le_bytes([bytes[0], bytes[1]])
    }

    /// A command, with room for so many bytes of answer.
    pub fn command(&mut self, op: u8, bar: u8, size: u32, addr: u64, data: &[u8]) -> u64 {
        let at = ring_place(0).buffers;
        let mut bytes = vec![op, bar, 0, 0];
        bytes.extend(size.to_le_bytes());
        bytes.extend(addr.to_le_bytes());
        bytes.extend(data);
        self.put(at, &bytes);
        let out = (at, bytes.len() as u32, false);
        let answer = at + 0x1000;
        self.put(answer, &[0xee; 8]);
        let before = self.used_index(0);
        if matches!(op, 1 | 3) {
            self.offer(0, &[out, (answer, size, true)]);
        } else {
            self.offer(0, &[out]);
        }
        self.kick(0);
        assert_eq!(self.used_index(0), before.wrapping_add(1), "the command came back");
        let mut value = self.get(answer, size.min(8) as usize);
        value.resize(8, 0);
        u64::from_le_bytes(value.try_into().expect("8 bytes"))
    }

    pub fn config_read(&mut self, offset: u64, size: u32) -> u64 {
        self.command(1, 0, size, offset, &[])
    }

    pub fn config_write(&mut self, offset: u64, size: u32, value: u64) {
        self.command(2, 0, size, offset, &value.to_le_bytes());
    }

    pub fn read(&mut self, bar: u8, offset: u32) -> u32 {
        self.command(3, bar, 4, offset.into(), &[]) as u32
    }

    pub fn write(&mut self, bar: u8, offset: u32, value: u32) {
        self.command(4, bar, 4, offset.into(), &value.to_le_bytes());
    }

    /// The next interrupt: what was written into its buffer.
    pub fn interrupt(&mut self) -> Vec<u8> {
        let mut call = [0; 20];
        self.channel.read_exact(&mut call).expect("a call");
        let used = self.used_index(1).wrapping_sub(1);
        let slot = u64::from(used % ENTRIES);
        let entry = self.get(ring_place(1).used + 4 + 8 * slot, 8);
        assert_eq!(entry[4..8], 20_u32.to_le_bytes());
        // Buffers lie in the order of their heads, two descriptors apart.
        let buffer = u64::from(entry[0]) / 2;
        self.get(ring_place(1).buffers + 64 * buffer, 20)
    }

    /// Leaves; what the server says at the end.
    pub fn leave(mut self) -> Result<(), String> {
        self.socket.shutdown(std::net::Shutdown::Both).expect("a shutdown");
        self.server.take().expect("a server").join().expect("no panic")
    }

    /// Sends bytes that are none of the above.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("sent");
    }

    /// What the server says when it ends by itself.
    pub fn outcome(mut self) -> Result<(), String> {
        self.server.take().expect("a server").join().expect("no panic")
    }
}
