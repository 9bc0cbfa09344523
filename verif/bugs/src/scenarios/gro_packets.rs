//! Packets that have more than bytes, or come in fragments, go through GRO and lists. Without a
//! device; one CPU.

use super::gro::{core, in_frags, polls, polls_of, received, Packet, Sender};
use super::macros::scenario;
use super::nic::{net_with, Nic};
use super::GRAPHS;
use pollproof_bench::scenario::Scenario;
use pollproof_events::{emit, sum_of, Event, SkbStep};
use pollproof_kapi::Dma;
use pollproof_netcore::{Ext, GroOptions, Keep, NetOptions, SkBuff, SkbChain, SkbList};
use Packet::{Ack, Data, Datagram, Other, Push};

const TCP: Option<GroOptions> = Some(GroOptions::new(false, 8));
/// What is completed goes up at once, not by a list.
const AT_ONCE: Option<GroOptions> = Some(GroOptions::new(false, 1));
const BOTH: Option<GroOptions> = Some(GroOptions::new(true, 8));

const RUN: [(u8, Packet); 3] = [(1, Data(4)), (1, Data(4)), (1, Push(4))];

/// A run is held, ends, and goes up by itself.
fn links() {
    polls(AT_ONCE, 8, &RUN);
}

/// Acknowledgements of several flows go up as lists.
fn lists() {
    polls(TCP, 8, &[(1, Ack), (2, Ack), (1, Ack), (3, Ack), (3, Ack)]);
}

/// Packets that a virtual device forwards: each is charged to its sender.
fn owned() {
    polls_of(core(TCP), 8, &RUN, |host, number, flow, bytes| {
        let owner = Some(number as u32);
        with(received(host, number, flow, bytes), Ext { owner, destructor: true, ..Ext::default() })
    });
}

fn with(mut skb: SkBuff, ext: Ext) -> SkBuff {
    skb.meta.attach(ext);
    skb
}

/// Packets that belong to a connection: two to one, the third to another.
fn connections() {
    polls_of(core(TCP), 8, &RUN, |host, number, flow, bytes| {
        let nfct = Some(if number < 2 { 7 } else { 8 });
        with(received(host, number, flow, bytes), Ext { nfct, ..Ext::default() })
    });
}

/// Packets of which a tap has the bytes, too.
fn cloned() {
    polls_of(core(TCP), 8, &RUN, |host, number, flow, bytes| {
        with(received(host, number, flow, bytes), Ext { cloned: number == 1, ..Ext::default() })
    });
}

/// Packets in pages of a pool, and one in a page that is none of the pool's.
fn pools() {
    polls_of(core(TCP), 8, &RUN, |host, number, flow, bytes| {
        let page = Some((number, number != 1));
        with(received(host, number, flow, bytes), Ext { page, ..Ext::default() })
    });
}

/// A chain that a tap holds, too, is given up by both.
fn shared_chain() {
    let (net, host) = core(None);
    let skb = |number: u64| {
        emit(Event::WireRx { number, flow: 1, len: 54 });
        let index = number as u32;
        emit(Event::CqeWrite { cq: 0, index, number });
        emit(Event::CqeConsume { cq: 0, index, napi: 0 });
        let skb = received(&host, number, 1, &[7; 54]);
        host.hand_up(skb.buf);
        skb
    };
    let chain = SkbChain::new((0..3).map(skb));
    let tap = chain.share();
    net.kfree_skb_list(chain, "qdisc_drop");
    net.kfree_skb_list(tap, "tap_drop");
    emit(Event::RestHeld { device: 0, queued: 0 });
}

/// A socket that nobody reads keeps one packet of a list.
fn full() {
    let mut options = NetOptions { gro: TCP, keep: Keep::Bytes, ..NetOptions::default() };
    (options.rcv_queue, options.rcv_full_drops) = (1, true);
    polls_of(net_with(options, 16), 8, &[(1, Ack), (1, Ack), (2, Ack)], received);
}

/// Packets whose first fragment is the Ethernet header and no more.
fn short_frags() {
    polls_of(core(TCP), 8, &RUN, |host, number, flow, bytes| {
        in_frags(host, number, flow, bytes, if number == 0 { 14 } else { 60 })
    });
}

/// Datagrams in fragments; the third is from another port and gets what the second left.
fn datagram_frags() {
    let packets = [(1, Datagram(4)), (1, Datagram(4)), (1, Other(4)), (1, Other(4))];
    polls_of(core(BOTH), 8, &packets, |host, number, flow, bytes| {
        in_frags(host, number, flow, bytes, 128)
    });
}

