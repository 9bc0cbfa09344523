//! Sockets that poll: which packets are theirs, who marks them, and when they poll at all; in both
//! families and protocols, with the loops of 3.11 and of 6.12.

use pollproof_bench::explored::ExploredHost;
use pollproof_events::{record, What};
use pollproof_hostmem::{Config, SharedMem};
use pollproof_kapi::{Below, Dma};
use pollproof_netcore::{
    Endpoint, Era, Family, Flow, Frag, Napi, NapiPoll, Net, NetOptions, Protocol, RecvError,
    SkBuff, Sock, SockState,
};
use pollproof_rules::Judge;
use pollproof_sync::cpu;
use pollproof_sync::switch::take_faults;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

const FIRST_ID: u32 = 5;

/// A queue of packets that wait for somebody to poll.
#[derive(Default)]
struct Queue {
    net: OnceLock<Arc<Net>>,
    packets: Mutex<VecDeque<SkBuff>>,
    /// Polls by either method.
    polls: AtomicU32,
    /// What `ndo_ll_poll` says instead of polling.
    says: Mutex<Option<i32>>,
}

impl Queue {
    fn take(&self, napi: &Napi, budget: i32) -> i32 {
        self.polls.fetch_add(1, Relaxed);
        let mut work = 0;
        while work < budget {
            let Some(mut skb) = self.packets.lock().expect("no panic").pop_front() else { break };
            skb.napi_id = napi.napi_id();
            self.net.get().expect("it is set").napi_gro_receive(napi, skb);
            work += 1;
        }
        work
    }
}

impl NapiPoll for Queue {
    fn poll(&self, napi: &Arc<Napi>, budget: i32) -> i32 {
        let work = self.take(napi, budget);
        if work < budget {
            self.net.get().expect("it is set").napi_complete_done(napi, work);
        }
        work
    }

    fn ll_poll(&self, napi: &Arc<Napi>) -> i32 {
        let says = *self.says.lock().expect("no panic");
        match says {
            Some(said) => {
                self.polls.fetch_add(1, Relaxed);
                said
            }
            None => self.take(napi, 4),
        }
    }
}

struct House {
    net: Arc<Net>,
    host: Arc<ExploredHost>,
    queue: Arc<Queue>,
    number: u64,
}

fn house(era: Era, busy_poll_us: u64) -> House {
    cpu::begin(0);
    let _ = take_faults();
    let config = Config { max_bufs: 16, buf_bytes: 128, ..Config::default() };
    let host = ExploredHost::new(SharedMem::new(config), 1, 0);
    let min_napi_id = FIRST_ID;
    let options = NetOptions { era, busy_poll_us, min_napi_id, ..NetOptions::default() };
    let net = Net::new(options, Below::of(host.clone()));
    let queue = Arc::new(Queue::default());
    assert!(queue.net.set(net.clone()).is_ok());
    let napi = net.netif_napi_add(queue.clone(), 64);
    net.napi_hash_add(&napi);
    net.napi_enable(&napi);
    House { net, host, queue, number: 0 }
}

fn local(family: Family) -> Endpoint {
    let mut addr = [0; 16];
    addr[0] = 10;
    addr[if family == Family::Inet { 3 } else { 15 }] = 1;
    Endpoint { addr, port: 9 }
}

fn flow(family: Family, protocol: Protocol) -> Flow {
    let mut from = local(family);
    (from.addr[1], from.port) = (7, 77);
    Flow { family, protocol, local: local(family), remote: Some(from) }
}

fn bytes(flow: &Flow) -> Vec<u8> {
    let from = flow.remote.expect("a packet comes from somewhere");
    let next = if flow.protocol == Protocol::Tcp { 6 } else { 17 };
    let mut bytes = vec![0; 14];
    let len = match flow.family {
        Family::Inet => {
            bytes[12..14].copy_from_slice(&[0x08, 0x00]);
            bytes.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, next, 0, 0]);
            4
        }
        Family::Inet6 => {
            bytes[12..14].copy_from_slice(&[0x86, 0xdd]);
            bytes.extend([0x60, 0, 0, 0, 0, 0, next, 64]);
            16
        }
    };
    bytes.extend(&from.addr[..len]);
    bytes.extend(&flow.local.addr[..len]);
    bytes.extend(from.port.to_be_bytes());
    bytes.extend(flow.local.port.to_be_bytes());
    bytes.resize(bytes.len() + 8, 0xaa);
    bytes
}

