//! Sockets, as far as busy polling needs them: a flow, a state, a receive queue and `sk_napi_id`.
//!
//! `struct sock` of Linux 3.11 and 6.12. Sockets are made before packets come and stay. Left out:
//! everything that makes a TCP of it, reference counts, the backlog of a socket that is locked.

use crate::{lock, Net, SkBuff};
use pollproof_events::{emit, Event};
use pollproof_sync::Ordering::Relaxed;
use pollproof_sync::{bug, AtomicU32, SpinLock};
use std::collections::VecDeque;
use std::sync::atomic::Ordering as StdOrdering;
use std::sync::Arc;

/// Address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `AF_INET`.
    Inet,
    /// `AF_INET6`.
    Inet6,
}

/// Transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `IPPROTO_TCP`.
    Tcp,
    /// `IPPROTO_UDP`.
    Udp,
}

/// An address, that of IPv4 in the first four bytes, and a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Address.
    pub addr: [u8; 16],
    /// Port.
    pub port: u16,
}

impl Endpoint {
    /// An endpoint of IPv4.
    pub fn v4(addr: [u8; 4], port: u16) -> Self {
        let mut whole = [0; 16];
        whole[..4].copy_from_slice(&addr);
        Self { addr: whole, port }
    }
}

/// Whose packets: those to `local`, from `remote` or from anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Family.
    pub family: Family,
    /// Protocol.
    pub protocol: Protocol,
    /// Where they go.
    pub local: Endpoint,
    /// Where they come from.
    pub remote: Option<Endpoint>,
}

/// `sk_state`, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SockState {
    /// `TCP_ESTABLISHED`; for UDP it means connected.
    Established = 1,
    /// `TCP_CLOSE`: a UDP socket that is not connected, or a TCP socket that is closed.
    Close = 7,
    /// `TCP_LISTEN`.
    Listen = 10,
}

/// `struct sock`.
pub struct Sock {
    /// Number of the socket.
    pub number: u32,
    /// Its packets.
    pub flow: Flow,
    state: AtomicU32,
    /// Context that its last packet came through; 0 is none.
    sk_napi_id: AtomicU32,
    /// `sk_receive_queue`: filled by softirqs.
    queue: SpinLock<VecDeque<SkBuff>>,
    /// `qlen`, to be looked at without the lock.
    qlen: AtomicU32,
    /// `sk_rcvbuf`, in packets.
    rcvbuf: u32,
}

impl Sock {
    /// `sk_napi_id` as it is now; another look may see another.
    pub fn napi_id(&self) -> u32 {
        self.sk_napi_id.load(Relaxed)
    }

    /// `sk_state`.
    pub fn is(&self, state: SockState) -> bool {
        self.state.load(Relaxed) == state as u32
    }

    /// The state changes: a connection is set up or closed.
    pub fn set_state(&self, state: SockState) {
        self.state.store(state as u32, Relaxed);
    }

    /// `skb_queue_empty_lockless`: a hint.
    pub fn queue_is_empty(&self) -> bool {
        self.qlen.load(Relaxed) == 0
    }

    /// `sk_mark_ll`, `sk_mark_napi_id`: this packet's context is the one to poll.
    pub(crate) fn mark(&self, skb: &SkBuff) {
        self.sk_napi_id.store(skb.napi_id, Relaxed);
        emit(Event::SkMark { sock: self.number, id: skb.napi_id });
    }

    /// `sock_queue_rcv_skb`; gives a packet back for which there is no room. BHs are off.
    pub(crate) fn queue(&self, skb: SkBuff) -> Result<(), SkBuff> {
        let mut queue = self.queue.lock();
        if queue.len() as u32 >= self.rcvbuf {
            return Err(skb);
        }
        queue.push_back(skb);
        self.qlen.store(queue.len() as u32, Relaxed);
        Ok(())
    }

    /// `__skb_try_recv_datagram`.
    pub(crate) fn dequeue(&self) -> Option<SkBuff> {
        let mut queue = self.queue.lock_bh();
        let skb = queue.pop_front();
        self.qlen.store(queue.len() as u32, Relaxed);
        skb
    }

    /// `sk_wait_data`: until there is a packet. Sleeps.
    pub(crate) fn wait_for_packet(&self) {
        pollproof_sync::cpu::might_sleep("sk_wait_data");
        self.qlen.wait(Relaxed, |len| len > 0);
    }
}

impl Net {
    /// `sock_init_data`, `bind` and `connect` in one: a socket for the packets of a flow, marked
    /// with no context. Before packets come.
    pub fn sock(&self, flow: Flow, state: SockState) -> Arc<Sock> {
        const RCVBUF: u32 = 64;
        let mut socks = lock(&self.socks);
        let sk = Arc::new(Sock {
            number: socks.len() as u32,
            flow,
            state: AtomicU32::new(state as u32),
            sk_napi_id: AtomicU32::new(0),
            queue: SpinLock::new(VecDeque::new()),
            qlen: AtomicU32::new(0),
            rcvbuf: RCVBUF,
        });
        socks.push(sk.clone());
        self.has_socks.store(true, StdOrdering::Relaxed);
        sk
    }

    #[inline]
    pub(crate) fn has_socks(&self) -> bool {
        self.has_socks.load(StdOrdering::Relaxed)
    }

    /// Sockets that a packet is for, best first: one that is connected to its sender before others.
    pub(crate) fn socks_for(&self, packet: &Flow) -> Vec<Arc<Sock>> {
        let is_for = |sk: &&Arc<Sock>| {
            let flow = &sk.flow;
            (flow.family, flow.protocol) == (packet.family, packet.protocol)
                && flow.local == packet.local
                && flow.remote.is_none_or(|remote| Some(remote) == packet.remote)
        };
        let mut found: Vec<_> = lock(&self.socks).iter().filter(is_for).cloned().collect();
        found.sort_by_key(|sk| sk.flow.remote.is_none());
        found
    }

    /// The id by which a socket polls, if it may: read once, so that what is tested is what is
    /// looked up. Smaller ones are the CPU number of a sender, which has the same place in a
    /// packet.
    pub(crate) fn id_to_poll(&self, sk: &Sock) -> Option<u32> {
        let id = sk.napi_id();
        let is_id = |id: u32| id >= self.options.first_napi_id() || (bug("A-7") && id != 0);
        is_id(id).then(|| if bug("A-18") { sk.napi_id() } else { id })
    }
}
