//! A socket's reader, and how it polls while nothing is there: `udp_recvmsg`, `tcp_recvmsg`,
//! `__skb_recv_datagram` (3.11), `sk_can_busy_loop`, `sk_busy_loop` and `sk_busy_loop_end` (6.12).
//!
//! With the rules of 3.18 a socket polls through the driver's `ndo_ll_poll`, with those of 6.12
//! through the poll method. A packet is read whole. Left out: peeking, `SO_RCVTIMEO` (a reader that
//! may wait waits), TCP's lock and backlog.

use crate::{Era, Net, Protocol, Sock, SockState};

/// A packet that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Identity of the packet.
    pub number: u64,
    /// Context that it came through.
    pub napi_id: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Why nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// `EAGAIN`: nothing is there, and the reader must not wait.
    WouldBlock,
    /// `EINTR`: a signal.
    Interrupted,
    /// `ENOTCONN`: there is no connection.
    NotConnected,
}

impl Net {
    /// `recvmsg` of a socket.
    pub fn recvmsg(&self, sk: &Sock, nonblock: bool) -> Result<Received, RecvError> {
        match sk.flow.protocol {
            Protocol::Udp => self.recv_datagram(sk, nonblock),
            Protocol::Tcp => self.tcp_recvmsg(sk, nonblock),
        }
    }

    /// `udp_recvmsg`, `udpv6_recvmsg`: polls whenever the queue was found empty, before it waits.
    fn recv_datagram(&self, sk: &Sock, nonblock: bool) -> Result<Received, RecvError> {
        loop {
            if let Some(received) = self.read(sk) {
                return Ok(received);
            }
            if self.poll_for(sk, nonblock) {
                continue;
            }
            self.wait_or_leave(sk, nonblock)?;
        }
    }

    /// `tcp_recvmsg`: polls once, before the socket is locked; whether that found something shows
    /// afterwards.
    fn tcp_recvmsg(&self, sk: &Sock, nonblock: bool) -> Result<Received, RecvError> {
        if sk.queue_is_empty() && sk.is(SockState::Established) {
            self.poll_for(sk, nonblock);
        }
        if !sk.is(SockState::Established) {
            return Err(RecvError::NotConnected);
        }
        loop {
            if let Some(received) = self.read(sk) {
                return Ok(received);
            }
            self.wait_or_leave(sk, nonblock)?;
        }
    }

    fn wait_or_leave(&self, sk: &Sock, nonblock: bool) -> Result<(), RecvError> {
        if nonblock {
            return Err(RecvError::WouldBlock);
        }
        if self.signal_pending() {
            return Err(RecvError::Interrupted);
        }
        sk.wait_for_packet();
        Ok(())
    }

    fn read(&self, sk: &Sock) -> Option<Received> {
        let skb = sk.dequeue()?;
        let dma = &*self.below.dma;
        let bytes = skb.copy_bits(dma);
        let received = Received { number: skb.number, napi_id: skb.napi_id, bytes };
        skb.release(dma);
        Some(received)
    }

    /// Polls for the socket, if it may. Whether it has a packet now.
    fn poll_for(&self, sk: &Sock, nonblock: bool) -> bool {
        match self.options.era {
            Era::V3_18 => self.sk_valid_ll(sk) && self.sk_poll_ll(sk, nonblock),
            Era::V6_12 => {
                if self.sk_can_busy_loop() {
                    self.sk_busy_loop(sk, nonblock);
                }
                !sk.queue_is_empty()
            }
        }
    }

    /// `sk_can_busy_loop`.
    pub fn sk_can_busy_loop(&self) -> bool {
        self.options.busy_poll_us != 0 && !self.signal_pending()
    }

    /// `sk_busy_loop`: polls until the socket has a packet or the time is over; once if it must
    /// not wait. Its microseconds are 1024 nanoseconds long.
    pub fn sk_busy_loop(&self, sk: &Sock, nonblock: bool) {
        let Some(id) = self.id_to_poll(sk) else { return };
        let now = || self.below.clock.now_ns() >> 10;
        let end = now() + self.options.busy_poll_us;
        let ended = || !sk.queue_is_empty() || now() > end;
        let loop_end: Option<&dyn Fn() -> bool> = if nonblock { None } else { Some(&ended) };
        self.napi_busy_loop(id, loop_end, self.options.busy_poll);
    }
}
