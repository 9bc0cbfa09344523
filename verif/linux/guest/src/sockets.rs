//! Sockets that scenarios talk to: UDP and TCP echo, a slow sink, a paced sender.

use crate::{out, packet, sys};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

const SO_RCVBUFFORCE: i32 = 33;
const SO_BUSY_POLL: i32 = 46;
const SO_MAX_PACING_RATE: i32 = 47;
const SO_INCOMING_NAPI_ID: i32 = 56;
const SO_PREFER_BUSY_POLL: i32 = 69;
const SO_BUSY_POLL_BUDGET: i32 = 70;
const RECEIVE_BUFFER_BYTES: u32 = 8 << 20;
const DATAGRAM_MAX: usize = 65_536;
const RECORDS_MAX: usize = 100_000;
const CONNECTIONS_MAX: usize = 256;

/// How a socket is to be polled.
#[derive(Clone, Copy, Default)]
pub struct Polling {
    pub busy_usecs: u32,
    pub prefer: bool,
    pub budget: u32,
}

impl Polling {
    fn apply(self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let set =
            |name, value: u32| sys::set_option(fd, sys::SOL_SOCKET, name, &value.to_ne_bytes());
        if self.busy_usecs > 0 {
            set(SO_BUSY_POLL, self.busy_usecs)?;
        }
        if self.prefer {
            set(SO_PREFER_BUSY_POLL, 1)?;
        }
        if self.budget > 0 {
            set(SO_BUSY_POLL_BUDGET, self.budget)?;
        }
        Ok(())
    }
}

/// What a server does with what it gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Echo,
    /// Reads slowly, so that packets wait in the socket: so long before each.
    Sink(Duration),
}

#[derive(Default)]
struct Served {
    /// Length and hash of each datagram; of a stream, of all of it once it has ended.
    records: Vec<(usize, u64)>,
    napi_ids: Vec<u32>,
    beyond: usize,
    errors: usize,
}

/// A server and what it has seen.
#[derive(Default)]
pub struct Server {
    served: Mutex<Served>,
}

impl Server {
    fn add(&self, len: usize, hash: u64, napi_id: u32) {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if served.records.len() < RECORDS_MAX {
            served.records.push((len, hash));
        } else {
            served.beyond += 1;
        }
        if !served.napi_ids.contains(&napi_id) {
            served.napi_ids.push(napi_id);
        }
    }

    fn fail(&self) {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).errors += 1;
    }

    /// Prints everything that was served.
    pub fn print(&self, line: usize) {
        let served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, (len, hash)) in served.records.iter().enumerate() {
            out::line(line, &format!("data {index} len={len} hash={hash:016x}"));
        }
        let napi: Vec<_> = served.napi_ids.iter().map(u32::to_string).collect();
        let (count, beyond, errors) = (served.records.len(), served.beyond, served.errors);
        let napi = napi.join(",");
        out::line(line, &format!("served {count} beyond={beyond} errors={errors} napi={napi}"));
    }
}

fn napi_id(fd: BorrowedFd<'_>) -> u32 {
    // Not known before the first packet, and never without busy polling.
    sys::get_option(fd, sys::SOL_SOCKET, SO_INCOMING_NAPI_ID).map_or(0, u32::from_ne_bytes)
}

/// Serves UDP on a port until the machine is switched off.
pub fn serve_udp(port: u16, answer: Answer, polling: Polling) -> io::Result<Arc<Server>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let size = RECEIVE_BUFFER_BYTES.to_ne_bytes();
    sys::set_option(socket.as_fd(), sys::SOL_SOCKET, SO_RCVBUFFORCE, &size)?;
    polling.apply(socket.as_fd())?;
    let server = Arc::new(Server::default());
    let ours = Arc::clone(&server);
    Builder::new().spawn(move || {
        let mut room = vec![0; DATAGRAM_MAX];
        loop {
            if let Answer::Sink(delay) = answer {
                std::thread::sleep(delay);
            }
            let Ok((len, from)) = socket.recv_from(&mut room) else {
                ours.fail();
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            ours.add(len, packet::fnv1a(&room[..len]), napi_id(socket.as_fd()));
            if answer == Answer::Echo && socket.send_to(&room[..len], from).is_err() {
                ours.fail();
            }
        }
    })?;
    Ok(server)
}

/// Serves TCP on a port until the machine is switched off, each connection in its own thread.
pub fn serve_tcp(port: u16, answer: Answer, polling: Polling) -> io::Result<Arc<Server>> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let server = Arc::new(Server::default());
    let ours = Arc::clone(&server);
    Builder::new().spawn(move || {
        for stream in listener.incoming().take(CONNECTIONS_MAX) {
            let server = Arc::clone(&ours);
            let begun = stream.and_then(|stream| {
                polling.apply(stream.as_fd())?;
                Builder::new().spawn(move || serve_stream(stream, answer, &server))
            });
            if begun.is_err() {
                ours.fail();
            }
        }
    })?;
    Ok(server)
}

fn serve_stream(mut stream: TcpStream, answer: Answer, server: &Server) {
    let mut room = vec![0; DATAGRAM_MAX];
    let (mut len, mut hash) = (0, packet::Fnv1a::default());
    let napi = loop {
        if let Answer::Sink(delay) = answer {
            std::thread::sleep(delay);
        }
        match stream.read(&mut room) {
            Ok(0) => break napi_id(stream.as_fd()),
            Ok(count) => {
                len += count;
                hash.add(&room[..count]);
                if answer == Answer::Echo && stream.write_all(&room[..count]).is_err() {
                    return server.fail();
                }
            }
            Err(_) => return server.fail(),
        }
    };
    server.add(len, hash.value(), napi);
}

/// A stream of datagrams that goes out.
pub struct Sender {
    pub to: SocketAddrV4,
    pub from_port: u16,
    pub count: u32,
    pub payload: usize,
    pub gap: Duration,
    /// SO_MAX_PACING_RATE in bytes a second; 0 is none.
    pub pace: u32,
}

impl Sender {
    /// Sends all; each begins with its number, so that the wire can tell loss and order.
    pub fn run(&self, line: usize) -> io::Result<()> {
        if !(4..=65_507).contains(&self.payload) {
            return Err(io::Error::other("a payload of 4 to 65507 bytes, please"));
        }
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, self.from_port))?;
        if self.pace > 0 {
            let rate = self.pace.to_ne_bytes();
            sys::set_option(socket.as_fd(), sys::SOL_SOCKET, SO_MAX_PACING_RATE, &rate)?;
        }
        let mut datagram: Vec<u8> = (0..self.payload).map(|i| i as u8).collect();
        let (mut sent, mut failed) = (0, 0);
        for number in 0..self.count {
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            match socket.send_to(&datagram, self.to) {
                Ok(_) => sent += 1,
                Err(_) => failed += 1,
            }
            if !self.gap.is_zero() {
                std::thread::sleep(self.gap);
            }
        }
        out::line(line, &format!("sent {sent} failed={failed}"));
        Ok(())
    }
}
