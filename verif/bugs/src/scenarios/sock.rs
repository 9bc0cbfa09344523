//! Sockets that poll for their packets, in the forms of 3.11 and 6.12. Without a device.

use super::nic::{net_with, Nic};
use super::EXPLORE;
use pollproof_bench::explored::ExploredHost;
use pollproof_bench::scenario::{EngineKind, Scenario};
use pollproof_events::What;
use pollproof_ixgbe::QvLockForm;
use pollproof_kapi::Dma;
use pollproof_netcore::{Endpoint, Era, Family, Flow, Napi, Net, NetOptions, Protocol};
use pollproof_netcore::{Frag, SkBuff, Sock, SockState};
use pollproof_sync::thread;
use std::sync::Arc;

const HERE: Endpoint = endpoint(1, 9);
const THERE: Endpoint = endpoint(2, 7);

/// Host `host` of one IPv4 network.
const fn endpoint(host: u8, port: u16) -> Endpoint {
    let mut addr = [0; 16];
    (addr[0], addr[3]) = (10, host);
    Endpoint { addr, port }
}

/// A UDP packet from there to here, in a buffer that the device wrote; the driver's.
fn datagram(host: &ExploredHost, number: u64) -> SkBuff {
    let mut bytes = [0; 42];
    (bytes[12], bytes[14], bytes[23]) = (8, 0x45, 17);
    for (at, end) in [(0, THERE), (1, HERE)] {
        bytes[26 + 4 * at..30 + 4 * at].copy_from_slice(&end.addr[..4]);
        bytes[34 + 2 * at..36 + 2 * at].copy_from_slice(&end.port.to_be_bytes());
    }
    let buf = host.alloc_buf().unwrap_or_default();
    host.map_buf(buf);
    host.mem.dma_write(buf, &bytes, What::Data);
    host.unmap_buf(buf);
    let mut skb = SkBuff::build(Frag { buf, page: None, offset: 0, len: bytes.len() });
    (skb.number, skb.hash, skb.csum_unnecessary) = (number, 1, true);
    skb
}

/// A socket on an open port, marked by a packet that it has read.
struct House {
    net: Arc<Net>,
    nic: Arc<Nic>,
    napi: Arc<Napi>,
    sk: Arc<Sock>,
    host: Arc<ExploredHost>,
}

fn house(era: Era, lock: Option<QvLockForm>) -> House {
    let options = NetOptions {
        era,
        cpus: 2,
        hash_buckets: 1,
        min_napi_id: 3,
        netdev_budget: 2,
        busy_poll_us: 1,
        ..NetOptions::default()
    };
    let (net, host) = net_with(options, 4);
    let (nic, napi) = Nic::open_with(&net, 2, lock);
    let protocol = Protocol::Udp;
    let flow = Flow { family: Family::Inet, protocol, local: HERE, remote: Some(THERE) };
    let sk = net.sock(flow, SockState::Established);
    let house = House { net, nic, napi, sk, host };
    house.nic.load([datagram(&house.host, 0)]);
    house.nic.packet(&house.napi);
    let _ = house.net.recvmsg(&house.sk, true);
    house
}

impl House {
    /// A packet comes on CPU 0, with its interrupt.
    fn packet(&self) -> thread::JoinHandle {
        let (nic, napi) = (self.nic.clone(), self.napi.clone());
        nic.load([datagram(&self.host, 1)]);
        thread::spawn(0, move || nic.packet(&napi))
    }

    /// The socket is read on CPU 1.
    fn reader(&self, read: fn(&Net, &Sock)) -> thread::JoinHandle {
        let (net, nic, sk) = (self.net.clone(), self.nic.clone(), self.sk.clone());
        thread::spawn(1, move || {
            read(&net, &sk);
            nic.idle();
        })
    }
}

fn join_all(threads: [thread::JoinHandle; 2]) {
    for thread in threads {
        thread.join();
    }
}

fn read(era: Era, lock: Option<QvLockForm>, reader: fn(&Net, &Sock)) {
    let house = house(era, lock);
    let threads = [house.packet(), house.reader(reader)];
    join_all(threads);
    house.nic.idle();
    house.nic.rest(&house.napi, false);
}

/// A reader polls for as long as it may and then waits, while its packet comes.
fn busy_loop() {
    read(Era::V6_12, None, |net, sk| {
        let _ = net.recvmsg(sk, false);
    });
}

/// The same in 3.11. It does not wait: the softirq that would bring its packet may be refused the
/// lock for as long as we let it, and somebody must run it later.
fn ll_poll() {
    read(Era::V3_18, Some(QvLockForm::Cmpxchg), |net, sk| {
        if net.sk_valid_ll(sk) {
            net.sk_poll_ll(sk, false);
        }
        let _ = net.recvmsg(sk, true);
    });
}

/// The port goes away while a socket of 3.11 polls it.
fn ll_poll_free() {
    let house = house(Era::V3_18, Some(QvLockForm::Cmpxchg));
    let (net, nic, napi) = (house.net.clone(), house.nic.clone(), house.napi.clone());
    let remover = thread::spawn(0, move || nic.remove(&net, &napi));
    let reader = house.reader(|net, sk| {
        let _ = net.recvmsg(sk, true);
    });
    join_all([remover, reader]);
}

/// A packet that the host sends to itself comes while the socket polls: it tells no context.
fn loopback() {
    let house = house(Era::V6_12, None);
    let skb = datagram(&house.host, 1);
    house.host.hand_up(skb.buf);
    let net = house.net.clone();
    let sender = thread::spawn(0, move || net.loopback_xmit(skb));
    let reader = house.reader(|net, sk| {
        let _ = net.recvmsg(sk, true);
    });
    join_all([sender, reader]);
}

const READ: &[(&str, &str)] =
    &[("NAPI-ID", "marked"), ("NAPI-ID", "found"), ("NO-LOST-WORK", "rest")];

/// The loop of 3.11.
pub const SOCK_LL_POLL: Scenario = Scenario {
    id: "sock/ll-poll",
    about: "A socket of 3.11 polls by the driver's method while its packet and an interrupt come.",
    threads: 3,
    body: ll_poll,
    engines: EXPLORE,
    must_reach: READ,
    loom_preemptions: None,
};
/// A stale id.
pub const SOCK_LL_POLL_FREE: Scenario = Scenario {
    id: "sock/ll-poll-free",
    about: "A port is removed and freed while a socket of 3.11 polls it.",
    body: ll_poll_free,
    must_reach: &[("NAPI-ID", "found"), ("DISABLE-MEANS-DISABLED", "disabled")],
    ..SOCK_LL_POLL
};
/// The loop of 6.12.
pub const SOCK_BUSY_LOOP: Scenario = Scenario {
    id: "sock/busy-loop",
    about: "A socket of 6.12 polls by the poll method while its packet and an interrupt come.",
    body: busy_loop,
    ..SOCK_LL_POLL
};
/// Who marks a socket.
pub const SOCK_LOOPBACK: Scenario = Scenario {
    id: "sock/loopback",
    about: "A packet without a context reaches a socket while it polls.",
    body: loopback,
    // shuttle's walk runs the sender first, as good as always.
    engines: &[
        EngineKind::Explore,
        EngineKind::ExploreTso,
        EngineKind::ExploreRc11,
        EngineKind::Schedules,
        EngineKind::Loom,
    ],
    must_reach: &[("NAPI-ID", "marked"), ("NAPI-ID", "found")],
    ..SOCK_LL_POLL
};