/// The list entry of 2018: packets in fragments, prepared by the driver, then as a list.
fn list_entry() {
    let (net, host) = core(TCP);
    let (nic, napi) = Nic::build(&net, 16, None);
    nic.enable(&napi);
    let mut sender = Sender::default();
    let mut list = SkbList::default();
    let packets = [(1, Ack), (1, Data(4)), (1, Push(4)), (2, Ack), (2, Data(4)), (3, Ack)];
    for (number, (flow, packet)) in (0..).zip(packets) {
        let bytes = sender.packet(flow, packet);
        emit(Event::WireRx { number, flow: flow.into(), len: bytes.len() as u32 });
        emit(Event::Skb(SkbStep::Sent { number, sum: sum_of(&bytes) }));
        let index = number as u32;
        emit(Event::CqeWrite { cq: 0, index, number });
        emit(Event::CqeConsume { cq: 0, index, napi: napi.slot });
        let skb = in_frags(&host, number, flow, &bytes, 128);
        skb.frags.iter().for_each(|frag| host.hand_up(frag.buf));
        if let Some(skb) = net.napi_frags_skb(skb) {
            net.list_add_tail(&mut list, skb);
        }
    }
    net.napi_gro_receive_list(&napi, &mut list);
    net.napi_gro_flush(&napi, false);
    net.gro_normal_list(&napi);
    net.emit_rest_gro(false);
    emit(Event::RestHeld { device: 0, queued: 0 });
}

const MERGED: &[(&str, &str)] = &[("GRO-ROUND-TRIP", "merged"), ("FLOW-ORDER", "second-of-a-flow")];
const READ: &[(&str, &str)] = &[("PAYLOAD-FIDELITY", "read"), ("GRO-FLUSH", "rest")];

scenario!(
    GRO_LINKS,
    "gro/links",
    GRAPHS,
    1,
    links,
    MERGED,
    "A run is held, ends, and goes up by itself."
);
scenario!(
    GRO_LISTS,
    "gro/lists",
    GRAPHS,
    1,
    lists,
    &[("LIST-INTEGRITY", "list"), ("RETURN-TRUTH", "list"), ("PAYLOAD-FIDELITY", "read")],
    "Acknowledgements of several flows go up as lists."
);
scenario!(
    GRO_OWNED,
    "gro/owned",
    GRAPHS,
    1,
    owned,
    &[("SKB-OWNER", "orphaned"), ("GRO-ROUND-TRIP", "merged")],
    "Packets that are charged to their senders are merged."
);
scenario!(
    GRO_CONNECTIONS,
    "gro/connections",
    GRAPHS,
    1,
    connections,
    &[("REF-BALANCE", "put"), ("GRO-ROUND-TRIP", "merged")],
    "Packets that belong to connections are merged where it is one."
);
scenario!(
    GRO_CLONED,
    "gro/cloned",
    GRAPHS,
    1,
    cloned,
    &[("GRO-EXCLUSIVE", "enters"), ("GRO-ROUND-TRIP", "merged"), ("PAYLOAD-FIDELITY", "read")],
    "A packet of which a tap has the bytes, too, is merged."
);
scenario!(
    GRO_POOLS,
    "gro/pools",
    GRAPHS,
    1,
    pools,
    &[("REF-BALANCE", "put"), ("FLOW-ORDER", "second-of-a-flow")],
    "Packets in pages of a pool and in others meet."
);
scenario!(
    LIST_SHARED,
    "list/shared",
    GRAPHS,
    1,
    shared_chain,
    &[("PACKET-CONSERVATION", "rest")],
    "Two holders of one chain of packets give it up."
);
scenario!(
    LIST_FULL,
    "list/full",
    GRAPHS,
    1,
    full,
    &[("RETURN-TRUTH", "list")],
    "A socket that nobody reads keeps one packet of a list."
);
scenario!(
    FRAGS_SHORT,
    "frags/short",
    GRAPHS,
    1,
    short_frags,
    READ,
    "A fragment holds the Ethernet header and no more."
);
scenario!(
    FRAGS_DATAGRAMS,
    "frags/datagrams",
    GRAPHS,
    1,
    datagram_frags,
    &[("GRO-ROUND-TRIP", "merged")],
    "Datagrams in fragments are filled into what others left."
);
scenario!(
    FRAGS_LIST,
    "frags/list",
    GRAPHS,
    1,
    list_entry,
    &[("PAYLOAD-FIDELITY", "read"), ("RETURN-TRUTH", "list"), ("FLOW-ORDER", "second-of-a-flow")],
    "Packets in fragments go through GRO as a list."
);

/// All of them.
pub const ALL: &[&Scenario] = &[
    &GRO_LINKS,
    &GRO_LISTS,
    &GRO_OWNED,
    &GRO_CONNECTIONS,
    &GRO_CLONED,
    &GRO_POOLS,
    &LIST_SHARED,
    &LIST_FULL,
    &FRAGS_SHORT,
    &FRAGS_DATAGRAMS,
    &FRAGS_LIST,
];