impl House {
    fn skb(&mut self, flow: &Flow) -> SkBuff {
        let bytes = bytes(flow);
        let buf = self.host.alloc_buf().expect("there is room");
        self.host.map_buf(buf);
        self.host.mem.dma_write(buf, &bytes, What::Data);
        self.host.unmap_buf(buf);
        self.host.hand_up(buf);
        self.number += 1;
        let mut skb = SkBuff::build(Frag { buf, page: None, offset: 0, len: bytes.len() });
        (skb.number, skb.hash, skb.csum_unnecessary) = (self.number, 1, true);
        skb
    }

    /// A packet waits in the device.
    fn waits(&mut self, flow: &Flow) {
        let skb = self.skb(flow);
        self.queue.packets.lock().expect("no panic").push_back(skb);
    }

    fn polls(&self) -> u32 {
        self.queue.polls.swap(0, Relaxed)
    }

    /// A packet came and was read, as the interrupt brings it.
    fn marked(&mut self, sk: &Sock) {
        self.waits(&sk.flow.clone());
        let napi = self.net.napi(0).expect("it was added");
        cpu::in_softirq(|| self.queue.take(&napi, 1));
        assert_eq!(sk.napi_id(), FIRST_ID);
        assert!(self.net.recvmsg(sk, true).is_ok());
        self.polls();
    }
}

const ALL: [(Family, Protocol); 4] = [
    (Family::Inet, Protocol::Udp),
    (Family::Inet6, Protocol::Udp),
    (Family::Inet, Protocol::Tcp),
    (Family::Inet6, Protocol::Tcp),
];

#[test]
fn a_socket_polls_for_its_next_packet_in_each_family_and_protocol() {
    for era in [Era::V3_18, Era::V6_12] {
        for (family, protocol) in ALL {
            let mut house = house(era, 50);
            let sk = house.net.sock(flow(family, protocol), SockState::Established);
            assert_eq!(house.net.recvmsg(&sk, true), Err(RecvError::WouldBlock));
            assert_eq!(house.polls(), 0, "it knows no queue yet");
            house.marked(&sk);
            house.waits(&sk.flow);
            let received = house.net.recvmsg(&sk, true).expect("it polls for it");
            assert_eq!((received.number, received.napi_id), (2, FIRST_ID), "{era:?} {family:?}");
            assert_eq!(received.bytes, bytes(&sk.flow));
            let counters = [house.net.low_latency_rx_packets(), house.net.busy_poll_rx_packets()];
            assert_eq!(counters, if era == Era::V3_18 { [1, 0] } else { [0, 1] });
            assert_eq!(take_faults(), []);
        }
    }
}

#[test]
fn who_must_not_wait_polls_once_and_others_as_long_as_the_sysctl_says() {
    // A round takes 1024 ns of a socket's own time. 3.11 stops after 1000000 / 1024 of its
    // microseconds; 6.12 goes on while not more than so many of 1024 ns have passed.
    for (era, rounds) in [(Era::V3_18, 10), (Era::V6_12, 11 + 1)] {
        let mut house = house(era, 10);
        let sk = house.net.sock(flow(Family::Inet, Protocol::Udp), SockState::Established);
        house.marked(&sk);
        let poll = |nonblock| match era {
            Era::V3_18 => {
                house.net.sk_poll_ll(&sk, nonblock);
            }
            Era::V6_12 => house.net.sk_busy_loop(&sk, nonblock),
        };
        poll(true);
        // 6.12 polls once more when it leaves, for the interrupt.
        assert_eq!(house.polls(), if era == Era::V3_18 { 1 } else { 2 });
        poll(false);
        assert_eq!(house.polls(), rounds, "{era:?}");
    }
}

#[test]
fn a_packet_ends_the_loop() {
    let mut house = house(Era::V3_18, 1_000);
    let sk = house.net.sock(flow(Family::Inet, Protocol::Udp), SockState::Established);
    house.marked(&sk);
    house.waits(&sk.flow);
    assert!(house.net.sk_poll_ll(&sk, false));
    assert_eq!(house.polls(), 1);
}

#[test]
fn a_queue_that_is_busy_is_tried_again_and_one_that_fails_is_not() {
    use pollproof_netcore::{LL_FLUSH_BUSY, LL_FLUSH_FAILED};
    let mut house = house(Era::V3_18, 10);
    let sk = house.net.sock(flow(Family::Inet, Protocol::Udp), SockState::Established);
    house.marked(&sk);
    for (says, polls) in [(LL_FLUSH_BUSY, 10), (LL_FLUSH_FAILED, 1)] {
        *house.queue.says.lock().expect("no panic") = Some(says);
        assert!(!house.net.sk_poll_ll(&sk, false));
        assert_eq!(house.polls(), polls);
    }
    assert_eq!(house.net.low_latency_rx_packets(), 0);
}

#[test]
fn a_socket_polls_only_if_it_may() {
    for era in [Era::V3_18, Era::V6_12] {
        let waiting = |us: u64, protocol, before: &dyn Fn(&House, &Sock)| {
            let mut house = house(era, us);
            let sk = house.net.sock(flow(Family::Inet, protocol), SockState::Established);
            house.marked(&sk);
            before(&house, &sk);
            house.waits(&sk.flow);
            let _ = house.net.recvmsg(&sk, true);
            house.polls()
        };
        let polls = |us, before| waiting(us, Protocol::Udp, before);
        assert!(polls(50, &|_, _| ()) > 0);
        assert_eq!(polls(0, &|_, _| ()), 0, "the sysctl is 0");
        assert_eq!(polls(50, &|house, _| house.net.signal_task(0)), 0, "a signal");
        let closed = |_: &House, sk: &Sock| sk.set_state(SockState::Close);
        assert_eq!(waiting(50, Protocol::Tcp, &closed), 0, "a connection that is not there");
        let resched = polls(50, &|house, _| house.net.resched_task(0));
        assert_eq!(resched == 0, era == Era::V3_18, "6.12 polls once and sees to it then");
    }
}

#[test]
fn packets_go_to_the_socket_that_is_connected_and_groups_mark_nobody() {
    let mut house = house(Era::V6_12, 0);
    let any = |f: Flow| Flow { remote: None, ..f };
    let udp = flow(Family::Inet, Protocol::Udp);
    let bound = house.net.sock(any(udp), SockState::Close);
    let connected = house.net.sock(udp, SockState::Established);
    let tcp = flow(Family::Inet, Protocol::Tcp);
    let listens = house.net.sock(any(tcp), SockState::Listen);
    let mut group = udp;
    group.local.addr = Endpoint::v4([239, 0, 0, 1], 0).addr;
    let members = [0, 1].map(|_| house.net.sock(any(group), SockState::Close));
    let napi = house.net.napi(0).expect("it was added");
    for flow in [udp, tcp, group] {
        house.waits(&flow);
        cpu::in_softirq(|| house.queue.take(&napi, 1));
    }
    assert!(bound.queue_is_empty() && !connected.queue_is_empty());
    assert_eq!((bound.napi_id(), connected.napi_id()), (0, FIRST_ID));
    assert!(listens.queue_is_empty(), "no data without a connection");
    assert_eq!(listens.napi_id(), FIRST_ID, "but it is marked");
    for member in &members {
        assert_eq!(member.napi_id(), 0);
        let copy = house.net.recvmsg(member, true).expect("each has a copy");
        assert_eq!((copy.number, copy.napi_id), (3, FIRST_ID), "which keeps the id");
    }
    assert_eq!(house.net.ledger.packets(), 3);
    assert_eq!(take_faults(), []);
}

#[test]
fn a_packet_to_the_host_itself_tells_no_context() {
    let (polls, records) = record(|| {
        let mut house = house(Era::V6_12, 50);
        let sk = house.net.sock(flow(Family::Inet, Protocol::Udp), SockState::Established);
        let skb = house.skb(&sk.flow.clone());
        house.net.loopback_xmit(skb);
        assert_eq!(sk.napi_id(), 1, "the sender's CPU, plus one");
        assert!(house.net.recvmsg(&sk, true).is_ok());
        assert_eq!(house.net.recvmsg(&sk, true), Err(RecvError::WouldBlock));
        house.polls()
    });
    assert_eq!(polls, 0);
    assert_eq!(Judge::of(&records).findings(), []);
}

#[test]
fn what_was_read_gives_its_buffer_back() {
    let mut house = house(Era::V6_12, 0);
    let sk = house.net.sock(flow(Family::Inet, Protocol::Udp), SockState::Established);
    let napi = house.net.napi(0).expect("it was added");
    let mut got = 0;
    for _ in 0..100 {
        if house.host.mem.counters().stack >= 16 {
            break;
        }
        house.waits(&sk.flow);
        cpu::in_softirq(|| house.queue.take(&napi, 1));
    }
    while house.net.recvmsg(&sk, true).is_ok() {
        got += 1;
    }
    assert_eq!(got, 16, "as many as there are buffers");
    assert_eq!(house.host.mem.counters().stack, 0);
}
